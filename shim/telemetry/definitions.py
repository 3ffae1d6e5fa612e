"""Every metric of Heddle, by subject: its name, labels and meaning, once.

Whoever counts makes its series of these definitions; docs/operators/monitoring/metrics.md is written from them, in
their order, by scripts/metrics_page.py, which names the first of each subject. Names follow Prometheus' conventions;
the client library appends `_total` to counters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

Labels = TypeVar("Labels", bound=tuple[str, ...])

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ADDED = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05)
_LATE = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric.

    Attributes:
        meaning: One line, for people and for the `# HELP` of a scrape.
        labels: Names of its labels, in the order of their values.
        buckets: Upper bounds in seconds, of a histogram.
    """

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    kind: Literal["counter", "gauge", "histogram"] = "gauge"
    buckets: tuple[float, ...] = ()
    notes: str = ""

    @property
    def exposed(self) -> str:
        """The name in a scrape and in queries; of a histogram the part before `_bucket`, `_sum` and `_count`."""
        return f"{self.name}_total" if self.kind == "counter" else self.name

    def counter(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.meaning, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.meaning, self.labels, registry=registry)

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        return Histogram(self.name, self.meaning, self.labels, buckets=self.buckets, registry=registry)

    def gauges(self, values: Mapping[Labels, float]) -> GaugeMetricFamily:
        """The family that a collector yields at a scrape: values by those of the labels."""
        family = GaugeMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in values.items():
            family.add_metric(labels, value)
        return family

    def counters(self, values: Mapping[Labels, float]) -> CounterMetricFamily:
        """As `gauges`, of what only grows."""
        family = CounterMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in values.items():
            family.add_metric(labels, value)
        return family


HTTP_REQUESTS = MetricDefinition(
    "heddle_http_requests",
    "Requests that were answered",
    ("endpoint", "method", "status"),
    "counter",
    notes="answers from the cache of rendered answers are not in it",
)
RATE_LIMITED = MetricDefinition(
    "heddle_rate_limited",
    "Calls that came too fast, or too many at a time, by `[limits]`, over the web services and Hadoop clients' RPC",
    ("by",),
    "counter",
    notes="`by` is `user`, `address` or `user_calls`",
)
HTTP_REQUEST_SECONDS = MetricDefinition(
    "heddle_http_request_seconds", "From request to answer", ("endpoint",), "histogram", _FAST
)
EVENT_LOOP_LAG_SECONDS = MetricDefinition(
    "heddle_event_loop_lag_seconds",
    "By how much a timer was late",
    (),
    "histogram",
    _LATE,
    notes="whatever a client asks for waits as long: see the [runbook](../runbook.md#nobody-is-answered)",
)
DOCTOR_FINDINGS = MetricDefinition(
    "heddle_doctor_findings",
    "Findings of the doctor's newest round",
    ("check", "level"),
    notes="`warning` or `error`; a round is made every five minutes",
)
CERTIFICATE_SECONDS = MetricDefinition(
    "heddle_certificate_seconds",
    "Until a certificate that Heddle shows or believes ends",
    ("of", "file"),
    notes="negative if it has ended",
)
STORE_SECONDS = MetricDefinition(
    "heddle_store_seconds",
    "Store operations",
    ("operation", "outcome"),
    "histogram",
    _SLOW,
    notes="`outcome`: `done`, or the name of the error",
)
BACKGROUND_FAILURES = MetricDefinition(
    "heddle_background_failures",
    "Failures of work that runs by itself; it begins again after a pause of 1 to 60 s",
    ("part",),
    "counter",
    notes="anything but none is a bug of Heddle's, or a document that nobody expected: the log has which",
)
BUILD_INFO = MetricDefinition("heddle_build_info", "Always 1", ("version",))

SUBCLUSTER_AGE_SECONDS = MetricDefinition(
    "heddle_subcluster_age_seconds",
    "Age of the newest heartbeat",
    ("subcluster",),
    notes="none for a retired cluster",
)
SUBCLUSTER_STATE = MetricDefinition(
    "heddle_subcluster_state",
    "1 for the state it is in",
    ("subcluster", "state"),
    notes="RUNNING, CORDONED, DRAINING, RECOVERING, LOST, RETIRED, NEW",
)
SUBCLUSTER_ADMISSION = MetricDefinition(
    "heddle_subcluster_admission",
    "1 for what an operator said",
    ("subcluster", "admission"),
    notes="open, cordoned, draining, retired",
)
SUBCLUSTER_NODES = MetricDefinition(
    "heddle_subcluster_nodes", "NodeManagers listed", ("subcluster",), notes="none for a retired cluster"
)
SUBCLUSTER_LIVE_APPLICATIONS = MetricDefinition(
    "heddle_subcluster_live_applications",
    "Applications that are not final",
    ("subcluster",),
    notes="none for a retired cluster",
)
ROWS_LEFT_OUT = MetricDefinition(
    "heddle_rows_left_out",
    "Rows of a ResourceManager's lists that cannot be read, or are beyond what is taken in of one cluster",
    ("subcluster", "what"),
    "counter",
    notes="`applications` (50,000), `nodes` (20,000), `queues` (20,000); of a queue `users` (10,000), `partitions` and "
    "`labels` (200), `resource types`; or with names or documents that are too long",
)
POLLS = MetricDefinition(
    "heddle_polls",
    "Polls of sub-clusters",
    ("subcluster", "outcome"),
    "counter",
    notes="`outcome`: `reported`, or the name of the error",
)
POLL_PROCESS_BEGINS = MetricDefinition(
    "heddle_poll_process_begins",
    "How often a process that polls was begun",
    ("process",),
    "counter",
    notes="of `poll.workers`; more than one: it has ended, and the log says why",
)
POLL_PROCESS_CPU_SECONDS = MetricDefinition(
    "heddle_poll_process_cpu_seconds",
    "Processor time of a process that polls",
    ("process",),
    "counter",
    notes="since it was begun; `process_cpu_seconds_total` is without it",
)
POLL_PROCESS_RESIDENT_BYTES = MetricDefinition(
    "heddle_poll_process_resident_bytes",
    "Memory of a process that polls",
    ("process",),
    notes="`process_resident_memory_bytes` is without it",
)
RM_REQUEST_SECONDS = MetricDefinition(
    "heddle_resourcemanager_request_seconds",
    "Exchanges with ResourceManagers",
    ("subcluster", "outcome"),
    "histogram",
    _SLOW,
    notes="`outcome`: `answered`, or the name of the error",
)

SUBMISSIONS = MetricDefinition(
    "heddle_submissions",
    "Submissions by how they ended",
    ("outcome", "home"),
    "counter",
    notes="`allowed`, `refused`, `failed`; `home` is empty if it is not known",
)
REPAIR_FAILING = MetricDefinition(
    "heddle_repair_failing", "Acknowledged applications that their homes do not take, though these are well"
)
REPAIR_GIVEN_UP = MetricDefinition(
    "heddle_repair_given_up", "Applications that ran nowhere and were ended as FAILED", (), "counter"
)
OVERTAKEN_APPLICATIONS = MetricDefinition(
    "heddle_overtaken_applications",
    "Applications that wait at their home for an ApplicationMaster, while others of their queue start elsewhere",
    ("subcluster",),
    notes="after 30 s; `heddle app why` shows what each waits for, `heddle app rehome` moves it",
)

QUEUE_WAITING_APPLICATIONS = MetricDefinition(
    "heddle_queue_waiting_applications", "Applications that wait for their queue's turn", ("queue",)
)
QUEUE_SHARE = MetricDefinition(
    "heddle_queue_share",
    "Parts of the federation, as dominant shares",
    ("queue", "kind"),
    notes="`kind`: share, entitlement, used, held and more: see [fairness](../fairness.md#watching)",
)
ALTRUISM_SECONDS = MetricDefinition(
    "heddle_altruism_seconds",
    "Seconds of the whole share of an altruistic queue that its jobs gave, and received beyond their own",
    ("queue", "kind"),
    "counter",
    notes="`kind`: given, received; kept over restarts; each Global Master tells all. See [altruism](../altruism.md)",
)
ALTRUISM_USER_MIB_SECONDS = MetricDefinition(
    "heddle_altruism_user_mib_seconds",
    "MiB-seconds that the jobs of a user gave of their shares, and received beyond them",
    ("user", "kind"),
    "counter",
    notes="of the fifty users with the most; all of them: `heddle usage --by user`",
)
PREEMPTION_ACTS = MetricDefinition(
    "heddle_preemption_acts",
    "Asks held back, and containers asked back, demanded, released and spared",
    ("queue", "stage"),
    "counter",
)

AM_SESSIONS = MetricDefinition(
    "heddle_am_sessions", "ApplicationMasters that are logged in through Heddle", ("subcluster",)
)
AM_LOGINS = MetricDefinition(
    "heddle_am_logins", "Logins of ApplicationMasters that succeeded", ("subcluster",), "counter"
)
AM_CALLS = MetricDefinition(
    "heddle_am_calls",
    "Calls of ApplicationMasters",
    ("subcluster", "method"),
    "counter",
    notes="those of logins with `auth-int` or `auth-conf` cannot be seen",
)
AM_ADDED_SECONDS = MetricDefinition(
    "heddle_am_added_seconds", "Work on passing on one read of either side", ("subcluster",), "histogram", _ADDED
)
LAUNCH_VERDICTS = MetricDefinition(
    "heddle_launch_verdicts",
    "Verdicts of Local Masters on proposed containers",
    ("subcluster", "verdict"),
    "counter",
    notes="`rejected` is an inconsistency: there was less room than the view said",
)
LAUNCH_CONFLICTS = MetricDefinition(
    "heddle_launch_conflicts",
    "Proposals for containers that Local Masters rejected, by what was in the way",
    ("subcluster", "kind"),
    "counter",
    notes="`claimed` by others; `used` by a newer report; `queue`: its limit; `node`: none fits",
)
LAUNCH_REPAIRS = MetricDefinition(
    "heddle_launch_repairs",
    "Tentatively allocated containers that were not granted in time",
    (),
    "counter",
    notes="within `span.move_after_beats` heartbeats",
)
LAUNCH_FALLBACKS = MetricDefinition(
    "heddle_launch_fallbacks",
    "Splits by free capacity, as a view was too old",
    (),
    "counter",
    notes="older than `span.oldest_view_s`",
)
SOLVER_PROBLEMS = MetricDefinition(
    "heddle_solver_problems",
    "Problems that cycles of queues gave to a solver",
    ("outcome",),
    "counter",
    notes="`solved`; `unsolved`: no answer in time, so that the policy's own plan was carried out",
)
SHADOW_CYCLES = MetricDefinition(
    "heddle_shadow_cycles",
    "Cycles of queues with a policy in their shadow",
    ("queue", "outcome"),
    "counter",
    notes="`compared`; `skipped`: the policy in the shadow had taken its part of the time, or its solver was busy",
)
SHADOW_DIFFERENCES = MetricDefinition(
    "heddle_shadow_differences",
    "Decisions that the policy in a queue's shadow would have made otherwise",
    ("queue", "kind"),
    "counter",
    notes="`held`, `granted`: it starts fewer or more of a request; `other-cluster`; `order`: another is first in line",
)
PROMISED_CONTAINERS = MetricDefinition(
    "heddle_promised_containers", "Containers that are allocated tentatively and not granted", ("subcluster",)
)

HOME_VERDICTS = MetricDefinition(
    "heddle_home_verdicts",
    "Verdicts of Local Masters on proposed homes",
    ("subcluster", "verdict"),
    "counter",
    notes="`accepted`, `rejected`, `unverified`",
)
INCONSISTENCIES = MetricDefinition("heddle_inconsistencies", "Proposals that were rejected", (), "counter")
REPAIRS = MetricDefinition("heddle_repairs", "Homes chosen again after a rejection", (), "counter")
PASSED_ON = MetricDefinition(
    "heddle_passed_on",
    "Submissions between Global Masters",
    ("direction",),
    "counter",
    notes="`sent` to owners, `taken` for others, `failed`: the owner could not be asked",
)
LINK_UP = MetricDefinition("heddle_link_up", "1 while a Local Master is followed", ("subcluster",))
LINK_REPORTS = MetricDefinition("heddle_link_reports", "Reports that were applied", ("subcluster",), "counter")
LINK_RESYNCS = MetricDefinition("heddle_link_resyncs", "Reports that were missing", ("subcluster",), "counter")
QUEUES_OWNED = MetricDefinition("heddle_queues_owned", "Queues whose lease this Global Master has")
LEASE_SECONDS = MetricDefinition(
    "heddle_lease_seconds", "Until the lease of a master ends", ("master",), notes="0 for one that is gone"
)
