"""Which slices a change reaches: by what their tests import, how far away, and by paths that are no modules.

A distance is the least number of imports from a file of tests to a changed file: 0 is a file of tests itself. What
`conftest.py` of a folder imports, its tests import.
"""

import ast
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from scripts.slices import ROOT, Slice, files_of

STAMP = ".ci/submission"
"""Each submission raises the number in this file (`make submission`)."""
_ROOMS = ("heddle", "shim", "adapters", "fairness", "altruism", "scripts", "tests")
_MOST_COMMITS = 60
"""So many are looked at where history does not tell the last submission."""
_BESIDE = 1
"""Distance of a path that a slice names: as of a module that its tests import."""


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def last_submission(root: Path = ROOT) -> str:
    """Return the commit of the submission before this one; empty if the repository does not tell any commit.

    The newest change of the stamp is taken for this submission's: so the one before it is the last submission's. If
    the stamp was not raised, more is taken for changed than has changed.
    """
    stamped = _git(root, "log", "-2", "--format=%H", "--", STAMP).split()
    if len(stamped) > 1:
        return stamped[1]
    older = _git(root, "log", f"-{_MOST_COMMITS}", "--format=%H").split()
    return older[-1] if older else ""


def changed_since(commit: str, root: Path = ROOT) -> list[str]:
    """Return the files that differ from those of a commit, deleted ones too; all files if there is no commit."""
    if commit and (listed := _git(root, "diff", "--name-only", "--no-renames", commit, "--")):
        return listed.splitlines()
    return [] if commit else _git(root, "ls-files").splitlines()


def imports_of(root: Path = ROOT) -> dict[str, set[str]]:
    """Return the files of the project that each file of Python imports, both relative to the root."""
    files = {path.relative_to(root).as_posix(): path for room in _ROOMS for path in (root / room).rglob("*.py")}
    modules: dict[str, str] = {}
    for file in files:
        modules[file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = file
    found: dict[str, set[str]] = {}
    for file, path in files.items():
        found[file] = {modules[name] for name in _names(path) if name in modules}
        if file.startswith("tests/"):
            found[file] |= {each for each in _conftests(file) if each in files and each != file}
    return found


def _names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _conftests(file: str) -> Iterator[str]:
    return (f"{folder.as_posix()}/conftest.py" for folder in Path(file).parents if folder.as_posix() != ".")


def distances(
    slices: Sequence[Slice], changed: Iterable[str], imports: Mapping[str, set[str]], root: Path = ROOT
) -> dict[str, int]:
    """Return, by the name of each slice that a change reaches, how far away the nearest change is."""
    wanted = set(changed)
    found: dict[str, int] = {}
    for each in slices:
        far = dict.fromkeys(files_of(each, root), 0)
        waiting = deque(far)
        while waiting and each.name not in found:
            file = waiting.popleft()
            if file in wanted:
                found[each.name] = far[file]
            for imported in imports.get(file, ()):
                if imported not in far:
                    far[imported] = far[file] + 1
                    waiting.append(imported)
        if any(path.startswith(each.reached_by) for path in wanted if each.reached_by):
            found[each.name] = min(found.get(each.name, _BESIDE), _BESIDE)
    return found
