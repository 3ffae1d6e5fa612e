"""Lines of a TOML file in which keys stand: `tomllib` does not tell them."""

import re

__all__ = ["line_of", "lines_of_keys"]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_NAME = rf"{_PART}(?:[\t ]*\.[\t ]*{_PART})*"
_HEADER = re.compile(rf"[\t ]*(\[\[?)[\t ]*({_NAME})[\t ]*\]")
_KEY = re.compile(rf"[\t ]*({_NAME})[\t ]*=")
_PARTS = re.compile(_PART)
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_LONGEST_LINE = 4096


def lines_of_keys(text: str) -> dict[str, int]:
    """Lines of tables and keys by dotted path, as messages have it: `subcluster[1].reads_from.west`.

    Keys within inline tables and lists have the line of what they are in; see `line_of`.
    """
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table, inside = "", ""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line[:_LONGEST_LINE]
        if inside:
            inside = "" if inside in content else inside
            continue
        if header := _HEADER.match(content):
            table = _place(header[2], counts, is_item=header[1] == "[[")
            found.setdefault(table, number)
        elif key := _KEY.match(content):
            names = ".".join(_bare(part) for part in _PARTS.findall(key[1]))
            found.setdefault(f"{table}.{names}" if table else names, number)
        marks = _LONG_TEXT.findall(content.partition("#")[0] if content.lstrip().startswith("#") else content)
        if len(marks) % 2:
            inside = marks[-1]
    return found


def line_of(lines: dict[str, int], path: str) -> int:
    """Line of a key, or of the nearest table that it is in or belongs into; 0 if there is none."""
    while path:
        if path in lines:
            return lines[path]
        below = [line for known, line in lines.items() if known.startswith((f"{path}.", f"{path}["))]
        if below:
            return min(below)
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return 0


def _place(name: str, counts: dict[str, int], *, is_item: bool) -> str:
    """Path of a table, in which each list of tables before it stands for its last one."""
    path = ""
    parts = [_bare(part) for part in _PARTS.findall(name)]
    for depth, part in enumerate(parts, start=1):
        path = f"{path}.{part}" if path else part
        if is_item and depth == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = f"{path}[{counts[path]}]"
    return path


def _bare(part: str) -> str:
    return part[1:-1] if part[0] in "\"'" else part
