"""Write docs/operators/configuration.md from the configuration classes, or check that it is current (`--check`)."""

import dataclasses
import sys
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shim.config.loader import VARIABLE_PREFIX, Config
from shim.config.tree import FolderOrAddress, Key, is_table, item_type, key_of
from shim.scheduling.queue_policies import PARAMETERS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators" / "configuration.md"

_HEAD = f"""# Configuration

<!-- written by scripts/configuration_page.py: change the classes that shim/config/loader.py puts together instead -->

`heddle serve -c heddle.toml` reads one TOML file. The least that works is one sub-cluster:

```toml
[[subcluster]]
id = "east"
conf = "/etc/hadoop/east"       # the folder with that cluster's yarn-site.xml; or: web = "http://rm.east:8088"
```

Every key can be set by an environment variable too, which goes before the file: `{VARIABLE_PREFIX}SECTION_KEY`
(`{VARIABLE_PREFIX}SERVER_REST=127.0.0.1:9088`). Items of a list of tables are named by their id, with anything but
letters and digits written `_`: `{VARIABLE_PREFIX}SUBCLUSTER_EAST_WEB`. Lists are separated by commas.

A key that does not exist, a value that is not allowed and a key that is missing stop Heddle before it starts, with a
message that names the file (or variable), the key and what is allowed:

```text
heddle.toml: subcluster[1].auht: unknown key. Did you mean auth? Allowed: admin_rpc, auth, ca_file, client_rpc, ...
```

Names that end in `_s` are seconds, in `_bytes` bytes. Relative paths start in the folder of the file.
"""

_TYPES: Mapping[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    FolderOrAddress: "path or address",
}


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_sections(Config, "", array=False))


def _sections(cls: Any, path: str, *, array: bool) -> Iterator[str]:
    hints = typing.get_type_hints(cls)
    rows: list[str] = []
    below: list[tuple[Any, str, bool]] = []
    has_parameters = False
    for field in dataclasses.fields(cls):
        about, type_ = key_of(field), hints[field.name]
        item = item_type(type_)
        name = f"{path}.{about.name}" if path else about.name
        if about.rest:
            has_parameters = True
            continue
        if is_table(type_) or is_table(item):
            named = typing.get_origin(type_) is Mapping
            below.append(
                (type_ if item is None else item, f"{name}.NAME" if named else name, item is not None and not named)
            )
        else:
            rows.append(f"| `{about.name}` | {_type(type_)} | {_default(field)} | {_meaning(about)} |\n")
    if rows:
        title = f"[[{path}]]" if array else f"[{path}]"
        head = f"\n## `{title}`\n\n{cls.__doc__}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        yield head + "".join(rows)
    if has_parameters:
        yield "".join(_parameters())
    for table, name, is_array in below:
        yield from _sections(table, name, array=is_array)


def _parameters() -> Iterator[str]:
    """Keys of a queue that has a policy with parameters."""
    yield (
        "\n### Parameters of policies\n\nKeys of a `[[queue]]` for the policies in its `containers` and `shadow`, "
        "whichever\nof them has one of that name. `heddle policy kinds NAME` prints them, too; a policy that is not "
        "here has none. *Paper*\nis the published value where the default is another.\n\n"
        "| policy | key | default | paper | allowed | meaning |\n|---|---|---|---|---|---|\n"
    )
    for policy, known in PARAMETERS.items():
        for each in known.values():
            published = "" if each.published in (None, each.default) else f"`{str(each.published).lower()}`"
            meaning = f"{each.meaning} Paper, {each.section}." if each.section else each.meaning
            default = str(each.default).lower()
            yield f"| `{policy}` | `{each.name}` | `{default}` | {published} | {each.range} | {meaning} |\n"


def _type(type_: Any) -> str:
    item = item_type(type_)
    if typing.get_origin(type_) is Mapping:
        return f"table of {_type(item)}"
    if item is not None:
        return f"{_TYPES[item]}, or a list"
    return _TYPES[next((part for part in typing.get_args(type_) if part in _TYPES), type_)]


def _default(field: "dataclasses.Field[Any]") -> str:
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        return "-"
    if value is dataclasses.MISSING:
        return "must be given"
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(f'`"{item}"`' for item in value)
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _meaning(about: Key) -> str:
    bounds = [f"at least {about.least:g}"] if about.least is not None else []
    bounds += [f"at most {about.most:g}"] if about.most is not None else []
    choices = f" One of {', '.join(f'`{choice}`' for choice in about.choices)}." if about.choices else ""
    choices += f" Called `{about.was}` before; that name works in this version only." if about.was else ""
    return about.meaning + choices + (f" {' and '.join(bounds).capitalize()}." if bounds else "")


def main() -> int:
    """Write the page, or say whether it is current."""
    if "--check" not in sys.argv:
        PAGE.write_text(page(), "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == page():
        return 0
    print(f"{PAGE} is not what the classes say: run python scripts/configuration_page.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
