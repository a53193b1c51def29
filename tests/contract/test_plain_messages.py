"""Sentences for people are plain text: what a program prints shows Markdown as it is written."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Descriptions of settings are for the tables of the READMEs.
SOURCES = [
    path
    for folder in ("services", "libs", "clients", "deploy/local")
    for path in (ROOT / folder).glob("**/*.py")
    if path.name != "settings.py"
]
#: Strings that are no sentences.
ALLOWED = {"`", r"[;,:]?(?: and)? `?data\b", "'’‘`´ʼ", "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"}
#: Names of decorators whose function's docstring is the help of a command.
COMMANDS = {"command", "callback"}


def sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings of a module, of its docstrings those that a command line shows."""
    docstrings = set()
    shows_module = any(
        isinstance(node, ast.keyword)
        and node.arg in ("description", "epilog")
        and isinstance(node.value, ast.Name)
        and node.value.id == "__doc__"
        for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            is_shown = shows_module if isinstance(node, ast.Module) else is_command(node)
            if not is_shown:
                docstrings.add(body[0].value)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in docstrings:
                yield node.lineno, text


def is_command(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", ())
    calls = [one.func for one in decorators if isinstance(one, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr in COMMANDS for call in calls)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_message_has_raw_backticks(path: Path) -> None:
    found = [
        f"line {line}: {text}"
        for line, text in sentences(ast.parse(path.read_text()))
        if "`" in text and text not in ALLOWED
    ]

    assert found == []
