"""The commands of the guides, as an operator types them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.contract.manifests.reading import ROOT

# The country of the guide to a new register is an invented one.
GUIDES = sorted(
    guide
    for pattern in ("README.md", "docs/*.md", "services/*/README.md", "deploy/**/README.md")
    for guide in ROOT.glob(pattern)
    if guide.name != "adding-a-register.md"
)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
#: Of a block without a language, only what begins so is a command.
_PROGRAMS = re.compile(
    r"(python -m|kubectl|rabbitmqctl|rabbitmq-diagnostics|deploy/\S+/(?:run|compose|build|sbom)"
    r"|make|db\.\w+|openssl|git tag) ?\b.*"
)
_LOOP = re.compile(r"^for .*?^done$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a guide, without its comment."""

    guide: str
    text: str

    @property
    def program(self) -> str:
        """Its first word, or the module that Python runs."""
        words = self.text.split()
        return words[2] if words[:2] == ["python", "-m"] else words[0]

    def __str__(self) -> str:
        return f"{self.guide}: {self.text}"


def commands() -> list[Command]:
    """The commands of every guide, in the order of its text."""
    return [
        Command(str(guide.relative_to(ROOT)), text)
        for guide in GUIDES
        for text in _typed_in(guide.read_text())
    ]


def _typed_in(text: str) -> Iterator[str]:
    text = text.replace("\\\n", " ")
    found: list[tuple[int, str]] = []
    for block in _BLOCK.finditer(text):
        if block[1] in ("", "sh"):
            lines = _LOOP.sub(_in_one_line, block[2]).splitlines()
            typed = [re.sub(r"\s+# .*", "", line).strip() for line in lines]
            found += [
                (block.start(), line)
                for line in typed
                if line and (block[1] == "sh" or _PROGRAMS.fullmatch(line))
            ]
    for span in _SPAN.finditer(_BLOCK.sub(lambda block: " " * len(block[0]), text)):
        if _PROGRAMS.fullmatch(span[1]):
            found.append((span.start(), span[1]))
    return (line for _, line in sorted(found, key=lambda each: each[0]))


def _in_one_line(loop: re.Match[str]) -> str:
    first, *body, last = loop[0].splitlines()
    return f"{first} {'; '.join(each.strip() for each in body)}; {last}"
