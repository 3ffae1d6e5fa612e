"""A service of an unmodified client in a queue that goes by medea: its containers are where a plan has them."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from tests.support.constrained import CLUSTERS, NODES, constrained_client, constrained_lab, gated_shell, hosts_of
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import SPANNING, SpanningApplication, spanning_heddle

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_MEDEA = SPANNING.replace("span = true\n", 'span = true\ncontainers = "medea"\n')
_OPERATORS = """
[[constraint]]
name = "apart"
subject = "foo"
want = "0 foo in node"
hard = true
"""
_LOOKS = 5
"""At what is promised, for each at what runs: a promise stands for a second or two."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with constrained_lab(tmp_path_factory.mktemp("medea"), "scheduler") as own:
        yield own


@pytest.fixture
def heddle(lab: Lab, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[HeddleProcess]:
    """A Heddle whose default queue spans, and goes by medea; with further tables, if a test has some."""
    with spanning_heddle(lab, tmp_path, _MEDEA + getattr(request, "param", "")) as running:
        yield running


class Watched:
    """What is told of an application's asks while they wait: reasons, and by ask where something was promised."""

    def __init__(self, heddle: HeddleProcess, application: str) -> None:
        self._path = f"{heddle.url}/heddle/v1/apps/{application}/why"
        self.rules: set[str] = set()
        self.reasons: set[str] = set()
        self.promised: dict[int, list[str]] = {}

    def look(self) -> None:
        answer = httpx.get(self._path, trust_env=False, timeout=60.0)
        for each in asks_in(answer.json()):
            self.rules.add(each["rule"])
            self.reasons.add(each["reason"])
            # a verdict stays when what was promised is granted, which may be between two looks
            there = [verdict["cluster"] for verdict in each["verdicts"] if verdict["accepted"]]
            if there:
                self.promised[each["request"]] = there

    def could_be_at(self, places: Counter[str]) -> bool:
        """Return whether each ask that was seen was promised a place of its own among these.

        On a busy machine one may be granted before it is seen, or planned twice.
        """
        return bool(self.promised) and any(Counter(each) <= places for each in product(*self.promised.values()))


def asks_in(told: Any) -> list[dict[str, Any]]:
    """The asks in an answer, wherever it has them."""
    if isinstance(told, dict):
        here = [told] if {"rule", "candidates", "wanted"} <= told.keys() else []
        return here + [found for each in told.values() for found in asks_in(each)]
    return [found for each in told for found in asks_in(each)] if isinstance(told, list) else []


@pytest.mark.parametrize("count", [NODES * CLUSTERS - 1, NODES * CLUSTERS])
def test_a_service_is_spread_over_clusters_as_planned_and_why_names_medea(lab, heddle, tmp_path, count):
    """One node stays free, or none does."""
    client, gate = constrained_client(lab, heddle, tmp_path / "client"), tmp_path / "go"
    command = gated_shell(client, gate, "-placement_spec", f"foo({count}),NOTIN,NODE,foo")
    with client.running(*command, user="barbara") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        watched = Watched(heddle, spanned.application)

        def has_all():
            for _ in range(_LOOKS):
                watched.look()
            return len(hosts_of(heddle, spanned)) == count

        until(has_all, f"{count} containers run")
        assert len(set(hosts_of(heddle, spanned))) == count, "no two on one node"
        gate.touch()
        spanned.has_succeeded()
    watched.look()
    places = spanned.places()
    assert watched.rules - {""} == {"medea"}, "none before the first plan"
    assert any("services are placed together" in each for each in watched.reasons), watched.reasons
    own = Counter({spanned.home: 1})
    assert watched.could_be_at(Counter(places) - own), f"{watched.promised}, and {places}"
    spanned.has_ended_everywhere()


@pytest.mark.parametrize("heddle", [_OPERATORS], indirect=True, ids=["operators"])
def test_resource_managers_take_an_operators_constraint_that_an_application_knows_nothing_of(lab, heddle, tmp_path):
    """It would have ten on a node; a plan may spread it by itself, so that this shows that the request is taken."""
    client, gate = constrained_client(lab, heddle, tmp_path / "client"), tmp_path / "go"
    count = NODES * CLUSTERS
    command = gated_shell(client, gate, "-placement_spec", f"foo({count}),CARDINALITY,NODE,foo,0,9")
    with client.running(*command, user="barbara") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        until(lambda: len(hosts_of(heddle, spanned)) == count, f"{count} containers run")
        assert len(set(hosts_of(heddle, spanned))) == count, "no two on one node"
        gate.touch()
        spanned.has_succeeded()
