"""Policies that are made to cost time or to break the reader: each is refused with a reason, and soon."""

import time
from collections.abc import Callable
from functools import cache

import pytest

from shim.config.policy_files import parse_policy
from shim.domain.ids import SubClusterId
from shim.domain.queues import SharePolicy
from shim.errors import ConfigError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.core.entitle import ShareSettings
from shim.queues.core.share_load import nowhere
from shim.queues.load_meter import LoadMeter
from shim.queues.share_preview import SharePreview
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_queue_report, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")
DEEP = "k" + ".k" * 20_000
QUEUE = '[[queue]]\nname = "root.a"\n'

HOSTILE = {
    "8,000 queues": "".join(f'[[queue]]\nname="root.q{n}"\nweight=1\n' for n in range(8_000)),
    "8,000 mappings": "".join(f'[[mapping]]\nqueue="root.a"\nuser="u{n}"\n' for n in range(5_000)),
    "too many bytes": "#" * 300_000,
    "key of 20,000 parts": f"{DEEP} = 1",
    "quoted parts": "'k'" + ".'k'" * 20_000 + " = 1",
    "parts with blanks": "[[" + " . ".join("k" * 20_000) + "]]",
    "in a table": f"a = {{ {DEEP} = 1 }}",
    "behind a text": f"a = {{ x = '''it's''', {DEEP} = 1 }}",
    "behind five quotes": f'a = {{ x = """a""""", {DEEP} = 1 }}',
    "behind a comment": f"# it's \"\n{DEEP} = 1",
    "behind escapes": 'a = {x = "\\"", ' + DEEP + " = 1}",
    "nested lists": "a = " + "[" * 50_000,
    "closed lists": f"{QUEUE}submit = " + "[" * 5_000 + "]" * 5_000,
    "nested tables": "a = " + "{a = " * 900 + "1" + "}" * 900,
    "digits": f"{QUEUE}weight = " + "9" * 100_000,
    "hexadecimal digits": f"{QUEUE}weight = 0x" + "f" * 100_000,
    "hexadecimal whole number": f"{QUEUE}max_running = 0x" + "f" * 100_000,
    "exponent": f"{QUEUE}weight = 10e400000",
    "long name": f'[[queue]]\nname = "root.{"a" * 200_000}"\n',
    "deep name": '[[queue]]\nname = "root' + ".a" * 100 + '"\n',
    "long key": f"[[queue]]\n{'name' * 50_000} = 1\n",
    "long choice": f'{QUEUE}order = "{"fifo" * 50_000}"\n',
    "escaped quotes": '"' + '\\"' * 120_000 + ".",
    "quotes": "'" * 250_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_policy_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_policy(text, source="p.toml", subclusters=["east"])
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_policy_costs_no_more_than_a_large_one(name: str) -> None:
    assert cpu_s(lambda: refused(HOSTILE[name])) < 3 * of_a_large_one_s() + 0.1


def test_what_a_preview_costs_grows_with_the_queues_and_not_with_their_square() -> None:
    few, many = a_preview(125), a_preview(1000)
    assert cpu_s(many) < 5 * 8 * cpu_s(few) + 0.05


def policy_text(queues: int) -> str:
    return "".join(f'[[queue]]\nname = "root.q{number}"\nweight = 1\n' for number in range(queues))


@cache
def of_a_large_one_s() -> float:
    large = policy_text(1000)
    return cpu_s(lambda: refused(large))


def refused(text: str) -> None:
    try:
        parse_policy(text, source="p.toml")
    except ConfigError:
        return


def a_preview(queues: int) -> "Preview":
    return Preview(parse_policy(policy_text(queues), source="p.toml"))


class Preview:
    """Reckons how queues would stand, with some applications in each."""

    def __init__(self, policy: SharePolicy) -> None:
        clock = FakeClock()
        view = FederationView((EAST,), usual(ViewSettings))
        leaves = [a_queue_report(queue.path) for queue in policy.queues]
        told = [a_document(number, "east") for number in range(1, len(policy.queues) + 1)]
        view.apply(a_report("east", polled_at_s=clock.now_s(), applications=told, queues=leaves))
        meter = LoadMeter(view, {}, clock, absent_after_s=60.0)
        self._policy = policy
        self._preview = SharePreview(meter.snapshot(), (), usual(ShareSettings))

    def __call__(self) -> None:
        assert len(self._preview.statuses(self._policy)) == len(self._policy.queues)
        nowhere(self._policy, self._preview.load(self._policy))


def cpu_s(work: Callable[[], None]) -> float:
    """The least of three measurements: others' work on the machine is not in it."""
    found = []
    for _ in range(3):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return min(found)
