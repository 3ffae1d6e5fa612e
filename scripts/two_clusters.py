"""Two modelled clusters of four nodes with Heddle before them: what figures of yarn-sim are made on."""

from collections.abc import Sequence

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import YarnOutcome, YarnSetting, play

__all__ = ["played_on_two_clusters"]


def played_on_two_clusters(jobs: Sequence[ModelledJob], *, node: ResourceVector, queue: str, seed: int) -> YarnOutcome:
    """Run jobs to their ends.

    Args:
        jobs: All of the queue `root.default`, which spans both clusters.
        node: What each node has.
        queue: Further lines of that queue's `[[queue]]`.
        seed: Of the run.

    Raises:
        RuntimeError: A job did not succeed.
    """
    clusters = tuple(
        ModelledClusterSpec.even(
            SubClusterId(name), nodes=4, size=node, epoch=epoch, queues={"root.default": QueueSpec(am_share=0.5)}
        )
        for name, epoch in (("east", 1000), ("west", 2000))
    )
    config = f'[[queue]]\nname = "root.default"\nspan = true\n{queue}\n'
    outcome = play(YarnSetting(clusters=clusters, config=config, seed=seed), jobs)
    if outcome.failed:
        raise RuntimeError(f"{queue}: {outcome.failed}")
    return outcome
