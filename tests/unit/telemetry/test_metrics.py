from prometheus_client.parser import text_string_to_metric_families

from shim.telemetry import Metrics, SubClusterGauges

EAST = SubClusterGauges(
    subcluster="east", age_s=0.5, state="SC_RUNNING", admission="open", nodes=2, live_applications=3
)


class HandClock:
    """A clock that the test moves."""

    def __init__(self):
        self.at_s = 100.0

    def now_s(self):
        return self.at_s

    def monotonic_s(self):
        return self.at_s

    async def sleep(self, duration_s):
        self.at_s += duration_s


def samples(metrics):
    families = text_string_to_metric_families(metrics.scrape().decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def test_counts_requests_by_endpoint_and_status():
    metrics = Metrics(HandClock(), version="1", subclusters=lambda: ())
    metrics.request("/ws/v1/cluster/apps", "GET", 200, 0.001)
    metrics.request("/ws/v1/cluster/apps", "GET", 200, 0.2)
    found = samples(metrics)
    label = ("endpoint", "/ws/v1/cluster/apps")
    assert found["heddle_http_requests_total", label, ("method", "GET"), ("status", "200")] == 2
    assert found["heddle_http_request_seconds_count", label] == 2
    assert found["heddle_http_request_seconds_bucket", label, ("le", "0.001")] == 1


def test_tells_of_each_sub_cluster_what_the_view_says_at_that_moment():
    rows = [EAST]
    clock = HandClock()
    metrics = Metrics(clock, version="1", subclusters=lambda: rows)
    assert samples(metrics)["heddle_subcluster_age_seconds", ("subcluster", "east")] == 0.5
    rows[:] = [SubClusterGauges("west", None, "SC_NEW", "cordoned", 0, 0)]
    clock.at_s += 1
    found = samples(metrics)
    assert ("heddle_subcluster_age_seconds", ("subcluster", "west")) not in found
    assert found["heddle_subcluster_state", ("state", "SC_NEW"), ("subcluster", "west")] == 1
    assert found["heddle_subcluster_admission", ("admission", "cordoned"), ("subcluster", "west")] == 1


def test_many_scrapes_within_a_second_render_once():
    clock, asked = HandClock(), []
    metrics = Metrics(clock, version="1", subclusters=lambda: asked.append(1) or ())
    first = metrics.scrape()
    clock.at_s += 0.9
    assert metrics.scrape() is first
    clock.at_s += 0.1
    assert metrics.scrape() is not first
    assert len(asked) == 2
