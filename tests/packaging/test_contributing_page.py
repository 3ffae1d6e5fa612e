"""docs/developers/contributing.md and docs/developers/decisions name files, functions and pages that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "developers" / "decisions"
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))
PAGES = [ROOT / "docs" / "developers" / "contributing.md", DECISIONS / "README.md", *RECORDS]
TEXTS = {page: page.read_text("utf-8") for page in PAGES}

NAMED = re.compile(r"`((?:shim|adapters|fairness|altruism|tests|scripts|docs|docker|\.ci)/[\w./-]+)`")
BEHIND = re.compile(r"`([\w./]+\.py)`\s+`(\w+)`")
BEFORE = re.compile(r"`(\w+)`\s+(?:in|of)\s+`([\w./]+\.py)`")
TARGET = re.compile(r"\]\(([^)\s:]+)\)")
HEADINGS = ["Context", "Decision", "Consequences", "Alternatives"]
MOST_COLUMNS = 120


def pairs(pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    return sorted({found for text in TEXTS.values() for found in pattern.findall(text)})


def defines(file: str, name: str) -> bool:
    source = (ROOT / file).read_text("utf-8")
    return bool(re.search(rf"^\s*(?:(?:async )?def |class ){name}\b|^\s*{name}\b[^=\n(]*=", source, re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("path", sorted({path for text in TEXTS.values() for path in NAMED.findall(text)}))
def test_each_named_file_exists(path: str):
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("file", "name"), pairs(BEHIND))
def test_each_name_behind_a_file_is_defined_there(file: str, name: str):
    assert defines(file, name)


@pytest.mark.parametrize(("name", "file"), pairs(BEFORE))
def test_each_name_said_to_be_in_a_file_is_defined_there(name: str, file: str):
    assert defines(file, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_to_a_page_and_a_heading(page: Path):
    for target in TARGET.findall(TEXTS[page]):
        file, _, fragment = target.partition("#")
        linked = page.parent / file
        assert linked.is_file(), target
        assert not fragment or fragment in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short(page: Path):
    assert [line for line in TEXTS[page].splitlines() if len(line) > MOST_COLUMNS] == []


def test_there_are_twelve_recipes_in_order():
    headings = re.findall(r"^### (\d+)\. ", TEXTS[PAGES[0]], re.MULTILINE)
    assert headings == [str(number) for number in range(1, 13)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda page: page.name)
def test_a_record_has_its_four_parts(record: Path):
    assert re.findall(r"^## (.+)$", TEXTS[record], re.MULTILINE) == HEADINGS


def test_the_index_has_each_record_under_its_title():
    rows = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \|", TEXTS[DECISIONS / "README.md"], re.MULTILINE)
    titles = [(re.findall(r"^# (\d+)\. (.+)$", TEXTS[record], re.MULTILINE)[0], record.name) for record in RECORDS]
    assert rows == [(number, title, name) for (number, title), name in titles]
    assert [int(number) for number, _, _ in rows] == list(range(1, len(RECORDS) + 1))


def test_the_patterns_find_what_they_look_for():
    assert len(pairs(BEHIND)) > 50
    assert ("QUEUE_POLICIES", "shim/scheduling/queue_policies.py") in pairs(BEFORE)


MOST_FILES = 6
NEED_MORE = {"12"}
"""Recipes that say themselves that a case of theirs needs more files today; none may join them."""


def recipes() -> dict[str, str]:
    """The text of each recipe by its number."""
    page = (ROOT / "docs" / "developers" / "contributing.md").read_text("utf-8")
    parts = re.split(r"^### (\d+)\. ", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("number", recipes())
def test_no_recipe_has_more_steps_than_a_change_may_have_files(number: str):
    assert len(re.findall(r"^\d+\. ", recipes()[number], re.MULTILINE)) <= MOST_FILES


def test_what_needs_more_files_is_said_and_known():
    said = {number for number, text in recipes().items() if re.search(r"needed today|makes it\s+seven", text)}
    assert said == NEED_MORE
    assert len(recipes()) == 12
