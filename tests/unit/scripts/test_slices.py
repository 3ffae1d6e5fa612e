"""Each file of tests is run by one part of `make test` or by one slice, and slices are small enough to take turns."""

import re
from collections import Counter

import pytest

from scripts.slices import (
    ALWAYS,
    OF_EACH_TEST,
    RELEASES,
    ROOT,
    SLICES,
    files_of,
    main,
    slice_named,
    slices_of_rounds,
)
from scripts.submission import LIMIT_S

EVERY = (*OF_EACH_TEST, *SLICES)
CUT_THROUGH = {"promises", RELEASES}
"""By a marker, through files of others."""
MOST_OF_A_SLICE_S = 20 * 60
MOST_OF_TEST_S = 12 * 60
STATIC_S = 90


def test_each_file_of_tests_is_in_exactly_one_part_or_slice():
    found = Counter(file for each in EVERY if each.name not in CUT_THROUGH for file in files_of(each))
    releases_alone = set(slice_named(RELEASES).paths)
    every = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")} - releases_alone
    assert {file: count for file, count in found.items() if count != 1} == {}
    assert every - set(found) == set()
    assert set(found) - every == set()


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_what_the_table_names_is_there(each):
    assert [path for path in (*each.paths, *each.reached_by) if not (ROOT / path).exists()] == []
    assert files_of(each)


def test_a_file_of_no_slice_is_told_with_what_to_do(tmp_path):
    (tmp_path / "tests" / "elsewhere").mkdir(parents=True)
    (tmp_path / "tests" / "elsewhere" / "test_x.py").touch()
    with pytest.raises(ValueError, match=r"tests/elsewhere/test_x\.py is in no slice: .*scripts/slices\.py"):
        files_of(slice_named("unit"), tmp_path)


def test_the_longest_beginning_of_a_path_decides():
    assert "tests/integration/store/test_schema.py" in files_of(slice_named("store"))
    assert "tests/integration/store/test_schema.py" not in files_of(slice_named("integration"))
    assert "tests/packaging/test_house.py" in files_of(slice_named("unit"))


def test_files_run_in_the_order_of_the_table():
    files = files_of(slice_named("unit"))
    assert files.index("tests/property/test_fairness.py") < files.index("tests/unit/scripts/test_slices.py")


NEED = {
    "postgresql": r"[(,]\s*postgres_url\b|\bLocalPostgreSQL\b|support\.databases import .*\ban_empty_",
    "kerberos": r"support\.kdc import|def \w+\(.*\bkdc\b[,:)]",
    "ldap": r"support\.directory",
    "oidc": r"\boidc_provider\b|support\.oidc_provider",
    "console": r"import .*\bchromium\b|\bchromium\(|needed\(.node.\)",
    "shipped": r"which\(.(helm|mandoc|promtool|systemd-analyze|zsh|fish).\)",
    "containers": r"mark\.containers",
}
"""What of scripts/setup.sh a file of tests needs, by what it says."""


@pytest.mark.parametrize("each", [each for each in EVERY if each.name not in CUT_THROUGH], ids=lambda each: each.name)
def test_what_a_file_needs_is_installed_for_its_slice(each):
    """In CI a daemon that is missing is an error: `make test` has none of them."""
    found = {
        file: lacking
        for file in files_of(each)
        if file != "tests/unit/scripts/test_slices.py"
        if (
            lacking := {
                need for need, says in NEED.items() if re.search(says, (ROOT / file).read_text("utf-8"))
            }.difference(each.needs)
        )
    }
    assert found == {}, "name the file in the row of a slice that has this need"


def test_setup_knows_every_need():
    words = (ROOT / "scripts" / "setup.sh").read_text("utf-8")
    for need in {need for each in SLICES for need in each.needs}:
        assert re.search(rf"^{need} ", words, re.MULTILINE), need


@pytest.mark.parametrize("each", SLICES, ids=lambda each: each.name)
def test_a_slice_takes_at_most_twenty_minutes(each):
    assert each.usual_s <= MOST_OF_A_SLICE_S


def test_all_of_make_test_takes_at_most_twelve_minutes():
    assert STATIC_S + sum(each.usual_s for each in OF_EACH_TEST) <= MOST_OF_TEST_S


def test_within_ten_submissions_each_slice_has_its_turn_and_fits_beside_what_always_runs():
    rounds = slices_of_rounds()
    always_s = STATIC_S + sum(each.usual_s for each in (*OF_EACH_TEST, slice_named(ALWAYS)))
    assert len(rounds) == 10
    assert Counter(each.name for one in rounds for each in one) == Counter(
        each.name for each in SLICES if each.name not in (ALWAYS, RELEASES)
    )
    assert max(sum(each.usual_s for each in one) for one in rounds) * 1.15 + always_s < LIMIT_S


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(KeyError, match=r"no slice is named nowhere: choose one of unit, .*faults"):
        slice_named("nowhere")


def test_a_command_leaves_out_what_other_parts_run_and_keeps_failures(tmp_path):
    command = slice_named("store").pytest(tmp_path / "store.failures", "quick")
    assert command[command.index("-m", 3) + 1] == "not main_promise and not versions"
    assert command[command.index("--failure-log") + 1] == str(tmp_path / "store.failures")
    assert "tests/integration/store/test_schema.py" in command


def test_the_table_and_files_are_printed(capsys):
    assert main(["files", "store"]) == 0
    assert capsys.readouterr().out.splitlines() == files_of(slice_named("store"))
    assert main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(EVERY)
