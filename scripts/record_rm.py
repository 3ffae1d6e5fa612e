"""Record what real ResourceManagers answer, as an oracle for tests: `tests/recordings/VERSION/GROUP.jsonl.gz`.

    python -m scripts.record_rm                     every supported version
    python -m scripts.record_rm 3.4.2               one version
    python -m scripts.record_rm 3.4.2 fair fifo     some clusters of one version

Starts labs (`heddle lab`), makes real history on them, and sends each row of `tests/recordings/requests/GROUP.jsonl`
on a connection of its own. A row says what differs from `GET` with `Accept: */*`; a row with `await` waits until the
application of that number is in a state. Variables: `@HOST@` of the ResourceManager, `@TS@` its cluster timestamp,
`@NODE1@` a node's id, `@STARTED2@` and `@FINISHED2@` times of the second application.

Headers, their order and their case are kept as received. Masked are the machine's host name and the lab's folder.
"""

import gzip
import json
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.recording.scenarios import (
    FAIR_ALLOCATIONS,
    AwaitNode,
    KillNode,
    Scenario,
    Send,
    Settle,
    Step,
    StopNode,
    Submit,
    scenarios,
)
from scripts.recording.wire import Answer, compose, send, to_record
from shim.lab import SUPPORTED_VERSIONS, Cluster, HostKind, Lab, LabSpec
from shim.lab.distributed_shell import DistributedShell
from tests.doubles.recorded import RECORDINGS

APPS = "/ws/v1/cluster/apps"
_BOOT_S, _WAIT_S, _STILL_S = 900.0, 600.0, 15.0
_SEQUENCE = re.compile(r"application_@TS@_(\d{4})\b")
_ISSUED_BY_HAND = 9000
"""Sequence numbers from here on are those of requests that name an id that was never issued."""


class Recorder:
    """Goes through the steps of one cluster, and keeps the exchanges by group."""

    def __init__(self, lab: Lab, cluster: Cluster, folder: Path) -> None:
        self._lab, self._cluster, self._folder = lab, cluster, folder
        self._managers = [layout.web for layout in cluster.record.layout.resource_managers]
        self._timestamp = str(self._get("/ws/v1/cluster/info")["clusterInfo"]["id"])
        self._issued = 0
        self.records: dict[str, list[dict[str, Any]]] = {}

    def run(self, steps: tuple[Step, ...]) -> None:
        """Do all steps."""
        for step in steps:
            print(f"{self._cluster.id}: {str(step)[:80]}", flush=True)
            match step:
                case Send():
                    for row in _rows(step):
                        self._do(step.group, row)
                case Submit():
                    self._submit(step)
                case Settle():
                    self._settle()
                case StopNode() | KillNode():
                    self._end_node(step)
                case AwaitNode():
                    self._until(lambda step=step: self._nodes_in(step.state) >= step.count, str(step))  # type: ignore[misc]

    def _do(self, group: str, row: dict[str, Any]) -> None:
        if "await" in row:
            self._await(row["await"], row["state"], is_launched=row.get("launched", True))
            return
        named = [int(found) for found in _SEQUENCE.findall(json.dumps(row))]
        self._issue_through(max((n for n in named if n < _ISSUED_BY_HAND and row.get("method") == "POST"), default=0))
        address = self._managers[row.get("manager", 1) - 1]
        request = compose(row, self._values(address, row))
        answer = send(address, request)
        if request.target.startswith(f"{APPS}/new-application") and answer.status == 200:  # noqa: PLR2004 - OK
            self._issued += request.method == "POST"
        record = to_record(row["name"], self._cluster.id, request, self._masked(answer))
        self.records.setdefault(group, []).append(record)

    def _values(self, address: str, row: dict[str, Any]) -> dict[str, str]:
        values = {"HOST": address, "TS": self._timestamp}
        for number, node in enumerate(self._cluster.record.layout.nodes, start=1):
            values |= {f"NODE{number}": node.rpc, f"QUOTED_NODE{number}": node.rpc.replace(":", "%3A")}
        for what, number in re.findall(r"@(STARTED|FINISHED)(\d+)@", row["target"]):
            values[f"{what}{number}"] = str(self._app(int(number))[f"{what.lower()}Time"])
        return values

    def _masked(self, answer: Answer) -> Answer:
        body = answer.body.replace(f"{socket.gethostname()}/".encode(), b"machine/")
        body = body.replace(f'"{socket.gethostname()}"'.encode(), b'"machine"')
        body = body.replace(str(self._lab.folder).encode(), b"/lab")
        return Answer(answer.status, answer.reason, answer.headers, body)

    def _issue_through(self, sequence: int) -> None:
        while self._issued < sequence:
            self._ask("POST", f"{APPS}/new-application")
            self._issued += 1

    def _submit(self, step: Submit) -> None:
        self._issue_through(step.sequence)
        shell = DistributedShell("shell", step.command, step.containers, self._folder / f"shell{step.sequence}")
        shell.prepare()
        context = shell.context(self._id(step.sequence), queue="default", jars=self._cluster.jars)
        if not step.containers:
            context["am-container-spec"] = {"commands": {"command": "sleep 3600"}}
        answer = self._ask("POST", f"{APPS}?user.name={step.user}", context | step.context)
        if answer.status != 202:  # noqa: PLR2004 - accepted
            raise SystemExit(f"{step}: {answer}")
        self._await(step.sequence, step.state)

    def _end_node(self, step: StopNode | KillNode) -> None:
        name = self._cluster.record.layout.nodes[step.number - 1].name
        if isinstance(step, KillNode):
            self._lab.kill(name)
        else:
            self._lab.stop(name)

    def _settle(self) -> None:
        seen, since_s = self._get(APPS), time.monotonic()
        deadline_s = since_s + _WAIT_S
        while time.monotonic() < min(since_s + _STILL_S, deadline_s):
            time.sleep(1.0)
            now = {app["id"]: (app["state"], app["runningContainers"]) for app in self._get(APPS)["apps"]["app"]}
            if now != seen:
                seen, since_s = now, time.monotonic()

    def _await(self, sequence: int, state: str, *, is_launched: bool = True) -> None:
        """Wait for a state; what is accepted is still for a moment once its ApplicationMaster is launched."""
        wanted = "AM container is launched" if state == "ACCEPTED" and is_launched else ""

        def is_there() -> bool:
            app = self._app(sequence)
            return bool(app["state"] == state) and wanted in app.get("diagnostics", "")

        self._until(is_there, f"application {sequence} is {state}")

    def _until(self, is_true: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + _WAIT_S
        while not is_true():
            if time.monotonic() > deadline_s:
                raise SystemExit(f"{self._cluster.id}: never: {what}")
            time.sleep(0.2)

    def _nodes_in(self, state: str) -> int:
        return len((self._get(f"/ws/v1/cluster/nodes?states={state}")["nodes"] or {}).get("node", []))

    def _id(self, sequence: int) -> str:
        return f"application_{self._timestamp}_{sequence:04}"

    def _app(self, sequence: int) -> dict[str, Any]:
        found: dict[str, Any] = self._get(f"{APPS}/{self._id(sequence)}")["app"]
        return found

    def _get(self, target: str) -> Any:
        return json.loads(self._ask("GET", target).body)

    def _ask(self, method: str, target: str, body: Any = None) -> Answer:
        headers = [["Accept", "application/json"], ["Content-Type", "application/json"]]
        text = "" if body is None else json.dumps(body)
        row = {"method": method, "target": target, "body": text, "headers": headers}
        address = self._managers[0]
        return send(address, compose(row, {"HOST": address}))


def _rows(step: Send) -> Iterator[dict[str, Any]]:
    """The rows of a step; those that wait belong to the row behind them."""
    lines = (RECORDINGS / "requests" / f"{step.group}.jsonl").read_text(encoding="utf-8").splitlines()
    begun = not step.after
    for row in map(json.loads, lines):
        if begun:
            yield row
        begun = begun or row.get("name") == step.after
        if step.through and row.get("name") == step.through:
            return


def _write(version: str, group: str, records: list[dict[str, Any]]) -> None:
    """One file; the same records make the same bytes."""
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    folder = RECORDINGS / version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{group}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{version}/{group}: {len(records)} exchanges", flush=True)


def _record(version: str, chosen: list[Scenario], folder: Path) -> None:
    with Lab(folder / "lab") as lab:
        lab.up(
            LabSpec(tuple(scenario.spec for scenario in chosen), hosts=HostKind.LOOPBACK),
            watch=lambda step: print(f"{step.elapsed_s:.0f} s: {step.message}", flush=True),
            timeout_s=_BOOT_S,
        )
        for scenario in chosen:
            recorder = Recorder(lab, lab.cluster(scenario.spec.id), folder)
            recorder.run(scenario.steps)
            for group, records in recorder.records.items():
                _write(version, group, records)


def main() -> None:
    """Record what the command line names."""
    versions, names = sys.argv[1:2] or SUPPORTED_VERSIONS, sys.argv[2:]
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="heddle-recording-") as made:
            folder = Path(made)
            folder.chmod(0o755)
            allocations = folder / "allocations.xml"
            allocations.write_text(FAIR_ALLOCATIONS, encoding="utf-8")
            known = scenarios(version, str(allocations))
            _record(version, [s for s in known if not names or s.spec.id in names], folder)


if __name__ == "__main__":
    main()
