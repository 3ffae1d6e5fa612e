"""The hardening guide has the lines that `heddle doctor --hardening` checks."""

from pathlib import Path

from shim.app.hardening import LINES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators" / "security" / "hardening.md"


def test_the_page_has_the_lines_of_the_code():
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert rows == [f"| `{each.id}` | {each.what} | {each.why} | {each.mend} | {each.how} |" for each in LINES]
