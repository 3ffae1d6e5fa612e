"""What the house has too much of may only become less."""

import pytest

from scripts.house_style import RULES, compare, shrunk

FOUND = {
    "twice-named-class": (
        {"shim/a.py": "class Answer: ...\n", "adapters/b.py": "class Outer:\n    class Answer: ...\n"},
        {"shim/a.py": "class Answer: ...\nclass Answer: ...\n", "tests/b.py": "class Answer: ...\n"},
    ),
    "docstring-begins-with-pronoun": (
        {"shim/a.py": 'def f():\n    """What\'s more, it works."""\n'},
        {"shim/a.py": 'def f():\n    """Whatsoever it is."""\n', "tests/b.py": '"""What it is."""\n'},
    ),
    "docstring-begins-with-relative": (
        {"fairness/a.py": '"""Whether it holds."""\n'},
        {"fairness/a.py": '"""Tell whether it holds."""\n'},
    ),
    "long-docs-line": (
        {"docs/a.md": "x" * 121},
        {"docs/a.md": "x" * 120 + "\n| " + "x" * 121 + "\n```\n" + "x" * 121 + "\n```\n", "shim/a.py": "#" * 121},
    ),
    "long-module": ({"altruism/a.py": "x = 1\n" * 351}, {"altruism/a.py": "x = 1\n" * 350}),
    "private-member-in-test": (
        {"tests/a.py": "view._apps\n"},
        {"tests/a.py": "self._apps\nsuper()._apps\nview.__dict__\nview.apps_\n", "shim/a.py": "view._apps\n"},
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_what_it_is_for_and_nothing_else(rule):
    bad, good = FOUND[rule]
    assert len(list(RULES[rule](bad))) == 1
    assert list(RULES[rule](good)) == []


def test_more_than_allowed_is_told_and_less_is_not():
    assert compare({"a": 2, "b": 1, "c": 0}, {"a": 2, "b": 2}) == []
    (told,) = compare({"a": 3, "b": 1}, {"a": 2, "b": 2})
    assert "a: 3 found, 2 allowed" in told
    assert len(compare({"new": 1}, {})) == 1


def test_a_baseline_only_shrinks():
    assert shrunk({"a": 3, "b": 1, "c": 0}, {"a": 2, "b": 2, "c": 1}) == {"a": 2, "b": 1}
