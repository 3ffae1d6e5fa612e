"""Count what the code base has too much of, and fail where there is more than before.

`python -m scripts.house_style` checks each rule of `RULES` against `scripts/house_style.json`. `--list RULE` prints
what a rule finds. `--update` writes less; counts and lists never grow.
"""

import argparse
import ast
import gc
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "scripts" / "house_style.json"
PACKAGES = ("heddle/", "shim/", "adapters/", "fairness/", "altruism/")
MOST_COLUMNS = 120
FEWEST_LINES = 40
MOST_LINES = 700
MOST_FUNCTION_LINES = 60
REQUEST_FORMS = frozenset(
    ("Ask", "AskGroup", "Demand", "DemandLook", "AllocationGroup", "PendingRequest", "Waiting", "Turn", "PlannedGrant")
) | {"RequestPlan", "TentativeAllocation", "LaunchProposal"}

Sources = Mapping[str, str]
"""The text of each tracked file, by its path from the root."""


def twice_named_classes(sources: Sources) -> Iterator[str]:
    """Yield each public class name that more than one module of the packages defines.

    Forms of the API in `heddle/` bear the names of what they tell of, and are used by those of their module.
    """
    modules = defaultdict(set)
    for path, tree in _packages(sources):
        if path.startswith("heddle/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].add(path)
    for name, paths in sorted(modules.items()):
        if len(paths) > 1:
            yield f"{name}: {', '.join(sorted(paths))}"


def long_docs_lines(sources: Sources) -> Iterator[str]:
    """Yield lines of pages above 120 columns; tables and code blocks may be wider."""
    for path, text in sources.items():
        is_code = False
        for number, line in enumerate(text.splitlines() if path.endswith(".md") else (), start=1):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif len(line) > MOST_COLUMNS and not is_code and not line.lstrip().startswith("|"):
                yield f"{path}:{number}: {len(line)} columns"


def one_importer_modules(sources: Sources) -> Iterator[str]:
    """Yield modules that exactly one module of the packages imports: a reader of that one has to open both."""
    importers = defaultdict(set)
    for path, tree in _packages(sources):
        for node in ast.walk(tree):
            for name in _imported(node):
                importers[name].add(path)
    for path, _ in _packages(sources):
        if len(importers[path.removesuffix(".py").replace("/", ".")] - {path}) == 1:
            yield path


def short_modules(sources: Sources) -> Iterator[str]:
    """Yield modules under 40 lines that exactly one module of the packages imports: they belong into it."""
    for path in one_importer_modules(sources):
        if len(sources[path].splitlines()) < FEWEST_LINES:
            yield path


def long_modules(sources: Sources) -> Iterator[str]:
    """Yield modules above 700 lines."""
    for path, _ in _packages(sources):
        if (lines := len(sources[path].splitlines())) > MOST_LINES:
            yield f"{path}: {lines} lines"


def long_functions(sources: Sources) -> Iterator[str]:
    """Yield functions above 60 lines, docstrings not counted."""
    for path, tree in _packages(sources):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                told = node.body[0] if ast.get_docstring(node) is not None else None
                lines = (node.end_lineno or 0) - node.lineno + 1
                if told is not None:
                    lines -= (told.end_lineno or 0) - told.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    yield f"{path}:{node.lineno}: {node.name} has {lines} lines"


def request_forms(sources: Sources) -> Iterator[str]:
    """Yield the forms that one ask takes between the relay and the plan, by the names of their classes."""
    for path, tree in _packages(sources):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in REQUEST_FORMS and not path.startswith("heddle/"):
                yield f"{path}:{node.lineno}: {node.name}"


def ledger_modules(sources: Sources) -> Iterator[str]:
    """Yield the modules of the pure state of an attempt."""
    return (path for path, _ in _packages(sources) if path.startswith("shim/multicluster/core/"))


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement may import, by their full names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private_members_in_tests(sources: Sources) -> Iterator[str]:
    """Yield each access of a test to a private member of something that is neither itself nor a module."""
    for path, text in sources.items():
        if not (path.startswith("tests/") and path.endswith(".py")):
            continue
        for node in ast.walk(_parsed(text)):
            if not isinstance(node, ast.Attribute) or not re.match(r"_[a-z]", node.attr):
                continue
            if ast.unparse(node.value) not in {"self", "cls", "super()"}:
                yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def narrow_excepts(sources: Sources) -> Iterator[str]:
    """Yield each handler of what a JSON decoder raises over most documents, but not over all: `UNREADABLE` has all."""
    for path, tree in _packages(sources):
        for node in ast.walk(tree):
            caught = ast.unparse(node.type) if isinstance(node, ast.ExceptHandler) and node.type is not None else ""
            if re.search(r"msgspec\.(Decode|Msgspec)Error", caught) and not path.startswith("heddle/"):
                yield f"{path}:{node.lineno}: {caught}"  # type: ignore[attr-defined]


RULES: Mapping[str, Callable[[Sources], Iterator[str]]] = {
    "twice-named-class": twice_named_classes,
    "long-docs-line": long_docs_lines,
    "short-module": short_modules,
    "one-importer-module": one_importer_modules,
    "long-module": long_modules,
    "long-function": long_functions,
    "request-form": request_forms,
    "ledger-module": ledger_modules,
    "private-member-in-test": private_members_in_tests,
    "narrow-except": narrow_excepts,
}

Allowed = Mapping[str, int | list[str]]
"""What each rule may still find: a count, or the very places, so that none takes the place of one that went."""


def compare(found: Mapping[str, Sequence[str]], allowed: Allowed) -> list[str]:
    """Return what is wrong: each rule that finds more than is allowed, or a place that is not."""
    wrong = []
    for rule, places in found.items():
        most = allowed.get(rule, 0)
        if isinstance(most, list):
            wrong += [
                f"{rule}: {place} is new: put it into the module that needs it" for place in places if place not in most
            ]
        elif len(places) > most:
            listed = f"list them: python -m scripts.house_style --list {rule}"
            wrong.append(f"{rule}: {len(places)} found, {most} allowed; {listed}")
    return wrong


def shrunk(found: Mapping[str, Sequence[str]], allowed: Allowed) -> dict[str, int | list[str]]:
    """Return the next baseline: what is both found and allowed, and nothing for a rule that finds nothing."""
    least: dict[str, int | list[str]] = {}
    for rule, places in found.items():
        most = allowed.get(rule, 0)
        least[rule] = [place for place in most if place in places] if isinstance(most, list) else min(len(places), most)
    return {rule: what for rule, what in least.items() if what}


def tracked(root: Path = ROOT) -> Sources:
    """Read the tracked Python files and pages."""
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md"], cwd=root, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.splitlines() if (root / path).is_file() and not path.endswith("_pb2.py")]
    return {path: (root / path).read_text("utf-8") for path in paths}


def _packages(sources: Sources) -> Iterator[tuple[str, ast.Module]]:
    for path, text in sources.items():
        if path.startswith(PACKAGES) and path.endswith(".py"):
            yield path, _parsed(text)


@cache  # three rules read the packages
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, list or update."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=sorted(RULES), help="print what a rule finds")
    parser.add_argument("--update", action="store_true", help="write counts that have shrunk")
    chosen = parser.parse_args(arguments)
    gc.disable()  # half of the time would go into looking for cycles in trees, which have none
    sources = tracked()
    if chosen.list:
        print(*RULES[chosen.list](sources), sep="\n")
        return 0
    allowed = json.loads(BASELINE.read_text("utf-8"))
    found = {rule: list(find(sources)) for rule, find in RULES.items()}
    if chosen.update:
        BASELINE.write_text(json.dumps(shrunk(found, allowed), indent=2, sort_keys=True) + "\n", "utf-8")
    wrong = compare(found, allowed)
    print(
        *(wrong or [f"house style: {', '.join(f'{rule} {len(places)}' for rule, places in found.items())}"]), sep="\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
