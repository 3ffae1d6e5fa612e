"""`heddle simulate yarn`: jobs through Heddle's own use cases over modelled clusters, beside plain YARN."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from shim.cli import simulate_options as options
from shim.cli.front import ExitCode, fail
from shim.cli.job_source import JobSource
from shim.cli.output import Output, OutputFormat, print_figures, print_rows
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError, ConfigError
from shim.simulation.cluster.jobs import jobs_of
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.plots import draw_figures
from shim.simulation.yarn_sim.run import SimulatedFront, YarnOutcome, YarnSetting, play, yarn_figures

EPILOG = """\
Fronts:

heddle: Heddle's use cases, with the sections of --config

dealt: no front; jobs are dealt to the clusters in turn and stay there

one-cluster: no front; one CapacityScheduler over all nodes

Examples:

heddle simulate yarn --compare heddle,dealt,one-cluster --load 0.7 --jobs 60 --tasks 8 --task-s 10
"""
_FRONTS = ("heddle", "dealt", "one-cluster")
_CONTAINER = ResourceVector(1024, 1)
_EPOCHS = 1000
_GENERATED_JOBS = 60
_COLUMNS = (
    ("FRONT", "front"),
    ("JOBS", "jobs"),
    ("MEAN s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("MAX", "max"),
    ("DELAY", "delay"),
    ("WAIT", "wait"),
    ("MSG/TASK", "messages"),
    ("USE BY CLUSTER", "shares"),
)


def yarn(
    *,
    compare: options.Compare = "heddle,dealt,one-cluster",
    trace: options.Trace = None,
    load: options.Load = None,
    jobs: options.FirstJobs = None,
    tasks: options.Tasks = 8,
    task_s: options.TaskS = 10.0,
    clusters: options.Clusters = 2,
    workers: options.WorkersOfEach = 4,
    slots: options.SlotsOfEach = 4,
    config: options.HeddleSections = None,
    hop_ms: options.HopMs = 0.5,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run jobs through what runs in production, in virtual time: ResourceManagers, nodes and masters are models.

    Completion is from the arrival of a job to the end of its last task, with the start of its ApplicationMaster. The
    same seed gives the same result on any machine.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        fronts = _fronts(compare)
        source = JobSource(trace, load, jobs, tasks, task_s)
        workload = source.read(seed=seed, n_slots=clusters * workers * slots, usual_jobs=_GENERATED_JOBS)
        sections = "" if config is None else config.read_text("utf-8")
        made = tuple(
            ModelledClusterSpec.even(f"c{number + 1}", nodes=workers, size=_of(slots), epoch=_EPOCHS * (number + 1))
            for number in range(clusters)
        )
        setting = YarnSetting(clusters=made, config=sections, seed=seed, hop_s=hop_ms / 1000.0)
        listed = jobs_of(workload, size=_CONTAINER, master=_CONTAINER)
        outcomes = {name: play(_behind(name, setting), listed) for name in fronts}
        documents = [_document(front, outcome) for front, outcome in outcomes.items()]
        _print(documents, output)
        if plot is not None:
            draw_figures(yarn_figures(outcomes, _COLUMNS, [_shown(each) for each in documents]), plot)
    except (BadRequestError, ConfigError, OSError) as error:
        fail(f"heddle simulate yarn: {error}", ExitCode.USAGE)


def _fronts(compare: str) -> list[str]:
    """Names of the fronts that are compared.

    Raises:
        BadRequestError: If a front is unknown.
    """
    fronts = options.names_in(compare)
    if unknown := [name for name in fronts if name not in _FRONTS]:
        raise BadRequestError(f"there is no front {unknown[0]!r}; there are: {', '.join(_FRONTS)}")
    return fronts


def _of(slots: int) -> ResourceVector:
    """A node for so many containers."""
    return ResourceVector(_CONTAINER.memory_mib * slots, _CONTAINER.vcores * slots)


def _behind(front: str, setting: YarnSetting) -> YarnSetting:
    """The same with another front."""
    if front == "heddle":
        return setting
    if front == "dealt":
        return replace(setting, front=SimulatedFront.DEALT)
    first, *others = setting.clusters
    nodes = sum((each.nodes for each in others), first.nodes)
    return replace(setting, front=SimulatedFront.DEALT, clusters=(replace(first, nodes=nodes),))


def _document(front: str, outcome: YarnOutcome) -> dict[str, Any]:
    tasks = sum(job.tasks for job in outcome.jobs)
    total = sum(outcome.used.values()) or 1
    shares: dict[str, float] = {}
    for (cluster, _), used in outcome.used.items():
        shares[cluster] = shares.get(cluster, 0.0) + used / total
    completion = outcome.completion
    return {
        "front": front,
        "jobs": len(outcome.jobs),
        "failed": outcome.failed,
        "mean": completion.mean,
        "p50": completion.p50,
        "p95": completion.p95,
        "max": completion.max,
        "delay": outcome.delay.mean,
        "wait": sum(outcome.waits_s) / max(1, len(outcome.waits_s)),
        "messages": outcome.messages.total() / tasks,
        "shares": shares,
    }


def _print(documents: Sequence[Mapping[str, Any]], output: OutputFormat) -> None:
    if output is OutputFormat.TABLE:
        print_figures([_shown(each) for each in documents], _COLUMNS)
    else:
        print_rows(documents, (), output)


def _shown(document: Mapping[str, Any]) -> dict[str, str]:
    shown = {name: f"{value:.2f}" if isinstance(value, float) else str(value) for name, value in document.items()}
    return shown | {"shares": ", ".join(f"{name} {share:.0%}" for name, share in document["shares"].items())}
