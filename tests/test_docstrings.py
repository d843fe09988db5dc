"""Every public name has a docstring in numpydoc: its parameters are those of the signature, and it has an example."""

import ast
import builtins
import doctest
import inspect
import pydoc
import re
import typing

import pytest

import metricfit
from tests.test_site import reference

DOCUMENTED = {name: one for name, one in reference().items() if inspect.isclass(one) or inspect.isfunction(one)}


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring by their titles; the text before the first one has the title "".

    >>> sections("Add one.\\n\\nParameters\\n----------\\nx : float\\n    A number.")
    {'': 'Add one.\\n\\n', 'Parameters': 'x : float\\n    A number.'}
    """
    first, *rest = re.split(r"^(\w[\w ]*)\n-+\n", doc, flags=re.MULTILINE)
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def described(section: str) -> tuple[list[str], list[str]]:
    """The names that a section describes, and the lines of names without a type.

    >>> described("x, y : float\\n    Two numbers.\\n**options\\n    Others.")
    (['x', 'y', '**options'], [])
    """
    heads = [line for line in section.splitlines() if line and not line[0].isspace()]
    names = [name for head in heads for name in head.split(" : ")[0].split(", ")]
    return names, [head for head in heads if " : " not in head and not head.startswith("*")]


def parameters(one: typing.Any) -> list[str]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(one).parameters.values()
    return [stars.get(one.kind, "") + one.name for one in found if one.name not in ("self", "cls")]


def options(one: typing.Any) -> set[str]:
    """The keys of ``**options: Unpack[...]``."""
    hints = typing.get_type_hints(one.__init__ if inspect.isclass(one) else one, include_extras=True)
    return {
        key
        for hint in hints.values()
        if typing.get_origin(hint) is typing.Unpack
        for key in typing.get_args(hint)[0].__annotations__
    }


def undefined_names(doc: str) -> set[str]:
    """The names that an example uses and does not define: what a reader who copies it would have to guess.

    >>> undefined_names(">>> import torch\\n>>> torch.exp(Log()(x) for x in range(3))")
    {'Log'}
    """
    used, defined = set(), set(dir(builtins))
    for node in ast.walk(ast.parse("".join(example.source for example in doctest.DocTestParser().get_examples(doc)))):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.alias):
            defined.add(node.asname or node.name)
    return used - defined


def problems(name: str, one: typing.Any, needs_example: bool) -> list[str]:
    parts = sections(inspect.getdoc(one) or "")
    summary = parts[""].split("\n\n")[0].strip()
    found = []
    if not summary.endswith(".") or "\n" in summary:
        found.append(f"the summary should be one line that ends with a full stop, got {summary!r}")
    if not isinstance(one, property):
        names, untyped = described(parts.get("Parameters", ""))
        if names != parameters(one):
            found.append(f"Parameters should describe {parameters(one)}, got {names}")
        if untyped:
            found.append(f"these parameters should have a type: {untyped}")
        if (others := described(parts.get("Other Parameters", ""))[0]) and not set(others) <= options(one):
            found.append(f"Other Parameters should be in {options(one)}, got {others}")
        returns = "None" if inspect.isclass(one) else inspect.signature(one).return_annotation
        if returns not in ("None", None, inspect.Signature.empty) and "Returns" not in parts:
            found.append("Returns is missing")
    if needs_example and ">>> " not in parts.get("Examples", ""):
        found.append("Examples is missing")
    if undefined := undefined_names(parts.get("Examples", "")):
        found.append(f"Examples should import {sorted(undefined)}")
    return [f"{name}: {problem}" for problem in found]


def public_methods(cls: type) -> dict[str, typing.Any]:
    """The methods and properties that a public class, or a base class in this package, defines."""
    found = {}
    for home in reversed([one for one in cls.__mro__ if one.__module__.startswith("metricfit.")]):
        for name, member in vars(home).items():
            if not re.fullmatch(r"_.*|extra_repr|\w+_checked", name):  # what torch and the losses call
                member = getattr(cls, name) if isinstance(member, classmethod | staticmethod) else member
                if isinstance(member, property) or inspect.isroutine(member):
                    found[name] = member
    return found


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_docstring_is_complete(name):
    one = DOCUMENTED[name]
    found = problems(name, one, needs_example=True)
    if inspect.isclass(one):
        for method, member in public_methods(one).items():
            own = getattr(one, method) if not isinstance(member, property) and not inspect.ismethod(member) else member
            found += problems(f"{name}.{method}", own, needs_example=False)
    assert not found, "\n".join(found)


def test_it_finds_what_is_missing():
    def add(x: float, y: float = 1.0) -> float:
        """Add two numbers

        Parameters
        ----------
        x : float
        z
        """

    words = ("full stop", "['x', 'y'], got ['x', 'z']", "a type: ['z']", "Returns", "Examples")
    for word, problem in zip(words, problems("add", add, True), strict=True):
        assert word in problem


def test_help_fits_two_screens():
    text = pydoc.plain(pydoc.render_doc(metricfit.MetricClassifier))
    assert text.splitlines().index(" |  Method resolution order:") <= 120
