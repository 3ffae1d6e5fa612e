"""Draw docs/pictures: one address in front of many YARN clusters, and the boundaries of trust around it."""

from pathlib import Path

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"

_CLIENTS = ("curl, scripts", "yarn, MapReduce", "Spark, Tez", "monitors", "browsers")
_CLUSTERS = (("east", "Hadoop 2.10"), ("west", "Hadoop 3.3"), ("north", "Hadoop 3.5"))
_INK, _SOFT, _THREAD, _WARM = "#1f2933", "#f4f1ea", "#b4532a", "#fffaf3"


def _box(x: int, y: int, width: int, height: int, *, fill: str = _WARM, stroke: str = _INK) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="{stroke}"/>'


def _text(x: int, y: int, text: str, *, size: int = 14, weight: str = "normal", anchor: str = "middle") -> str:
    place = f'x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text {place} fill="{_INK}">{text}</text>'


def _thread(x1: int, y1: int, x2: int, y2: int) -> str:
    middle = (x1 + x2) // 2
    curve = f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"
    return f'<path d="{curve}" fill="none" stroke="{_THREAD}" stroke-width="2"/>'


def picture() -> str:
    """The whole drawing."""
    parts = [_box(0, 0, 900, 400, fill=_SOFT, stroke=_SOFT), _text(95, 36, "clients of YARN", weight="bold")]
    for number, name in enumerate(_CLIENTS):
        y = 60 + 64 * number
        parts += [_box(20, y, 150, 40), _text(95, y + 25, name), _thread(170, y + 20, 290, 200)]
    parts += [
        _box(290, 50, 300, 316, fill="white"),
        _text(440, 36, "Heddle", size=18, weight="bold"),
        _text(440, 80, "one ResourceManager: REST and RPC", size=13),
        _box(310, 96, 260, 130),
        _text(440, 120, "Global Master", weight="bold"),
        _text(440, 146, "view of every cluster, with its age", size=13),
        _text(440, 168, "choice of the home, and why", size=13),
        _text(440, 190, "submissions: exactly once", size=13),
        _text(440, 212, "reads answered from the view", size=13),
        _box(310, 240, 120, 108),
        _text(370, 268, "SQL store", weight="bold"),
        _text(370, 292, "ids, homes,", size=13),
        _text(370, 312, "intents", size=13),
        _box(450, 240, 120, 108),
        _text(510, 268, "Local Masters", weight="bold"),
        _text(510, 292, "one for each", size=13),
        _text(510, 312, "cluster: polls", size=13),
    ]
    parts.append(_text(795, 36, "YARN clusters", weight="bold"))
    for number, (name, version) in enumerate(_CLUSTERS):
        y = 60 + 106 * number
        parts += [
            _thread(590, 200, 710, y + 40),
            _box(710, y, 170, 82),
            _text(795, y + 26, name, weight="bold"),
            _text(795, y + 48, version, size=13),
            _text(795, y + 68, "RM, NodeManagers", size=13),
        ]
    style = 'font-family="system-ui, sans-serif" role="img" aria-label="Clients, Heddle, YARN clusters"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 400" {style}>\n{body}\n</svg>\n'


_OUTSIDE = (
    ("clients, gateways", "REST, RPC", "B1", 60),
    ("browsers", "console, pages", "B1, B6", 140),
    ("operators", "policies, drains", "B7", 220),
    ("ApplicationMasters", "scheduler RPC", "B2", 300),
)
_BEHIND = (
    ("ResourceManagers", "polls, submissions", "B3", 60),
    ("NodeManagers", "logs", "B3", 140),
    ("other masters", "launches, reports", "B4", 220),
    ("store, files, audit", "records, secrets", "B5", 300),
)


def trust_boundaries() -> str:
    """The flow of data across boundaries; each arrow begins at who opens the connection."""
    parts = [_box(0, 0, 900, 380, fill=_SOFT, stroke=_SOFT), _box(360, 50, 180, 300, fill="white")]
    parts += [
        _text(450, 180, "Heddle", size=18, weight="bold"),
        _text(450, 206, "one process:", size=13),
        _text(450, 226, "nothing inside is kept apart", size=11),
    ]
    for side, (x, start, end) in ((_OUTSIDE, (20, 180, 360)), (_BEHIND, (720, 540, 720))):
        for name, what, boundary, y in side:
            middle = (start + end) // 2
            parts += [
                _box(x, y, 160, 48),
                _text(x + 80, y + 29, name, weight="bold", size=13),
                f'<path d="M{start} {y + 24} L{end - 8} {y + 24}" stroke="{_THREAD}" stroke-width="2"/>',
                f'<path d="M{end - 8} {y + 19} L{end} {y + 24} L{end - 8} {y + 29} Z" fill="{_THREAD}"/>',
                _text(middle, y + 16, what, size=12),
                _text(middle, y + 44, boundary, size=12, weight="bold"),
            ]
    for x in (270, 630):
        parts.append(f'<path d="M{x} 40 L{x} 360" stroke="{_INK}" stroke-dasharray="6 5"/>')
    style = 'font-family="system-ui, sans-serif" role="img" aria-label="Data across the boundaries of trust"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 380" {style}>\n{body}\n</svg>\n'


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / "architecture.svg").write_text(picture(), "utf-8")
    (PICTURES / "trust-boundaries.svg").write_text(trust_boundaries(), "utf-8")
