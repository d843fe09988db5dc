"""Compiled code that is kept on disk belongs to the sources that it was made from."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from metricfit.numerics import fused

# the smallest kernel: counts rows; also how often numba found it on disk
COUNT = """
import torch
from metricfit.numerics.fused import _calls, _job, _kernels
scores, labels = torch.eye(3), torch.arange(3)
job = _job.Job(**_calls._row_fields(scores, scores), labels=labels.data_ptr(), ignore_index=-1, stage=_job.COUNT)
print(int(_calls._run(_kernels.stages, job)[0]), _calls._entry(_kernels.stages).cache_hits, _job.__file__)
"""

BITS = """
import hashlib, torch, metricfit as mf
scores, labels = torch.randn(256, 40, generator=torch.Generator().manual_seed(0)).requires_grad_(), torch.arange(256) % 40
for loss in (mf.ExactLoss(), mf.MetricLoss("f1_macro", smoothing=mf.smoothing.Normal())):
    scores.grad = None
    loss(scores, labels).backward()
    print(hashlib.sha256(scores.grad.numpy().tobytes()).hexdigest())
"""


def test_code_from_disk_computes_the_same_bits(tmp_path):
    def run():
        paths = {"NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", BITS], env={**os.environ, **paths}, capture_output=True, check=True
        ).stdout

    compiled = run()
    assert list(tmp_path.rglob("*.nbc"))
    assert run() == compiled


def test_an_edit_to_a_helper_is_seen_and_else_kept_code_is_used(tmp_path):
    package, kept = tmp_path / "metricfit" / "numerics" / "fused", tmp_path / "kept"
    shutil.copytree(Path(fused.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for parent in (package.parent, package.parent.parent):
        (parent / "__init__.py").touch()
    helper = package / "_job.py"

    def count():
        paths = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(kept), "PYTHONDONTWRITEBYTECODE": "1"}
        run = [sys.executable, "-c", COUNT]
        done = subprocess.run(run, env={**os.environ, **paths}, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        n_rows, hits, file = done.stdout.split()
        assert file == str(helper)
        return int(n_rows), int(hits), {path.name: path.stat().st_mtime_ns for path in kept.rglob("*.nb[ic]")}

    *first, files = count()
    assert first == [3, 0]
    assert len(files) == 2  # index and code
    assert count() == (3, 1, files)

    before, text, last_row = helper.stat(), helper.read_text(), "job.n_rows * (part + 1) // n_parts"
    assert text.count(last_row) == 1
    helper.write_text(text.replace(last_row, last_row + " - 1"))
    os.utime(helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    *edited, new_files = count()
    assert edited == [2, 0]
    assert len(new_files) == 2  # the old ones are gone
    assert not new_files.keys() & files.keys()
