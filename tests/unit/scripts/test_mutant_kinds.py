"""Planted bugs are small, valid, and where a test can see them."""

import ast
import textwrap

import pytest

from scripts.mutant_kinds import KINDS, mutants


def planted(body, head="def f():"):
    """The kind of each mutant of a function, and what it puts where."""
    text = f"{head}\n{textwrap.indent(body, '    ')}"
    return [(mutant.kind, mutant.after) for mutant in mutants("shim/a.py", text)]


@pytest.mark.parametrize(
    ("body", "kind", "changes"),
    [
        ("x = a < b\n", "off by one", ["(a <= b)"]),
        ("x = a >= b\n", "off by one", ["(a > b)"]),
        ("x = 7\n", "off by one", ["8"]),
        ("x = a in b\n", "dropped condition", ["(a not in b)"]),
        ("x = a and b and c\n", "dropped condition", ["(b and c)", "(a and c)", "(a and b)"]),
        ("x = a or b\n", "dropped condition", ["(b)", "(a)"]),
        ("x = not a\n", "dropped condition", ["bool(a)"]),
        ("x = False\n", "dropped condition", ["True"]),
        ("if x:\n    return a\nreturn b\n", "dropped condition", ["pass"]),
        ("f(a)\n", "missing statement", ["pass"]),
        ("await a\n", "missing statement", ["pass"]),
        ("x.y = a\n", "missing statement", ["pass"]),
        ("x.y = z.y = a\n", "missing statement", ["pass"]),
        ("x[y] -= a\n", "missing statement", ["pass"]),
        ("x.version += 1\n", "missing statement", ["pass"]),
        ("x.versions[y] += 1\n", "missing statement", ["pass"]),
        ("del x[y]\n", "missing statement", ["pass"]),
        ("x = min(a, b)\n", "wrong variable", ["max(a, b)"]),
        ("x = f(a, b)\n", "swapped order", ["f(b, a)"]),
        ("x = a if b else c\n", "swapped order", ["((c if b else a))"]),
        ("x = a + b\n", "swapped sign", ["(a - b)"]),
        ("x = -a\n", "swapped sign", ["(a)"]),
        ("x = a * 1e3\n", "wrong unit", ["(a)"]),
        ("x = a / 1e3\n", "wrong unit", ["(a)"]),
        ("x = 6e1 * a\n", "wrong unit", ["(a)"]),
        ("x = a / b\n", "wrong unit", ["(a * b)"]),
    ],
)
def test_each_kind_changes_what_it_is_for(body, kind, changes):
    assert planted(body) == [(kind, change) for change in changes]


def test_a_parameter_is_taken_for_the_next_of_its_type():
    head = "def f(a: Id, n: int, b: Id, *, m: str):"
    assert planted("return g[a, n, b, m]\n", head) == [("wrong variable", "b"), ("wrong variable", "a")]


@pytest.mark.parametrize(
    ("body", "turned"),
    [
        ("await a\nawait b\n", "await b\n    await a"),
        ("self.x += a\ny = self.x\n", "y = self.x\n    self.x += a"),
        ("y = self.x\nself.x = a\n", "self.x = a\n    y = self.x"),
    ],
)
def test_neighbours_are_turned_whose_order_matters(body, turned):
    assert ("swapped order", turned) in planted(body)


@pytest.mark.parametrize("body", ["x = a\ny = x\n", "self.x = a\nself.y = b\n", "a()\nb()\n"])
def test_other_neighbours_stay_as_they_are(body):
    assert "swapped order" not in [kind for kind, _ in planted(body)]


@pytest.mark.parametrize(
    "text",
    [
        '"""Words 1 < 2."""\n',
        "import a\n",
        "LIMIT = 7\n",
        "class A:\n    limit: int = 7\n",
        "def f(a: Literal[1] = 1, *, b=2) -> Literal[2]:\n    return a\n",
        "def f():\n    x: Literal[1] = a\n",
        "@f(a, b)\ndef g():\n    return a\n",
        "def f():\n    _log.info('done', seconds=1)\n",
        "def f():\n    _LOG.info('done', seconds=1)\n",
        "def f():\n    self._log.info('done', seconds=1)\n",
        "def f():\n    raise E(a, 1)\n",
        "def f():\n    self._reached(POINT, a)\n",
        "class A:\n    def __init__(self, a):\n        self.a = a\n",
        "def f():\n    x = f'{a < b}'\n",
        "def f():\n    x = 'words' + a\n",
        "def f():\n    x = [a] + b\n",
        "def f(a):\n    del a\n",
        "def f():\n    x = zip(a, strict=True)\n",
        "def f():\n    assert a < b\n",
    ],
)
def test_words_and_what_cannot_be_wrong_are_left_alone(text):
    assert list(mutants("shim/a.py", text)) == []


def test_each_mutant_is_valid_differs_and_says_where():
    text = textwrap.dedent(
        """\
        # ä
        class A:
            def f(self, a: int, b: int) -> int:
                if a < 0 or not b:
                    return max(a, -b)
                self.x += a * 1000
                self.y = self.x
                return a if b else a + 1
        """
    )
    found = list(mutants("shim/a.py", text))
    assert len({mutant.planted for mutant in found}) == len(found)
    assert {mutant.kind for mutant in found} == set(KINDS)
    for mutant in found:
        ast.parse(mutant.planted)
        assert mutant.planted != text
        assert text.splitlines()[mutant.line - 1].count(mutant.before.splitlines()[0]) >= 1
    assert str(found[-1]) == "shim/a.py:8 A.f (off by one): 1 => 2"
