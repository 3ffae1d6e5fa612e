"""`heddle app logs --follow`: what containers print, once and in its order, until the application has ended."""

from dataclasses import dataclass, field

import httpx
import pytest

from shim.cli.application_logs import LogsWanted
from shim.cli.followed_logs import follow_logs
from shim.cli.front import ExitCode, Front, FrontError

APPLICATION = "application_1700000000000_0006"
ATTEMPT = "appattempt_1700000000000_0006_000001"
ONE, TWO = (f"container_1700000000000_0006_01_00000{number}" for number in (1, 2))
APP = f"/ws/v1/cluster/apps/{APPLICATION}"
LOGS = f"/heddle/v1/apps/{APPLICATION}/logs"


@dataclass
class PrintingApplication:
    """An application whose containers print a part between two looks: of each look what every file then holds.

    Attributes:
        looks: Files of containers that run, look by look; after them it has ended.
        aggregated: What lies in the archive then.
        refused: A status for everything.
    """

    looks: list[dict[tuple[str, str], bytes]]
    aggregated: dict[tuple[str, str], bytes] = field(default_factory=dict)
    refused: int = 0
    at: int = 0
    slept: int = 0

    def sleep(self, seconds: float) -> None:
        del seconds
        self.slept += 1
        self.at += 1

    def answer(self, request: httpx.Request) -> httpx.Response:
        told = self._told(request.url.path, request.url.params)
        if self.refused or told is None:
            body = {"RemoteException": {"exception": "E", "message": "no", "javaClassName": "j.E"}}
            return httpx.Response(self.refused or 404, json=body)
        return httpx.Response(200, json=told)

    def _told(self, path, query):
        is_running = self.at < len(self.looks)
        files = self.looks[self.at] if is_running else {}
        if path == f"/heddle/v1/apps/{APPLICATION}":
            return {"app": {"user": "ada", "state": "RUNNING" if is_running else "FINISHED"}}
        if path == f"{APP}/appattempts":
            return {"appAttempts": {"appAttempt": [{"appAttemptId": ATTEMPT}]}}
        if path == f"{APP}/appattempts/{ATTEMPT}/containers":
            return {"container": [{"containerId": each} for each in dict.fromkeys(name for name, _ in files)]}
        if path == LOGS:
            return {"nodes": [{"node": "n_1", "files": _listed(self.aggregated)}]} if self.aggregated else None
        *head, container, file = path.split("/")
        if file == "logs":
            return {"files": _listed({place: data for place, data in files.items() if place[0] == container})}
        place = (head[-1], file) if container == "logs" else (container, file)
        data = (files if container == "logs" else self.aggregated).get(place)
        return None if data is None else _part(data, int(query["tail"]), int(query.get("after", 0)))


def _listed(files):
    return [{"container": container, "file": file, "bytes": len(data)} for (container, file), data in files.items()]


def _part(data, tail, after):
    start = max(len(data) - tail, min(after, len(data)))
    return {"text": data[start:].decode(), "start": start, "size": len(data)}


def printed(capsys, application, text=APPLICATION, **wanted):
    """Lines that were printed of it."""
    heddle = Front("http://heddle:8088", "ada", transport=httpx.MockTransport(application.answer))
    follow_logs(heddle, LogsWanted.parse(text, **wanted), application.sleep)
    return capsys.readouterr().out.splitlines()


def looks(*parts: bytes, place: tuple[str, str] = (ONE, "stdout")) -> list[dict[tuple[str, str], bytes]]:
    return [{place: b"".join(parts[: count + 1])} for count in range(len(parts))]


def test_every_line_is_printed_once_when_it_is_whole(capsys):
    application = PrintingApplication(looks(b"a\nb", b"", b"c\nd\n", b"e"))
    assert printed(capsys, application) == [f"== {ONE} stdout", "a", "bc", "d", "e"]


def test_the_beginning_is_the_end_of_what_there_is(capsys):
    application = PrintingApplication(looks(b"1\n2\n3\n", b"4\n"))
    assert printed(capsys, application, tail=4) == [f"== {ONE} stdout", "2", "3", "4"]


def test_a_container_that_begins_later_is_printed_from_its_beginning(capsys):
    first, second = looks(b"a\n", b"b\n")
    application = PrintingApplication([first, second | {(TWO, "stderr"): b"x\ny\n"}])
    told = printed(capsys, application, tail=2)
    assert told == [f"== {ONE} stdout", "a", "b", f"== {TWO} stderr", "x", "y"]


def test_what_nodes_did_not_tell_any_more_is_read_from_what_was_aggregated(capsys):
    place = (ONE, "stdout")
    application = PrintingApplication(looks(b"a\nb"), {place: b"a\nbc\nlast\n"})
    assert printed(capsys, application) == [f"== {ONE} stdout", "a", "bc", "last"]


def test_only_lines_that_hold_the_text_are_printed_also_where_parts_divide_it(capsys):
    application = PrintingApplication(looks(b"x\nwar", b"ning (1)\nx\n", b"a warning (1) more\n"))
    assert printed(capsys, application, grep="warning (1)") == [
        f"== {ONE} stdout",
        "warning (1)",
        "a warning (1) more",
    ]


def test_only_the_file_and_the_container_that_are_wanted(capsys):
    files = {(one, file): f"{one[-1]} {file}\n".encode() for one in (ONE, TWO) for file in ("stdout", "stderr")}
    told = printed(capsys, PrintingApplication([files], files), TWO, file="stderr")
    assert told == [f"== {TWO} stderr", "2 stderr"]


def test_what_grows_faster_than_it_is_read_is_passed_over_and_told(capsys):
    application = PrintingApplication(looks(b"a\n", b"b" * 2 * 1024 * 1024 + b"\nz\n"))
    told = printed(capsys, application)
    assert told[:3] == [f"== {ONE} stdout", "a", f"... {1024 * 1024 + 3} bytes passed over"]
    assert told[-1] == "z"


def test_a_line_without_an_end_is_not_held_for_ever(capsys):
    application = PrintingApplication(looks(b"a" * 70_000, b"b\n"))
    told = printed(capsys, application, tail=1024 * 1024)
    assert [len(line) for line in told[1:]] == [70_000, 1]


def test_waiting_for_what_is_aggregated_ends(capsys):
    application = PrintingApplication(looks(b"a\n"))
    assert printed(capsys, application) == [f"== {ONE} stdout", "a"]
    assert application.slept == 11


def test_of_what_ended_before_the_end_is_printed_and_without_any_it_is_not_found(capsys):
    told = printed(capsys, PrintingApplication([], {(ONE, "stdout"): b"1\n2\n"}), tail=2)
    assert told == [f"== {ONE} stdout", "2"]
    with pytest.raises(FrontError) as caught:
        printed(capsys, PrintingApplication([]))
    assert caught.value.code is ExitCode.NOT_FOUND


@pytest.mark.parametrize("status", [403, 503])
def test_a_refusal_is_told(capsys, status):
    with pytest.raises(FrontError):
        printed(capsys, PrintingApplication(looks(b"a\n"), refused=status))


def test_many_containers_are_followed_in_part(capsys):
    names = [f"container_1700000000000_0006_01_{number:06}" for number in range(120)]
    told = printed(capsys, PrintingApplication([{(name, "stdout"): b"x\n" for name in names}] * 2))
    assert told[0].startswith("== 120 containers run: 100 of them are followed")
    assert len(told) == 1 + 2 * 100
