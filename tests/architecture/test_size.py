"""Files and functions stay small enough to be read in one go, and say what they are for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, modules, tree

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef


def too_big(module: Path) -> Iterator[str]:
    lines = len(module.read_text(encoding="utf-8").splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{module}: {lines} lines"
    for node in ast.walk(tree(module)):
        if isinstance(node, Function):
            yield from _too_big_function(module, node)


def _too_big_function(module: Path, node: Function) -> Iterator[str]:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > MAX_FUNCTION_LINES:
        yield f"{module}:{node.lineno} {node.name}: {lines} lines"
    parameters = _parameters(node.args)
    if parameters > MAX_PARAMETERS:
        yield f"{module}:{node.lineno} {node.name}: {parameters} parameters"


def _parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    variadic = [given for given in (arguments.vararg, arguments.kwarg) if given]
    return len([argument for argument in named if argument.arg not in ("self", "cls")]) + len(variadic)


def test_files_and_functions_of_the_package_are_small() -> None:
    assert [found for module in modules() for found in too_big(module)] == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n" * (MAX_FILE_LINES + 1), "401 lines"),
        ("def long():\n" + "    x = 1\n" * MAX_FUNCTION_LINES, "61 lines"),
        ("def wide(self, a, b, c, /, d, e, *rest, f, g, **more): ...\n", "9 parameters"),
    ],
)
def test_a_big_one_is_found(tmp_path: Path, text: str, complaint: str) -> None:
    module = tmp_path / "big.py"
    module.write_text(text)
    assert [complaint in found for found in too_big(module)] == [True]


def test_every_module_says_what_it_knows() -> None:
    assert len(modules()) > 20
    assert [str(m.relative_to(PACKAGE)) for m in modules() if not ast.get_docstring(tree(m))] == []
