from dataclasses import replace

from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts
from shim.queues.engines import EngineGraphs

JOB = ApplicationId(1, 1)


def test_map_reduce_has_two_stages_and_failed_maps_are_never_put_off():
    stages = EngineGraphs().stages(JOB, "MAPREDUCE")
    assert {priority: stages.graph.stages[at].name for priority, at in stages.by_priority.items()} == {
        5: "map",
        19: "map",
        20: "map",
        10: "reduce",
    }
    assert stages.graph.stages[1].waits_for == (0,)
    assert stages.urgent == {5}


def test_other_engines_are_unknown_until_their_graph_was_read():
    graphs = EngineGraphs()
    assert graphs.stages(JOB, "TEZ") == "the stages of a TEZ job are not known"
    assert graphs.stages(JOB, "") == "the stages of this job are not known"
    read = StagesOfJob(JobGraph.of("dag", (Stage("a", 1, 512, 1),)), {5: 0})
    graphs.put(JOB, read)
    assert graphs.stages(JOB, "TEZ") is read


def test_memory_for_graphs_is_bounded():
    graphs, read = EngineGraphs(), StagesOfJob(JobGraph.of("dag", (Stage("a", 1, 512, 1),)), {5: 0})
    for number in range(5000):
        graphs.put(ApplicationId(1, number), read)
    assert isinstance(graphs.stages(ApplicationId(1, 0), "TEZ"), str)
    assert graphs.stages(ApplicationId(1, 4999), "TEZ") is read


def test_counts_of_an_earlier_part_are_none_of_the_next():
    graphs = EngineGraphs()
    first = StagesOfJob(JobGraph.of("dag 1", (Stage("a", 1, 512, 1),)), {5: 0}, has_parts=True)
    graphs.put(JOB, first)
    graphs.count(JOB, (TaskCounts(1, 0, 1),), 10.0)
    graphs.put(JOB, first)
    assert graphs.counts(JOB, 11.0) == (TaskCounts(1, 0, 1),)
    graphs.put(JOB, replace(first, part=2))
    assert graphs.counts(JOB, 11.0) == ""
