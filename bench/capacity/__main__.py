"""Sizes a deployment: `python -m bench.capacity --lookups 6000 --companies 3000000 …`.

docs/scaling.md says what lifts each limit.
"""

import argparse
from collections.abc import Sequence

from bench.capacity.model import Limit, Load, Part, limits, parts, read_points


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints what the given load needs, and its first bottleneck."""
    load, points = _load(arguments), read_points()
    print(table(parts(load, points)))
    print()
    print(bottleneck(limits(load, points)))


def table(needed: Sequence[Part]) -> str:
    """Returns the parts as a Markdown table."""
    rows = ["| part | replicas | cores | memory | disk |", "|---|---|---|---|---|"]
    rows += [
        f"| {part.name} | {part.replicas} | {part.cores:.2f} "
        f"| {part.memory_gb:,.1f} GB | {part.disk_gb:,.1f} GB |"
        for part in needed
    ]
    return "\n".join(rows)


def bottleneck(used: Sequence[Limit]) -> str:
    """Returns the limit that is reached first, and how to lift it."""
    first = used[0]
    return f"First bottleneck: {first.name}, of which it uses {first.share:.1%}. {first.remedy}"


def _load(arguments: Sequence[str] | None) -> Load:
    parser = argparse.ArgumentParser(prog="python -m bench.capacity")
    parser.add_argument("--lookups", type=_rate, required=True, help="per second")
    parser.add_argument("--companies", type=_count, required=True, help="in the register")
    parser.add_argument("--webhooks", type=_count, required=True, help="registered")
    parser.add_argument("--events", type=_rate, required=True, help="per second")
    parser.add_argument("--fan-out", type=_share, default=1.0, help="webhooks that match an event")
    parser.add_argument("--kept-days", type=_rate, default=30.0, help="WEBHOOK_RETENTION")
    return Load(**vars(parser.parse_args(arguments)))


def _rate(text: str) -> float:
    """A number that is not negative, such as 6000 or 0.5."""
    if not (text.isascii() and text.replace(".", "", 1).isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 6000 or 0.5")
    return float(text)


def _share(text: str) -> float:
    value = _rate(text)
    if not value:
        raise argparse.ArgumentTypeError("0 is too small")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 3000000")
    return int(text)


if __name__ == "__main__":
    main()
