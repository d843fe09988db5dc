"""Training: one loop for any module and any loss, on Lightning Fabric."""

from metricfit._extras import require

require("lightning_fabric", "train", "metricfit.training")

from metricfit.training._anneal import anneal
from metricfit.training._data import Batches, HeldOut
from metricfit.training._distributed import Fabric
from metricfit.training._trainer import Trainer

__all__ = ["Batches", "Fabric", "HeldOut", "Trainer", "anneal"]
