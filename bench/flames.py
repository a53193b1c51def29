"""Stacks of a process as a flame graph, and whose each share is: `python -m bench.flames FILE …`.

`py-spy record -f raw -t -o FILE -p PID` writes such stacks. Prints the shares of the main thread,
and writes an SVG beside each file.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

#: Frames from the outermost to the innermost.
Stack = tuple[str, ...]

#: Of whole stacks that wait, and of each owner by a frame: the innermost, or any.
_WAITS = re.compile(r"selectors\.py|threading\.py|concurrent/futures")
_INNERMOST = {
    "sockets": re.compile(r"(StreamWriter\._write|ContentChannel\.write|PyMongoProtocol\.write) "),
    "event loop": re.compile(r"Runner\.run "),
}
_ANY = {
    "logging": re.compile(r"structlog/|common/runtime/logs\.py"),
    "metrics": re.compile(r"prometheus_client/"),
}
_PACKAGES = {
    "our code": ("gateway", "lookup", "common", "dispatcher", "webhook_store"),
    "aiohttp": ("aiohttp", "yarl", "multidict", "propcache", "aiosignal", "frozenlist"),
    "PyMongo": ("pymongo", "bson"),
    "pydantic": ("pydantic",),
}
_COLOURS = {
    "our code": "#f4a259",
    "aiohttp": "#8cb9e0",
    "PyMongo": "#8fc99a",
    "pydantic": "#d7b3e6",
    "sockets": "#9aa5b1",
    "event loop": "#c3cbd3",
    "logging": "#efd677",
    "metrics": "#e5a6a6",
    "Python": "#dcd6c8",
}
_WIDTH, _ROW, _LETTER = 1200.0, 16, 6.3
#: Frames with a smaller share of the samples are not drawn.
_NARROW = 0.002


@dataclass
class Frame:
    """A frame called by the one above, with its samples and its owner's name."""

    owner: str = "Python"
    samples: int = 0
    callees: dict[str, "Frame"] = field(default_factory=dict)


def read(text: str) -> Counter[Stack]:
    """Returns the samples of each stack of the main thread, without those that wait."""
    stacks: Counter[Stack] = Counter()
    for line in text.splitlines():
        written, _, samples = line.rpartition(" ")
        thread, *frames = written.split(";")
        if "MainThread" in thread and frames and not _WAITS.search(frames[-1]):
            stacks[tuple(frames)] += int(samples)
    return stacks


def owner(stack: Stack) -> str:
    """Returns whose work a stack is: that of the innermost package, libraries of Python apart."""
    for name, wanted in _INNERMOST.items():
        if wanted.match(stack[-1]):
            return name
    for name, wanted in _ANY.items():
        if any(map(wanted.search, stack)):
            return name
    return next(filter(None, map(_package, reversed(stack))), "Python")


def shares(stacks: Mapping[Stack, int]) -> dict[str, float]:
    """Returns each owner's share of the samples, the largest first."""
    counted: Counter[str] = Counter()
    for stack, samples in stacks.items():
        counted[owner(stack)] += samples
    return {name: samples / counted.total() for name, samples in counted.most_common()}


def svg(title: str, stacks: Mapping[Stack, int]) -> str:
    """Returns a flame graph: frames below their callers, as wide as their share, named on hover."""
    root = _tree(stacks)
    boxes = list(_boxes(root, 0.0, 0, _WIDTH / root.samples))
    height = (max(box[1] for box in boxes) + 2) * _ROW
    drawn = "\n".join(_drawn(box, root.samples) for box in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" '
        f'font-family="monospace" font-size="10">\n'
        f'<text x="4" y="11">{escape(title)}, {root.samples:,} samples</text>\n{drawn}\n</svg>\n'
    )


def _package(frame: str) -> str | None:
    """`function (package/module.py:12)`."""
    package = frame.rpartition("(")[2].partition("/")[0]
    return next((name for name, known in _PACKAGES.items() if package in known), None)


def _tree(stacks: Mapping[Stack, int]) -> Frame:
    root = Frame()
    for stack, samples in sorted(stacks.items()):
        at = root
        at.samples += samples
        for depth, line in enumerate(stack, 1):
            # Lines of one function together.
            name = re.sub(r":\d+\)$", ")", line)
            at = at.callees.setdefault(name, Frame(owner(stack[:depth])))
            at.samples += samples
    return root


Box = tuple[float, int, float, str, Frame]


def _boxes(frame: Frame, x: float, row: int, scale: float) -> Iterator[Box]:
    for name, callee in frame.callees.items():
        width = callee.samples * scale
        if width >= _WIDTH * _NARROW:
            yield x, row + 1, width, name, callee
            yield from _boxes(callee, x, row + 1, scale)
        x += width


def _drawn(box: Box, whole: int) -> str:
    x, row, width, name, frame = box
    y, letters = row * _ROW, int(width / _LETTER)
    short = name.partition(" ")[0]
    label = short if len(short) <= letters else short[: max(letters - 1, 0)]
    text = f'<text x="{x + 2:.1f}" y="{y + 11}">{escape(label)}</text>' if letters > 2 else ""
    return (
        f"<g><title>{escape(name)}: {frame.samples / whole:.1%}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.4, 0.2):.1f}" height="{_ROW - 1}" '
        f'fill="{_COLOURS[frame.owner]}"/>{text}</g>'
    )


def main() -> None:
    """Draws each file and prints its shares."""
    parser = argparse.ArgumentParser(prog="python -m bench.flames")
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        stacks = read(file.read_text())
        file.with_suffix(".svg").write_text(svg(file.stem, stacks))
        print(
            f"{file.stem}:", ", ".join(f"{name} {one:.1%}" for name, one in shares(stacks).items())
        )


if __name__ == "__main__":
    main()
