"""A run: arrivals come in order and at their time, and impossible settings are refused."""

import pytest

from shim.errors import BadRequestError
from shim.simulation.engine import Engine, seeded
from shim.simulation.run import Network, Run, Setting
from shim.simulation.traces import TraceJob, Workload


def test_each_job_arrives_once_at_its_time():
    workload = Workload("w", tuple(TraceJob(index, at_s, (1.0,), 1.0) for index, at_s in enumerate((2.0, 2.0, 5.0))))
    run = Run(workload, Setting(n_workers=25))
    seen = []
    run.start_arrivals(lambda job: seen.append((job.index, run.engine.now_s)))
    run.engine.run()
    assert seen == [(0, 2.0), (1, 2.0), (2, 5.0)]


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ({"n_workers": 24}, "25 Local Masters share 24"),
        ({"n_workers": 25, "worker_constraints": (1,)}, "constraints of 1"),
    ],
)
def test_impossible_settings_are_refused(sizes, complaint):
    with pytest.raises(BadRequestError, match=complaint):
        Setting(**sizes)


def test_a_message_arrives_after_its_hops_in_the_order_of_sending():
    engine = Engine()
    network = Network(engine, seeded(1, "network"), hop_s=0.5)
    arrived = []
    network.send("far", lambda: arrived.append(("far", engine.now_s)), hops=3)
    network.send("near", lambda: arrived.append(("near", engine.now_s)))
    network.send("near", lambda: arrived.append(("next", engine.now_s)))
    engine.run()
    assert arrived == [("near", 0.5), ("next", 0.5), ("far", 1.5)]


def test_messages_and_bytes_are_counted_by_kind():
    network = Network(Engine(), seeded(1, "network"))
    network.send("launch", print, size_bytes=40)
    network.send("launch", print, size_bytes=2)
    network.count("completion", number=3)
    assert network.traffic.messages == {"launch": 2, "completion": 3}
    assert network.traffic.size_bytes == {"launch": 42}


def test_lost_messages_are_sent_but_do_not_arrive():
    engine = Engine()
    network = Network(engine, seeded(1, "network"), loss=0.25)
    arrived = []
    for number in range(2000):
        network.send("heartbeat", arrived.append, number)
    engine.run()
    lost = network.traffic.lost["heartbeat"]
    assert network.traffic.messages["heartbeat"] == 2000
    assert len(arrived) == 2000 - lost
    assert 400 < lost < 600


def test_a_leg_to_a_node_that_is_lost_is_repeated_and_each_try_counts():
    engine = Engine()
    network = Network(engine, seeded(1, "network"), hop_s=0.5, loss=0.25)
    arrived = []
    for number in range(2000):
        network.send_again("launch", arrived.append, number, size_bytes=10)
    engine.run()
    tries = network.traffic.messages["launch"]
    assert sorted(arrived) == list(range(2000))
    assert tries == 2000 + network.traffic.lost["launch"]
    assert 2500 < tries < 2850
    assert network.traffic.size_bytes["launch"] == 10 * tries
