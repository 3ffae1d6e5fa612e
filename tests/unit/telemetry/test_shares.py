"""Queues with shares in the text of a scrape."""

from prometheus_client import CollectorRegistry, generate_latest

from shim.domain.credits import Credits
from shim.telemetry.shares import QueueGauges, ShareCollector


def test_each_queue_tells_who_waits_and_what_it_holds():
    registry = CollectorRegistry()
    rows = [QueueGauges("root.prod", 3, {"share": 0.75, "used": 0.5}, {"released": 2}), QueueGauges('a"b', 0, {})]
    users = {"ada": Credits(1.0, 0.0, 2048.0, 512.0)}
    registry.register(ShareCollector(lambda: rows, lambda: {"root.prod": Credits(12.5, 3.0)}, lambda: users))
    text = generate_latest(registry).decode()
    assert 'heddle_queue_waiting_applications{queue="root.prod"} 3.0' in text
    assert 'heddle_queue_share{kind="used",queue="root.prod"} 0.5' in text
    assert 'heddle_preemption_acts_total{queue="root.prod",stage="released"} 2.0' in text
    assert 'heddle_altruism_seconds_total{kind="given",queue="root.prod"} 12.5' in text
    assert 'heddle_altruism_seconds_total{kind="received",queue="root.prod"} 3.0' in text
    assert 'heddle_altruism_user_mib_seconds_total{kind="given",user="ada"} 2048.0' in text
    assert 'heddle_altruism_user_mib_seconds_total{kind="received",user="ada"} 512.0' in text
    assert 'queue="a\\"b"' in text


def test_without_a_policy_nothing_is_told():
    registry = CollectorRegistry()
    registry.register(ShareCollector(list))
    assert "queue=" not in generate_latest(registry).decode()
