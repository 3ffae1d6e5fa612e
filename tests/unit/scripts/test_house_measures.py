"""What one call enters, and how much there is to read, may only become less."""

import asyncio

import pytest

from scripts.house_measures import (
    COUNTED,
    GENERATED,
    Walk,
    Watched,
    allocate_walks,
    counts,
    kinds_of_lines,
    submission_walk,
)
from scripts.house_style import RULES

MOST_FILES_OF_AN_ALLOCATE = 45
MOST_FILES_OF_A_SUBMISSION = 36


def test_no_allocate_of_a_spanning_queue_enters_more_files_than_before():
    walks = allocate_walks()
    assert len(walks) > 10
    assert max(len(walk.files) for walk in walks) <= MOST_FILES_OF_AN_ALLOCATE
    assert all("shim/multicluster/core/ledger.py" in walk.files for walk in walks)


def test_no_submission_enters_more_files_than_before():
    walk = submission_walk()
    assert len(walk.files) <= MOST_FILES_OF_A_SUBMISSION
    assert {"shim/server/rest/service.py", "shim/submission/service.py"} <= walk.files
    assert walk.changes >= len(walk.files)


def test_what_other_tasks_do_meanwhile_is_no_part_of_a_walk():
    class Seen(Walk):
        def see(self, frame, event, _argument):  # noqa: ARG002 - as `Walk.see`
            self.files.add(frame.f_code.co_name)

    async def part():
        await asyncio.sleep(0)

    async def own():
        await part()
        return 7

    async def other():
        pass

    async def both():
        walk = Seen()
        task = asyncio.create_task(other())
        assert await Watched(own(), walk) == 7
        await task
        return walk.files

    names = asyncio.run(both())
    assert {"own", "part"} <= names
    assert "other" not in names


def test_an_error_and_a_cancellation_go_through():
    async def fails():
        await asyncio.sleep(0)
        raise ValueError

    async def is_cancelled():
        async with asyncio.timeout(0):
            await Watched(asyncio.sleep(60), Walk())

    async def raised():
        await Watched(fails(), Walk())

    with pytest.raises(ValueError):  # noqa: PT011 - the one above
        asyncio.run(raised())
    with pytest.raises(TimeoutError):
        asyncio.run(is_cancelled())


def test_each_counted_rule_is_one_of_the_house_style():
    assert set(COUNTED.values()) <= set(RULES)
    found = counts({"shim/a.py": "x = 1\ny = 2\n", "tests/a.py": "x = 1\n"})
    assert (found["modules"], found["lines of production"]) == (1, 2)


def test_lines_are_told_apart_by_kind():
    text = '"""One.\n\nTwo.\n"""\n\nimport os\n\nX = os.name  # why\n# because\n"""Of X."""\nY = """\n\n"""\n'
    assert kinds_of_lines([text]) == {
        "of these docstrings": 5,
        "of these comments": 1,
        "of these blank lines": 3,
        "of these imports": 1,
    }


def test_words_that_a_script_writes_are_not_counted():
    pages = {
        "docs/a.md": "# One two\n<!-- a-b: begin -->\n| 1 | 2 |\n<!-- a-b: end -->\n",
        "docs/b.md": f"# B\n\n{GENERATED}b.py -->\n\nmany words\n",
        "README.md": "x\n",
    }
    assert counts(pages)["words of docs, but for what scripts write"] == 3
