"""Nothing from a file reaches the terminal as a control character."""

import subprocess
import sys

import pytest

from metricfit._printable import printable, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x00b\x07\x7f", "a\\x00b\\x07\\x7f"),
        ("one\ntwo\ttab\r", "one\\ntwo\\ttab\\r"),
        ("\x85\x9b31m", "\\x85\\x9b31m"),
        ("exe.\u202etxt\u2066\u2069\u200e\u200f", "exe.\\u202etxt\\u2066\\u2069\\u200e\\u200f"),
        ("a\u2028b\u2029", "a\\u2028b\\u2029"),
        ("Köln, 東京, \u05d0, 1\u202f234 €", "Köln, 東京, \u05d0, 1\u202f234 €"),  # letters and spaces stay as they are
    ],
)
def test_control_characters_are_visible(text, shown):
    assert printable(text) == shown


def test_values_in_messages_are_short_and_on_one_line():
    assert quoted("a\nb\x1b") == "'a\\nb\\x1b'"
    assert quoted("x" * 80) == repr("x" * 80)
    assert quoted("x" * 81) == repr("x" * 80 + "...")
    assert quoted(7) == "7"


def test_reading_a_table_imports_neither_torch_nor_scikit_learn():
    code = (
        "import sys, metricfit.data; print([name for name in ('torch', 'sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
