"""Planted bugs are small, valid, and where a test can see them."""

import ast

import pytest

from scripts.mutants import mutants


def after(text):
    """What each mutant puts where."""
    return [mutant.after for mutant in mutants("shim/a.py", text)]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("x = a < b\n", ["(a <= b)", "(a >= b)"]),
        ("x = a >= b\n", ["(a > b)", "(a < b)"]),
        ("x = a in b\n", ["(a not in b)"]),
        ("x = a and b and c\n", ["(a or b or c)"]),
        ("x = not a\n", ["bool(a)"]),
        ("x = a + b\n", ["(a - b)"]),
        ("x = 7\n", ["8"]),
        ("x = False\n", ["True"]),
        ("x = f(a, b)\n", ["f(b, a)"]),
        ("f(a)\n", ["pass"]),
        ("x.y = a\n", ["pass"]),
        ("x[y] -= a\n", ["pass"]),
        ("del x[y]\n", ["pass"]),
        ("def f():\n    if x:\n        return a\n    return b\n", ["pass"]),
        ("def f(a=1, *, b=2):\n    return a\n", ["2", "3"]),
    ],
)
def test_each_kind_changes_what_it_is_for(text, changes):
    assert after(text) == changes


@pytest.mark.parametrize(
    "text",
    [
        '"""Words 1 < 2."""\n',
        "import a\n",
        "def f(a: Literal[1]) -> Literal[2]:\n    return a\n",
        "x: Literal[1] = a\n",
        "@f(a, b)\ndef g():\n    return a\n",
        "_log.info('done', seconds=1)\n",
        "self._log.info('done', seconds=1)\n",
        "raise E(a, 1)\n",
        "class A:\n    def __init__(self, a):\n        self.a = a\n",
        "x = max(a, b)\n",
        "x = f'{a < b}'\n",
        "x = 'words' + a\n",
        "x = [a] + b\n",
        "def f(a):\n    del a\n",
        "x = zip(a, strict=True)\n",
        "assert a < b\n",
    ],
)
def test_words_and_what_cannot_be_wrong_are_left_alone(text):
    assert after(text) == []


def test_each_mutant_is_valid_differs_and_says_where():
    text = "# ä\ndef f(a, b):\n    if a < 0 or not b:\n        return g(a, b)\n    return a + 1\n"
    found = list(mutants("shim/a.py", text))
    assert len({mutant.planted for mutant in found}) == len(found) >= 8
    for mutant in found:
        ast.parse(mutant.planted)
        assert mutant.planted != text
        assert mutant.before in text.splitlines()[mutant.line - 1] or mutant.after == "pass"
    assert str(found[-1]) == "shim/a.py:5: 1 => 2"
