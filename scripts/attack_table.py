"""Runs the tests of each class of attacks in docs/operators/security/attacks.md, and prints how many of them held.

    python -m scripts.attack_table             run them, and write their numbers into the page
    python -m scripts.attack_table --check     run them, and fail where the page says other numbers
    python -m scripts.attack_table --count     run nothing: write how many there are

What a machine lacks (a KDC, slapd, a PostgreSQL server, Node) is skipped by its tests, and counted so.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators" / "security" / "attacks.md"
HEADER = "| class | "


def classes_of(page: str) -> dict[str, tuple[int, list[str]]]:
    """The number of tests that the page says, and the files, by class."""
    lines = page.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(HEADER)) + 2
    found = {}
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        name, count, files = (cell.strip() for cell in line.strip("|").split(" | "))
        found[name] = int(count.replace(",", "")), re.findall(r"`(tests/[^`]+)`", files)
    return found


def counted(report: str, classes: Mapping[str, tuple[int, Sequence[str]]]) -> dict[str, Counter[str]]:
    """Outcomes of tests by class, from a report in JUnit's form."""
    found: dict[str, Counter[str]] = {name: Counter() for name in classes}
    places = {
        file.removesuffix(".py").replace("/", "."): name for name, (_, files) in classes.items() for file in files
    }
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - pytest has just written it
        told = case.get("classname", "")
        place = next((name for module, name in places.items() if f"{told}.".startswith(f"{module}.")), None)
        if place is not None:
            bad = {"failure", "error"} & {child.tag for child in case}
            kind = "fell" if bad else "skipped" if case.find("skipped") is not None else "held"
            found[place][kind] += 1
    return found


def listed(told: str, classes: Mapping[str, tuple[int, Sequence[str]]]) -> dict[str, Counter[str]]:
    """Numbers of tests by class, from what pytest lists."""
    files = Counter(line.partition("::")[0] for line in told.splitlines() if "::" in line)
    return {name: Counter(listed=sum(files[file] for file in row[1])) for name, row in classes.items()}


def written(page: str, found: Mapping[str, Counter[str]]) -> str:
    """The page with the numbers that were counted."""
    for name, outcomes in found.items():
        page = re.sub(rf"(?m)^\| {re.escape(name)} \| [\d,]+ \| ", f"| {name} | {outcomes.total():,} | ", page)
    return re.sub(r"(?m)^\| all \| [\d,]+ \| ", f"| all | {sum(each.total() for each in found.values()):,} | ", page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests, print the table, and write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--processes", default="2")
    chosen = parser.parse_args(arguments)
    page = PAGE.read_text("utf-8")
    classes = {name: row for name, row in classes_of(page).items() if row[1]}
    files = [file for row in classes.values() for file in row[1]]
    pytest = (sys.executable, "-m", "pytest", "-q")
    if chosen.count:
        told = subprocess.run(
            (*pytest, "-n", "0", "--collect-only", *files), cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        found = listed(told.stdout.decode(), classes)
    else:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            options = ("-n", chosen.processes, f"--junitxml={report}")
            subprocess.run((*pytest, *options, "--dist", "loadfile", *files), cwd=ROOT, check=False)
            found = counted(report.read_text("utf-8"), classes)
    for name, outcomes in found.items():
        print(f"{outcomes.total():>6}  {name}: " + ", ".join(f"{count} {kind}" for kind, count in outcomes.items()))
    if not chosen.check:
        PAGE.write_text(written(page, found), "utf-8")
    wrong = [name for name, outcomes in found.items() if outcomes.total() != classes[name][0]]
    return 1 if any(each["fell"] for each in found.values()) or (chosen.check and wrong) else 0


if __name__ == "__main__":
    raise SystemExit(main())
