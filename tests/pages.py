"""The code of a page in Markdown: run from top to bottom, names of one block are known in the next.

A block of ``text`` that follows a block of ``python`` shows what that one prints. A block of ``console`` has commands of
metricfit, ``$ metricfit decide ...``, and runs as well; what they write to stderr is not shown. ``python -m tests.pages docs/guide/decide.md``
writes what the code prints into the page.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ELSEWHERE = "fabric.launch()"  # tests/training/test_processes.py runs this block in two processes


def outputs(text, name):
    """For every block of code: the code, what the page shows or None, and what the code prints."""
    fences, names = list(FENCE.finditer(text)), {}
    for fence, after in zip(fences, [*fences[1:], None], strict=True):
        if fence[1] not in ("python", "console") or ELSEWHERE in fence[2]:
            continue
        stream = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
        with contextlib.redirect_stdout(stream):
            if fence[1] == "python":
                exec(compile(fence[2], name, "exec"), names)
            else:
                run_commands(fence[2])
        stream.flush()
        printed = stream.buffer.getvalue().decode()
        yield fence[2], after if after is not None and after[1] == "text" else None, printed


def run_commands(text):
    """Run each command in this process."""
    from metricfit.cli import app, run_app  # an extra, which most pages do not need

    before = sys.argv
    for line in text.replace("\\\n", " ").splitlines():
        sys.argv = shlex.split(line.removeprefix("$ "))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code = run_app(app, "metricfit")
        sys.argv = before
        assert code == 0, f"{line}: {errors.getvalue()}"


def main():
    """Write what the code prints into the pages."""
    for page in [Path(argument).resolve() for argument in sys.argv[1:]]:
        text = page.read_text()
        os.chdir(tempfile.mkdtemp())
        shown = [(fence, printed) for _, fence, printed in outputs(text, page.name) if fence is not None]
        for fence, printed in reversed(shown):
            text = text[: fence.start()] + f"```text\n{printed}```" + text[fence.end() :]
        page.write_text(text)


if __name__ == "__main__":
    main()
