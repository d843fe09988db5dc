"""Training: one loop for any module and any loss, on Lightning Fabric."""

from metricfit._extras import require

require("lightning_fabric", "train", "metricfit.training")

from metricfit._errors import ProcessLostError
from metricfit.training._anneal import anneal
from metricfit.training._batches import Batches
from metricfit.training._trainer import Trainer

__all__ = ["Batches", "ProcessLostError", "Trainer", "anneal"]
