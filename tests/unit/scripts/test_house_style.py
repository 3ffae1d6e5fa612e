"""What the house has too much of may only become less."""

import pytest

from scripts.house_style import RULES, compare, shrunk

FOUND = {
    "twice-named-class": (
        {"shim/a.py": "class Answer: ...\n", "adapters/b.py": "class Outer:\n    class Answer: ...\n"},
        {"shim/a.py": "class Answer: ...\nclass Answer: ...\n", "tests/b.py": "class Answer: ...\n"},
    ),
    "long-docs-line": (
        {"docs/a.md": "x" * 121},
        {"docs/a.md": "x" * 120 + "\n| " + "x" * 121 + "\n```\n" + "x" * 121 + "\n```\n", "shim/a.py": "#" * 121},
    ),
    "short-module": (
        {"shim/a.py": "x = 1\n" * 39, "shim/b.py": "from shim import a\n" * 40, "tests/c.py": "import shim.a\n"},
        {
            "shim/long.py": "x = 1\n" * 40,
            "shim/shared.py": "x = 1\n",
            "shim/dead.py": "x = 1\n",
            "shim/b.py": "from shim.long import x\nfrom shim import shared\n" + "y = 1\n" * 40,
            "altruism/c.py": "import shim.shared\n" + "y = 1\n" * 40,
        },
    ),
    "one-importer-module": (
        {"shim/a.py": "x = 1\n", "shim/b.py": "from shim import a\n", "tests/c.py": "import shim.a\n"},
        {"shim/a.py": "x = 1\n", "shim/b.py": "import shim.a\n", "shim/c.py": "from shim.a import x\n"},
    ),
    "long-module": (
        {"shim/a.py": "x = 1\n" * 701},
        {"shim/a.py": "x = 1\n" * 700, "tests/a.py": "x = 1\n" * 701},
    ),
    "long-function": (
        {"shim/a.py": "def a():\n" + "    x = 1\n" * 60},
        {"shim/a.py": 'def a():\n    """Do.\n\n    Well.\n    """\n' + "    x = 1\n" * 59},
    ),
    "request-form": (
        {"shim/a.py": "class Ask: ...\nclass Asked: ...\n"},
        {"heddle/a.py": "class Ask: ...\n", "tests/a.py": "class Ask: ...\n", "shim/a.py": "Ask = 1\n"},
    ),
    "ledger-module": ({"shim/multicluster/core/a.py": ""}, {"shim/multicluster/a.py": "", "shim/queues/core/a.py": ""}),
    "private-member-in-test": (
        {"tests/a.py": "view._apps\n"},
        {"tests/a.py": "self._apps\nsuper()._apps\nview.__dict__\nview.apps_\n", "shim/a.py": "view._apps\n"},
    ),
    "narrow-except": (
        {"shim/a.py": "try:\n    f()\nexcept (KeyError, msgspec.DecodeError): ...\n"},
        {"shim/a.py": "try:\n    f()\nexcept UNREADABLE: ...\nexcept msgspec.ValidationError: ...\nexcept: ...\n"},
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_what_it_is_for_and_nothing_else(rule):
    bad, good = FOUND[rule]
    assert len(list(RULES[rule](bad))) == 1
    assert list(RULES[rule](good)) == []


def test_more_than_allowed_is_told_and_less_is_not():
    assert compare({"a": ["x", "y"], "b": ["x"], "c": []}, {"a": 2, "b": 2}) == []
    (told,) = compare({"a": ["x", "y", "z"], "b": ["x"]}, {"a": 2, "b": 2})
    assert "a: 3 found, 2 allowed" in told
    assert len(compare({"new": ["x"]}, {})) == 1


def test_a_place_that_is_not_listed_is_told_though_another_went():
    assert compare({"a": ["x"]}, {"a": ["x", "y"]}) == []
    (told,) = compare({"a": ["x", "z"]}, {"a": ["x", "y"]})
    assert "a: z is new" in told


def test_a_baseline_only_shrinks():
    found = {"a": ["x", "y", "z"], "b": ["x"], "c": [], "d": ["x", "z"], "e": []}
    allowed = {"a": 2, "b": 2, "c": 1, "d": ["x", "y"], "e": ["x"]}
    assert shrunk(found, allowed) == {"a": 2, "b": 1, "d": ["x"]}
