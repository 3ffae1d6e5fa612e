"""Draw the outcome of a contest: a bar for each row, and the 90 % interval on it; shorter is faster."""

from collections.abc import Mapping
from xml.sax.saxutils import escape

_INK, _SOFT, _THREAD, _STONE, _BEST = "#1f2933", "#f4f1ea", "#b4532a", "#9aa5b1", "#5b7a99"
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 900, 250, 60, 70, 34
_BAR = 20
_TICK = 0.25
_OWN = "Heddle"
_KNOWS_ALL = "oracle"


def picture(rows: Mapping[str, tuple[float, float, float]], told: str) -> str:
    """The drawing.

    Args:
        rows: Mean and both ends of the interval of each row's completion times, as parts of the best one cluster's.
        told: What was played, in one line.
    """
    most = max(1.0, *(high for _, _, high in rows.values()))
    ends = (int(most / _TICK) + 1) * _TICK
    height = _TOP + _ROW * len(rows) + 46

    def at(value: float) -> float:
        return round(_LEFT + value / ends * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = [
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="{_SOFT}"/>',
        _text(
            20,
            28,
            "Mean completion time of jobs, as a part of that on the best one big cluster",
            size=15,
            weight="bold",
        ),
        _text(20, 50, told, size=12),
    ]
    bottom = _TOP + _ROW * len(rows)
    for number in range(round(ends / _TICK) + 1):
        value = number * _TICK
        dash = "" if value == 1.0 else ' stroke-dasharray="2 5"'
        parts.append(f'<path d="M{at(value)} {_TOP - 6} V{bottom}" stroke="{_INK}" stroke-width="1"{dash}/>')
        parts.append(_text(at(value), bottom + 20, f"{value:g}", size=12, anchor="middle"))
    for number, (name, (mean, low, high)) in enumerate(rows.items()):
        y = _TOP + _ROW * number + (_ROW - _BAR) / 2
        middle = y + _BAR / 2
        colour = _THREAD if name == _OWN else _BEST if name == _KNOWS_ALL else _STONE
        weight = "bold" if name == _OWN else "normal"
        parts += [
            _text(_LEFT - 12, middle + 5, name, anchor="end", weight=weight),
            f'<rect x="{_LEFT}" y="{y}" width="{at(mean) - _LEFT:.1f}" height="{_BAR}" fill="{colour}"/>',
            f'<path d="M{at(low)} {middle} H{at(high)}" stroke="{_INK}" stroke-width="2"/>',
            _text(at(max(mean, high)) + 8, middle + 5, f"{mean:.2f}", weight=weight),
        ]
    style = 'font-family="system-ui, sans-serif" role="img" aria-label="Completion times beside one big cluster"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {style}>\n{body}\n</svg>\n'


def _text(x: float, y: float, text: str, *, size: int = 13, weight: str = "normal", anchor: str = "start") -> str:
    place = f'x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text {place} fill="{_INK}">{escape(text)}</text>'
