"""A started Heddle whose polls are in processes of their own: whichever part ends or sleeps, nothing is lost."""

import os
import signal
import ssl
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from adapters.kerberos import WebTickets, open_acceptor
from shim.domain.ids import ApplicationId
from tests.support.certificates import TestAuthority
from tests.support.heddle_process import until
from tests.support.kdc import LOCALHOST, REALM
from tests.support.nursery import is_running
from tests.support.served_manager import ServedManager
from tests.support.started import Started, configuration

NAMES = ("east", "west", "north")


class Federation:
    """Clusters of ten applications each, and a Heddle with two processes that poll."""

    def __init__(self, folder, managers, *, more="", of_each=""):
        text, doors = configuration(folder, more=f"[poll]\ninterval_s = 0.5\nlate_after_s = 3.0\n{more}")
        head, _, _ = text.partition("[[subcluster]]")
        sections = [f'[[subcluster]]\nid = "{name}"\nweb = "{each.url}"\n{of_each}' for name, each in managers.items()]
        self.managers = managers
        self.heddle = Started(folder, head + "".join(sections), verb=("serve", "--workers", "2"))
        self.url = f"http://{doors['rest']}"

    def get(self, path):
        return httpx.get(f"{self.url}{path}", trust_env=False, timeout=60)

    def listed(self, **asked):
        answer = httpx.get(f"{self.url}/ws/v1/cluster/apps", params=asked, trust_env=False, timeout=60)
        return {each["id"] for each in ((answer.json()["apps"] or {}).get("app") or ())}, answer.headers

    def children(self):
        """Process ids of those that poll, as the machine knows them."""
        tasks = Path(f"/proc/{self.heddle.process.pid}/task").glob("*/children")
        found = [int(each) for task in tasks for each in task.read_text().split()]
        return sorted(pid for pid in found if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes())

    def child_of(self, subcluster):
        """Which of them polls a sub-cluster: the one that is connected to its ResourceManager."""
        port = int(self.managers[subcluster].url.rpartition(":")[2])
        inodes = {
            line.split()[9]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[2].endswith(f":{port:04X}")
        }
        return next(pid for pid in self.children() if inodes & sockets_of(pid))

    def move(self, subcluster, number, state):
        served = self.managers[subcluster]
        with served.lock:
            served.manager.move(ApplicationId(1, number), state)

    def count(self, metric):
        lines = self.get("/metrics").text.splitlines()
        return {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith(metric)}

    def age_s(self, subcluster):
        return self.count("heddle_subcluster_age_seconds")[
            f'heddle_subcluster_age_seconds{{subcluster="{subcluster}"}}'
        ]


def sockets_of(pid):
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        target = str(each.readlink())
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


@contextmanager
def started(folder, *, more="", of_each="", **served_by):
    with ExitStack() as stack:
        managers = {name: stack.enter_context(ServedManager(name, **served_by)) for name in NAMES}
        for place, served in enumerate(managers.values()):
            for number in range(10):
                served.manager.add_application(ApplicationId(1, 10 * place + number), "RUNNING")
        federation = Federation(folder, managers, more=more, of_each=of_each)
        stack.enter_context(federation.heddle)
        until(lambda: len(federation.listed()[0]) == 30, "all are listed")
        yield federation


def test_parts_die_and_sleep_and_all_is_known_again(tmp_path):
    with started(tmp_path) as federation:
        assert len(federation.children()) == 2
        dead = federation.child_of("west")
        os.kill(dead, signal.SIGKILL)
        federation.move("west", 10, "FINISHED")
        assert len(federation.listed()[0]) == 30
        until(lambda: len(federation.listed(states="FINISHED")[0]) == 1, "what ended meanwhile is told")
        until(lambda: len(federation.children()) == 2, "another one polls")
        assert dead not in federation.children()
        assert federation.heddle.told().count("a process that polls has ended") == 1
        begins = federation.count("heddle_poll_process_begins_total")
        assert sorted(begins.values()) == [1.0, 2.0]
        counted = federation.count("heddle_resourcemanager_request_seconds_count")
        assert {name for name in NAMES if any(f'subcluster="{name}"' in each for each in counted)} == set(NAMES)
        assert len(federation.count("heddle_poll_process_resident_bytes")) == 2

        asleep = federation.child_of("west")
        os.kill(asleep, signal.SIGSTOP)
        try:
            until(lambda: federation.listed()[1].get("heddle-missing") == "west", "it is named")
            federation.move("east", 0, "FINISHED")
            until(lambda: len(federation.listed(states="FINISHED")[0]) == 2, "the others are told of")
            assert len(federation.listed()[0]) == 30
            until(lambda: federation.age_s("west") > 6.0, "its age grows")
            assert federation.age_s("east") < federation.age_s("west")
        finally:
            os.kill(asleep, signal.SIGCONT)
        until(lambda: "heddle-missing" not in federation.listed()[1], "it tells again")
        children = federation.children()
        assert federation.heddle.ended(by=signal.SIGTERM) == 0
        assert not [pid for pid in children if is_running(pid)]
        assert not federation.heddle.troubles()


def test_processes_show_tickets_and_certificates_as_their_clusters_ask_for(kerberos, tmp_path):
    authority, front = TestAuthority(tmp_path), f"rm/{LOCALHOST}@{REALM}"
    web = f"HTTP/{LOCALHOST}@{REALM}"
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.file)
    tls.load_cert_chain(*authority.issue("manager"))
    tls.verify_mode = ssl.CERT_REQUIRED
    certificate, key = authority.issue("front")
    more = f'[security.kerberos]\nprincipal = "{front}"\nkeytab = "{kerberos.keytab(front)}"\n'
    files = f'ca_file = "{authority.file}"\ncertificate = "{certificate}"\nkey = "{key}"\n'
    tickets = WebTickets(open_acceptor(web, kerberos.keytab(web), negotiates=True))
    with started(tmp_path, more=more, of_each=files, tls=tls, tickets=tickets) as federation:
        dead = federation.child_of("west")
        os.kill(dead, signal.SIGKILL)
        federation.move("west", 10, "FINISHED")
        until(lambda: len(federation.listed(states="FINISHED")[0]) == 1, "what ended meanwhile is told")
        assert dead not in federation.children()
        assert {each for served in federation.managers.values() for each in served.principals} == {front}
        assert not federation.heddle.troubles()
    tickets.close()


def test_signals_to_all_end_and_renew_it_as_one_process(tmp_path):
    with started(tmp_path) as federation:
        before = federation.children()
        for pid in before:  # as a terminal and a service manager do
            for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                os.kill(pid, each)
        federation.heddle.process.send_signal(signal.SIGHUP)
        until(lambda: federation.heddle.told().count(" serves ") > 1, "it serves anew")
        until(lambda: len(federation.listed()[0]) == 30, "all are listed")
        until(lambda: len(federation.children()) == 2, "two poll")
        assert not set(before) & set(federation.children())
        assert "has ended" not in federation.heddle.told()
        last = federation.children()
        federation.heddle.process.kill()
        federation.heddle.process.wait(60)
        until(lambda: not any(map(is_running, last)), "they end with their parent")
        assert not federation.heddle.troubles()


def test_a_number_that_is_none_is_refused(tmp_path):
    text, _ = configuration(tmp_path)
    heddle = Started(tmp_path, text, verb=("serve", "--workers", "65"))
    heddle.begin()
    assert heddle.ended() != 0
    assert "64" in heddle.told()
