"""Write the table of docs/operators/security/hardening.md from the lines that `heddle doctor --hardening` checks.

With `--check` the page is only compared.
"""

import re
import sys
from pathlib import Path

from shim.app.hardening import LINES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators" / "security" / "hardening.md"
TABLE = re.compile(r"(<!-- hardening: begin -->\n).*?(\n<!-- hardening: end -->)", re.DOTALL)
HEADING = """
| line | what holds | why | how to mend | checked against |
|---|---|---|---|---|
"""


def page(text: str) -> str:
    """Return the page with the table of the code in the place of the one that it has.

    Raises:
        ValueError: The page has no place for the table.
    """
    rows = "".join(f"| `{line.id}` | {line.what} | {line.why} | {line.mend} | {line.how} |\n" for line in LINES)
    written, places = TABLE.subn(lambda found: f"{found[1]}{HEADING}{rows.rstrip()}{found[2]}", text)
    if places != 1:
        raise ValueError(f"{PAGE.name} has {places} places for its table; it needs one")
    return written


def main() -> int:
    """Write the table; with `--check` only compare."""
    text = PAGE.read_text("utf-8")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(text), "utf-8")
    elif text != page(text):
        print(f"{PAGE.name} is not what the code says: run python -m scripts.hardening_page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
