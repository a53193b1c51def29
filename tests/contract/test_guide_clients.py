"""Each `company-registry` command in a document is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from company_registry.cli.app import app
from tests.contract.manifests.reading import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/*/README.md")])
_TYPED = re.compile(r"(?<![\w./'-])company-registry ((?:--?)?[a-z][^`\n]*)")
#: Tokens that end a command within its line.
_END = re.compile(r"\s+#|[;|&)]|\s\d?[<>]")


def typed() -> Iterator[str]:
    """The commands, without comments, redirections and what a shell fills in."""
    for document in DOCUMENTS:
        if document.name == "CHANGELOG.md":
            continue
        text = document.read_text()
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
        for line in [line for block in blocks for line in block.splitlines()] + spans:
            if not re.search(r"\b(kubectl|claude|image|docker|pip)\b", line):
                for found in _TYPED.finditer(re.sub(r'"?\$\([^)]*\)"?|"\$\w+"', "x", line)):
                    yield _END.split(found[1])[0].strip()


COMMANDS = sorted({each.replace("…", "x") for each in typed()})


def test_documents_have_commands() -> None:
    assert len(COMMANDS) > 25


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_document_is_one_that_the_program_takes(command: str) -> None:
    parsed(command)


@pytest.mark.parametrize("command", ["fnd x", "find --munic Oslo", "mirror --folow", "--profil x"])
def test_another_command_is_not_taken(command: str) -> None:
    with pytest.raises(Exception, match=r"No such (command|option)"):
        parsed(command)


def parsed(command: str) -> None:
    """Reads a command without carrying it out; a document may name one without its arguments."""
    words = shlex.split(command)
    taken: Any = typer.main.get_command(app)
    context: Any = None
    while words:
        context = taken.context_class(taken, parent=context)
        _, words, _ = taken.make_parser(context).parse_args(words)
        if not hasattr(taken, "resolve_command") or not words:
            return
        _, taken, words = taken.resolve_command(context, words)
