"""The same jobs in yarn-sim: clusters as the lab configures its own, and two times that were measured there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree as ET

from scripts.calibrating.draw import DrawnJob
from scripts.calibrating.lab_side import RealRun
from scripts.calibrating.rows import CONTAINER, ORDERING, Row
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.lab import Cluster, Lab
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, NodeManagerSpec, QueueSpec, Timing
from shim.simulation.yarn_sim.run import SimulatedFront, YarnOutcome, YarnSetting, play

_QUEUE = "root.default"
_NUMBERS_FROM = 20260000
"""Numbers as long as a date do not tell recurring jobs apart."""
_POLL = "[poll]\ninterval_s = 0.5\n"
"""As `HeddleProcess` has it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What no configuration tells, in seconds: means over a run whose jobs are none of those that are compared.

    Attributes:
        launch_s: From the order to start a container to its first step.
        master_start_s: From the first step of an ApplicationMaster to its registration.
    """

    launch_s: float
    master_start_s: float


def measured_on(run: RealRun) -> Measured:
    """Take the means of a run."""
    launches = [one.started_s[task] - at_s for one in run.seen for task, at_s in one.launched_s.items()]
    return Measured(fmean(launches), fmean(one.registered_s - one.begun_s for one in run.seen))


def told_timing(timing: Timing, measured: Measured) -> Timing:
    """Put measured times in the place of others."""
    return replace(timing, launch_s=measured.launch_s, master_start_s=measured.master_start_s)


def properties(folder: Path) -> dict[str, str]:
    """Read the properties of a configuration folder: those that it states, not Hadoop's defaults."""
    found: dict[str, str] = {}
    for name in ("core-site.xml", "yarn-site.xml", "capacity-scheduler.xml"):
        if (folder / name).exists():
            rows = ET.parse(folder / name).getroot()  # noqa: S314 - written by the lab
            found |= {row.findtext("name", ""): row.findtext("value", "") for row in rows}
    return found


def clusters_of(lab: Lab, measured: Measured) -> tuple[ModelledClusterSpec, ...]:
    """Model the clusters of a lab by their own configuration."""
    return tuple(_cluster(each, measured) for each in lab.clusters.values())


def _cluster(cluster: Cluster, measured: Measured) -> ModelledClusterSpec:
    told = properties(cluster.conf_dir)
    sizes = [_node_size(properties(cluster.folder / node.name / "conf")) for node in cluster.record.layout.nodes]
    nodes = tuple(NodeManagerSpec(NodeId(f"{cluster.id}-n{number}", 45454), size) for number, size in enumerate(sizes))
    return ModelledClusterSpec(
        SubClusterId(cluster.id),
        nodes,
        {_QUEUE: _queue(told)},
        epoch=int(told["yarn.resourcemanager.epoch"]),
        timing=_timing(told, measured),
    )


def _node_size(told: Mapping[str, str]) -> ResourceVector:
    memory, vcores = (told[f"yarn.nodemanager.resource.{name}"] for name in ("memory-mb", "cpu-vcores"))
    return ResourceVector(int(memory), int(vcores))


def _queue(told: Mapping[str, str]) -> QueueSpec:
    root = "yarn.scheduler.capacity"
    leaf = f"{root}.{_QUEUE}"
    return QueueSpec(
        percent=float(told[f"{leaf}.capacity"]),
        most_percent=float(told[f"{leaf}.maximum-capacity"]),
        user_limit_percent=float(told.get(f"{leaf}.minimum-user-limit-percent", "100")),
        user_limit_factor=float(told[f"{leaf}.user-limit-factor"]),
        am_share=float(told[f"{root}.maximum-am-resource-percent"]),
        ordering="fair" if told.get(ORDERING) == "fair" else "fifo",
    )


def _timing(told: Mapping[str, str], measured: Measured) -> Timing:
    """Heartbeats as configured; limits of a heartbeat are Hadoop's defaults, which the lab keeps."""
    timing = told_timing(Timing(), measured)
    per_heartbeat = "yarn.scheduler.capacity.per-node-heartbeat"
    return replace(
        timing,
        node_heartbeat_s=int(told["yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"]) / 1000.0,
        off_switch_each=int(told.get(f"{per_heartbeat}.maximum-offswitch-assignments", "1")),
        most_each=int(told.get(f"{per_heartbeat}.maximum-container-assignments", "100")),
    )


def modelled(jobs: Sequence[DrawnJob]) -> list[ModelledJob]:
    """The same jobs for the model: names differ, and those of a kind do by a number alone, so that they recur there."""
    return [
        ModelledJob(
            f"{job.kind}-{_NUMBERS_FROM + number}" if job.kind else job.name,
            job.arrival_s,
            (ModelledStage(job.durations_s, size=CONTAINER),),
            queue=_QUEUE,
            master=CONTAINER,
            most_attempts=1,
        )
        for number, job in enumerate(jobs)
    ]


def run_in_model(clusters: Sequence[ModelledClusterSpec], row: Row, jobs: Sequence[DrawnJob], seed: int) -> YarnOutcome:
    """Run jobs to their ends in virtual time.

    Args:
        clusters: As many as the row has.
        row: What stands before them.
        jobs: They.
        seed: Of phases of heartbeats, and of the network.

    Raises:
        RuntimeError: A job did not succeed.
    """
    setting = YarnSetting(
        clusters=tuple(clusters),
        front=SimulatedFront.HEDDLE if row.is_heddle else SimulatedFront.DEALT,
        config=_POLL + row.sections if row.is_heddle else "",
        seed=seed,
        shares_files=row.is_installed,
    )
    outcome = play(setting, modelled(jobs))
    if outcome.failed:
        raise RuntimeError(f"{row.name}: {outcome.failed}")
    return outcome
