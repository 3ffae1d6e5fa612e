"""Sizes of the code base that a newcomer feels, in one table.

`python -m scripts.house_measures` prints what `contributing.md` keeps: how many files a call of each kind enters,
and the counts of `scripts.house_style` that only shrink.
"""

import ast
import asyncio
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

import structlog

from scripts.house_style import PACKAGES, ROOT, RULES, Sources, tracked
from shim.domain.resources import ResourceVector
from shim.multicluster.service import MultiClusterCalls
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.server.rest.messages import Request
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import YarnSetting, play
from tests.support.scripted_server import BASE, ScriptedServer, body_of, context

T = TypeVar("T")

COUNTED = {
    "forms of a request": "request-form",
    "modules in multicluster/core": "ledger-module",
    "modules with one importer": "one-importer-module",
    "of these below 40 lines": "short-module",
    "modules above 700 lines": "long-module",
    "functions above 60 lines": "long-function",
}
"""Rules of the house style that are printed, by their names in the table."""

GENERATED = "<!-- written by "
"""What a page that is made from code has in its text; nobody shortens such a page by hand."""
MEASURED = re.compile(r"<!-- ([\w-]+): begin -->.*?<!-- \1: end -->", re.DOTALL)
"""Tables that a script writes into a page."""


@dataclass(slots=True)
class Walk:
    """Files that one call enters, in the order in which its functions begin.

    Attributes:
        files: Each once.
        changes: How often a function of another file begins than before.
    """

    files: set[str] = field(default_factory=set)
    changes: int = 0
    _last: str = ""

    def see(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a function that begins; the signature is that of `sys.setprofile`."""
        if event != "call":
            return
        path = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        if path.startswith(PACKAGES) and path != self._last:
            self.files.add(path)
            self.changes += 1
            self._last = path


class Watched(Awaitable[T]):
    """A coroutine of which each step is seen, and nothing that other tasks do meanwhile."""

    def __init__(self, inner: Coroutine[Any, Any, T], walk: Walk) -> None:
        self._inner = inner
        self._walk = walk

    def __await__(self) -> Generator[Any, Any, T]:
        """Run it step by step."""
        step: Callable[[], Any] = lambda: self._inner.send(None)  # noqa: E731 - the next step, again and again
        while True:
            before = sys.getprofile()
            sys.setprofile(self._walk.see)
            try:
                given = step()
            except StopIteration as over:
                result: T = over.value
                return result
            finally:
                sys.setprofile(before)
            try:
                sent = yield given
                step = lambda sent=sent: self._inner.send(sent)  # type: ignore[misc]  # noqa: E731
            except BaseException as exc:  # noqa: BLE001 - whatever is thrown in belongs to the inner one
                step = lambda exc=exc: self._inner.throw(exc)  # type: ignore[misc]  # noqa: E731


def allocate_walks() -> list[Walk]:
    """Walks of every allocate of two jobs whose queue spans two modelled clusters, in virtual time."""
    walks: list[Walk] = []
    plain = MultiClusterCalls.allocate

    async def watched(calls: MultiClusterCalls, payload_untrusted: bytes) -> RPCAnswer:
        walks.append(walk := Walk())
        return await Watched(plain(calls, payload_untrusted), walk)

    clusters = tuple(
        ModelledClusterSpec.even(
            name, nodes=2, size=ResourceVector(4096, 4), epoch=epoch, queues={"root.default": QueueSpec(am_share=0.5)}
        )
        for name, epoch in (("east", 1000), ("west", 2000))
    )
    setting = YarnSetting(clusters=clusters, config='[[queue]]\nname = "root.default"\nspan = true\n')
    stages = (ModelledStage((5.0,) * 12), ModelledStage((2.0,) * 2, needs=(0,)))
    MultiClusterCalls.allocate = watched  # type: ignore[assignment,method-assign]  # to measure what runs, not a double of it
    try:
        play(setting, [ModelledJob(f"job-{number}", 3.0 * number, stages) for number in range(2)])
    finally:
        MultiClusterCalls.allocate = plain  # type: ignore[method-assign]
    return walks


def submission_walk() -> Walk:
    """Walk of one `POST /apps` through the REST server over scripted clusters."""
    walk = Walk()

    async def submit() -> None:
        server = ScriptedServer()
        await server.poll()
        made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=alice"))["application-id"]
        headers = (("host", "front:8088"), ("content-type", "application/json"))
        request = Request("POST", f"{BASE}/apps", "user.name=alice", headers, context(made), "127.0.0.1")

        async def answered() -> None:
            answer = await Watched(server.server.answer(request), walk)
            assert answer.status == 202, answer.body  # noqa: S101, PLR2004 - nothing else is a submission

        await server.federation.wait_for(answered())

    asyncio.run(submit())
    return walk


def counts(sources: Sources) -> Mapping[str, int]:
    """Counts of the house style, by their names in the table, and the lines of production."""
    found = {name: sum(1 for _ in RULES[rule](sources)) for name, rule in COUNTED.items()}
    packages = [text for path, text in sources.items() if path.startswith(PACKAGES) and path.endswith(".py")]
    lines = {"modules": len(packages), "lines of production": sum(len(text.splitlines()) for text in packages)}
    pages = [text for path, text in sources.items() if path.startswith("docs/") and path.endswith(".md")]
    written = sum(len(MEASURED.sub("", text).split()) for text in pages if GENERATED not in text)
    return {**found, **lines, **kinds_of_lines(packages), "words of docs, but for what scripts write": written}


def kinds_of_lines(modules: Sequence[str]) -> Mapping[str, int]:
    """Lines of docstrings, of comments, blank ones and imports; what is left is code."""
    found = dict.fromkeys(("docstrings", "comments", "blank lines", "imports"), 0)
    for text in modules:
        tree = ast.parse(text)
        strings = {
            number
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        others = [line.strip() for number, line in enumerate(text.splitlines(), start=1) if number not in strings]
        found["docstrings"] += len(strings)
        found["comments"] += sum(line.startswith("#") for line in others)
        found["blank lines"] += others.count("")
        found["imports"] += sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
    return {f"of these {name}": count for name, count in found.items()}


def main() -> int:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    allocates = allocate_walks()
    submission = submission_walk()
    rows = {
        "files of the widest spanning allocate": max(len(walk.files) for walk in allocates),
        "changes of file in the longest": max(walk.changes for walk in allocates),
        "files of a REST submission": len(submission.files),
        "its changes of file": submission.changes,
        **counts(tracked()),
    }
    print("| measure | value |\n|---|---|", *(f"| {name} | {value:,} |" for name, value in rows.items()), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
