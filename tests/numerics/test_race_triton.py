"""The Triton kernels without a GPU: run in Triton's interpreter, and compiled for a GPU that is not there.

Both in processes of their own, because Triton chooses between interpreter and compiler when it is first imported. Both are
needed: the interpreter accepts code that the compiler refuses.
"""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("triton") is None:
    pytest.skip("the GPU kernels need Triton: `pip install triton` (Linux)", allow_module_level=True)
VERSION = tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])

COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from metricfit.numerics import _race_triton as module

TYPES = {"labels": "*i64", "n": "i32", "k": "i32", "steps": "i32", "drop": "fp32", "least": "fp32"}
for kernel in (module._log_win_kernel, module._win_all_kernel, module._win_all_gradient_kernel):
    for k in (2, 1000):
        rows, classes, warps = module._blocks(k, 32)
        constants = {"block_n": rows, "block_k": classes, "block_q": 32}
        constants |= {"with_gradient": True} if "with_gradient" in kernel.arg_names else {}
        signature = {name: "constexpr" if name in constants else TYPES.get(name, "*fp32") for name in kernel.arg_names}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        assert compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": warps}).asm["cubin"]
"""


def run(*command, **environment):
    return subprocess.run(
        [sys.executable, *command], env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.skipif(VERSION < (3, 7), reason="the interpreter of Triton before 3.7 fails with numpy 2.4")
def test_in_the_interpreter():
    checks = Path(__file__).with_name("race_triton_interpreted.py")
    process = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks), TRITON_INTERPRET="1")
    assert process.returncode == 0, process.stdout


@pytest.mark.skipif(VERSION < (3, 3), reason="Triton before 3.3 compiles by other names")
def test_compiles_for_a_gpu(tmp_path):
    process = run("-c", COMPILE, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path))
    assert process.returncode == 0, process.stdout
