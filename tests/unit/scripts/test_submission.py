"""A submission runs what always runs, then slices while time lasts: those whose turn it is, then the nearest ones."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.change_reach import changed_since, distances, imports_of, last_submission
from scripts.run_parts import OF_TEST, STATIC, Parts, names_of
from scripts.run_summary import Part
from scripts.slices import ALWAYS, RELEASES, SLICES, Slice, slice_named, slices_of_rounds
from scripts.submission import in_order, pace_of, run

ALL = len((*OF_TEST, ALWAYS))


class ScriptedParts(Parts):
    """Parts that take their usual seconds, times a factor, of a clock of their own; no command is run."""

    def __init__(self, *, factor: float = 1.0, red: str = "", limit_s: float = 2400.0) -> None:
        self.done: list[Part] = []
        self.left_s = limit_s
        self._factor = factor
        self._red = red
        self.tried_again: list[str] = []

    def run(self, name: str) -> Part:
        took_s = self._factor * (60.0 if name == STATIC else slice_named(name).usual_s)
        self.left_s -= took_s
        ended = Part(
            name=name,
            took_s=took_s,
            exited_badly=name == self._red,
            lines=(),
            summary="1 passed",
            runs_tests=name != STATIC,
            failures=(),
        )
        self.done.append(ended)
        return ended

    def again(self, part: Part) -> Part:
        self.tried_again.append(part.name)
        return part


before = slice_named


def usual(monkeypatch: pytest.MonkeyPatch, order: list[Slice]) -> list[Slice]:
    """Slices that have other usual seconds in this test."""
    known = {each.name: each for each in order}
    for module in (__name__, "scripts.submission"):
        monkeypatch.setattr(f"{module}.slice_named", lambda name: known.get(name) or before(name))
    return order


def chosen(parts: ScriptedParts, order: list[Slice]) -> tuple[list[str], str]:
    (told,) = run(parts, order, left_s=lambda: parts.left_s, set_up=lambda _: None)
    return [part.name for part in parts.done[ALL:]], told


def slices_of(*seconds: int) -> list[Slice]:
    return [replace(each, usual_s=s) for each, s in zip(SLICES[1:], seconds, strict=False)]


def test_what_always_runs_comes_first_and_slices_follow_in_order(monkeypatch):
    order = usual(monkeypatch, slices_of(100, 200))
    parts = ScriptedParts()
    names, told = chosen(parts, order)
    assert [part.name for part in parts.done[:ALL]] == [*OF_TEST, ALWAYS]
    assert names == [each.name for each in order]
    assert told == "left: nothing that this change reaches"


def test_a_slice_that_does_not_fit_is_left_and_said_and_a_smaller_one_still_runs(monkeypatch):
    order = usual(monkeypatch, slices_of(1200, 1100, 60))
    always_s = 60.0 + sum(slice_named(name).usual_s for name in (*OF_TEST[1:], ALWAYS))
    names, told = chosen(ScriptedParts(limit_s=always_s + 1500.0), order)
    assert names == [order[0].name, order[2].name]
    assert f"{order[1].name} (needs " in told


def test_a_slow_machine_is_given_less(monkeypatch):
    order = usual(monkeypatch, slices_of(300))
    assert chosen(ScriptedParts(factor=1.0), order)[0] == [order[0].name]
    assert chosen(ScriptedParts(factor=3.5), order)[0] == []


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5, 2.0])
def test_the_limit_holds_at_whatever_pace(monkeypatch, factor):
    order = usual(monkeypatch, slices_of(*[200] * 9))
    parts = ScriptedParts(factor=factor)
    chosen(parts, order)
    assert parts.left_s >= 0


def test_a_red_run_chooses_nothing_more(monkeypatch):
    order = usual(monkeypatch, slices_of(60))
    names, told = chosen(ScriptedParts(red="unit"), order)
    assert names == []
    assert told == f"left: {order[0].name} (something is red)"


def test_code_alone_and_the_kills_have_to_pass_at_once(monkeypatch):
    parts = ScriptedParts()
    chosen(parts, usual(monkeypatch, slices_of(60)))
    assert parts.tried_again == ["integration", "promises", SLICES[1].name]


def test_a_fast_machine_counts_as_the_usual_one():
    assert pace_of({"unit": slice_named("unit").usual_s / 4}) == 1.0
    assert pace_of({"unit": slice_named("unit").usual_s * 3.0}) == 3.0
    assert pace_of({}) == 1.0


def test_turns_come_first_then_the_nearest_and_of_those_the_cheapest():
    turn = slices_of_rounds()[3]
    near = [each for each in SLICES if each not in turn and each.name not in (ALWAYS, RELEASES)]
    order = in_order(13, {each.name: 1 for each in near} | {near[-1].name: 0, RELEASES: 0, ALWAYS: 0})
    assert order[: len(turn)] == turn
    assert order[len(turn)] == near[-1]
    rest = [each.usual_s for each in order[len(turn) + 1 :]]
    assert rest == sorted(rest)
    assert not {RELEASES, ALWAYS} & {each.name for each in order}


def test_what_is_not_reached_and_has_no_turn_is_not_chosen():
    assert in_order(0, {}) == slices_of_rounds()[0]


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(("git", *identity, *words), cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(root: Path, **files: str) -> str:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_changes_are_those_since_the_stamp_before_the_newest_one(repository):
    committed(repository, a="1")
    base = committed(repository, **{".ci__submission": "1"})
    committed(repository, b="1")
    committed(repository, **{".ci__submission": "2"})
    committed(repository, c="1")
    assert last_submission(repository) == base
    assert changed_since(base, repository) == [".ci/submission", "b", "c"]


def test_without_two_stamps_the_last_commits_count(repository):
    first = committed(repository, a="1")
    committed(repository, **{".ci__submission": "1"})
    assert last_submission(repository) == first


def test_without_a_repository_everything_has_changed(tmp_path):
    assert last_submission(tmp_path) == ""
    assert changed_since("", tmp_path) == []


def test_files_that_are_gone_or_named_anew_have_changed(repository):
    base = committed(repository, old="some words that stay as they are\n" * 9)
    git(repository, "mv", "old", "new")
    committed(repository)
    assert changed_since(base, repository) == ["new", "old"]


def test_imports_are_followed_through_packages_and_conftests(tmp_path):
    for name, text in {
        "shim/__init__.py": "",
        "shim/a.py": "from shim.b import thing",
        "shim/b.py": "import shim.c",
        "shim/c.py": "thing = 1",
        "shim/alone.py": "",
        "tests/conftest.py": "from shim import b",
        "tests/faults/test_x.py": "def test(): from shim.a import thing",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    imports = imports_of(tmp_path)
    assert imports["tests/faults/test_x.py"] == {"shim/a.py", "tests/conftest.py"}
    assert imports["tests/conftest.py"] == {"shim/__init__.py", "shim/b.py"}
    faults = [slice_named("faults")]
    assert distances(faults, ["tests/faults/test_x.py"], imports, tmp_path) == {"faults": 0}
    assert distances(faults, ["shim/c.py"], imports, tmp_path) == {"faults": 3}
    assert distances(faults, ["shim/alone.py", "README.md"], imports, tmp_path) == {}


def test_paths_that_are_no_modules_reach_the_slices_that_name_them(tmp_path):
    (tmp_path / "tests").mkdir()
    found = distances(SLICES, ["shim/server/web/static/console.js"], {}, tmp_path)
    assert found == {"console": 1}


def test_names_of_parts():
    assert names_of(["test"]) == list(OF_TEST)
    assert names_of(["unit", "faults", "unit"]) == ["unit", "faults"]
    assert RELEASES not in names_of(["all"])
    assert {each.name for each in SLICES} - set(names_of(["all"])) == {RELEASES}
    with pytest.raises(KeyError, match="no slice is named nowhere"):
        names_of(["static", "nowhere"])
