"""A small builder of ONNX graphs.

All numbers in a graph are doubles, as they are here, so that a decision is the same in both. Inputs may be float32: they
become doubles first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._checks import check_option
from metricfit._extras import require
from metricfit._typing import Floats

OPSET, IR_VERSION = 18, 10  # as torch writes them
OLD_ML_OPSET, ML_OPSET = 3, 5  # the latter is for TreeEnsemble and does not have the older operators for trees
ML = "ai.onnx.ml"


class OnnxGraph:
    """Inputs, nodes and constants of a graph; a value is known by its name.

    Arrays become constants wherever they take the place of a name.
    """

    def __init__(self, dtype: str = "float64") -> None:
        check_option(dtype, "dtype", ("float32", "float64"))
        require("onnx", "onnx", "to_onnx")
        self.dtype = dtype
        self._inputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._n_names = 0

    def numbers(self, name: str, n_columns: int) -> str:
        """An input of numbers (n, n_columns), as doubles."""
        self._add_input(name, np.dtype(self.dtype), n_columns)
        return name if self.dtype == "float64" else self.cast(name, np.float64)

    def texts(self, name: str) -> str:
        """An input of texts (n, 1)."""
        return self._add_input(name, np.dtype(object), 1)

    def add(self, operator: str, *inputs: str | NDArray[Any], domain: str = "", **options: Any) -> str:
        """A node of one output, whose name is returned; options that are None are left out."""
        from onnx import helper

        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output, given = self._name(operator), {name: value for name, value in options.items() if value is not None}
        self._nodes.append(helper.make_node(operator, names, [output], domain=domain, **given))
        return output

    def cast(self, value: str, dtype: Any) -> str:
        from onnx import helper

        return self.add("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def embed(self, model: Any, inputs: Mapping[str, str]) -> list[str]:
        """The nodes of another model that reads these values; returns the names of its outputs."""
        from onnx import compose

        graph = compose.add_prefix(model, f"{self._name('model')}_").graph
        for given, own in zip(graph.input, model.graph.input, strict=True):
            self._nodes.append(_identity(inputs[own.name], given.name))
        self._nodes.extend(graph.node)
        self._constants.extend(graph.initializer)
        return [one.name for one in graph.output]

    def label(self, scores: str, offsets: Floats, classes: NDArray[Any]) -> str:
        """The label of the largest score after adding the offsets; the first of equal ones."""
        largest = self.add("ArgMax", self.add("Add", scores, offsets), axis=1, keepdims=0)
        return self.add("Gather", classes.astype(object) if classes.dtype.kind == "U" else classes, largest)

    def build(self, outputs: Mapping[str, tuple[str, Any, Sequence[int | None]]]) -> Any:
        """The model, checked; ``outputs`` has the value, type and shape of each by its name."""
        from onnx import checker, helper

        nodes = [*self._nodes, *(_identity(value, name) for name, (value, _, _) in outputs.items())]
        described = [_describe(name, dtype, shape) for name, (_, dtype, shape) in outputs.items()]
        graph = helper.make_graph(nodes, "metricfit", self._inputs, described, self._constants)
        has_trees = any(node.op_type == "TreeEnsemble" for node in nodes)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET if has_trees else OLD_ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="metricfit")
        checker.check_model(model)
        return model

    def _add_input(self, name: str, dtype: np.dtype[Any], n_columns: int) -> str:
        self._inputs.append(_describe(name, dtype, (None, n_columns)))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """The name of a constant, for several nodes."""
        from onnx import numpy_helper

        name = self._name("constant")
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def _name(self, what: str) -> str:
        self._n_names += 1
        return f"{what}/{self._n_names}"


def _identity(value: str, name: str) -> Any:
    from onnx import helper

    return helper.make_node("Identity", [value], [name])


def _describe(name: str, dtype: Any, shape: Sequence[int | None]) -> Any:
    from onnx import TensorProto, helper

    kind = np.dtype(dtype)
    number = TensorProto.STRING if kind.kind in "OUT" else helper.np_dtype_to_tensor_dtype(kind)
    return helper.make_tensor_value_info(name, number, shape)
