"""Growth as a curve: a plain SVG of points on logarithmic axes, without a plotting library."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from bench.figures import RESULTS

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 200, 50, 60
_COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#34495e")

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps values to places; its ends are powers of ten."""

    low: int
    high: int
    begin: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float) -> "_Axis":
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), begin, end)

    def place(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    @property
    def marks(self) -> Iterator[tuple[float, float]]:
        for power in range(self.low, self.high + 1):
            yield 10.0**power, self.place(10.0**power)


def write_curves(name: str, title: str, across: str, up: str, curves: Mapping[str, Points]) -> None:
    """Writes `results/<name>.svg`; both axes are logarithmic, so all values are above 0."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.svg").write_text(svg(title, across, up, curves))


def svg(title: str, across: str, up: str, curves: Mapping[str, Points]) -> str:
    points = [point for curve in curves.values() for point in curve]
    x = _Axis.over([value for value, _ in points], _LEFT, _WIDTH - _RIGHT)
    y = _Axis.over([value for _, value in points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 25, title, size=15),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 15, across, anchor="middle"),
        _text(_LEFT, _TOP - 10, up, anchor="end"),
        *_grid(x, y),
    ]
    for place, (label, curve) in enumerate(curves.items()):
        parts += _curve(x, y, curve, _COLOURS[place % len(_COLOURS)])
        parts.append(
            _text(
                _WIDTH - _RIGHT + 15,
                _TOP + 10 + 20 * place,
                label,
                colour=_COLOURS[place % len(_COLOURS)],
            )
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for value, place in x.marks:
        yield _line(place, y.begin, place, y.end)
        yield _text(place, y.begin + 18, f"{value:,g}" if value < 1e6 else f"{value / 1e6:g} M")
    for value, place in y.marks:
        yield _line(x.begin, place, x.end, place)
        yield _text(x.begin - 8, place + 4, f"{value:,g}", anchor="end")


def _curve(x: _Axis, y: _Axis, curve: Points, colour: str) -> Iterator[str]:
    places = [(x.place(across), y.place(up)) for across, up in curve]
    path = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for across, up in places:
        yield f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3" fill="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(  # noqa: PLR0913 (the attributes of an SVG text)
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = "#222"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{colour}">{escape(text)}</text>'
