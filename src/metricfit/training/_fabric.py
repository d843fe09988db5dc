"""The one place that imports Lightning Fabric, whose import adds filters of warnings: they are taken away again."""

import warnings

with warnings.catch_warnings():
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.deepspeed import DeepSpeedStrategy
    from lightning_fabric.strategies.fsdp import FSDPStrategy
    from lightning_fabric.strategies.model_parallel import ModelParallelStrategy

SHARDED = (DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy)  # no process has all weights

__all__ = ["SHARDED", "Fabric"]
