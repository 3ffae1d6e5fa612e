"""Columns and the walk over objects find the same applications, whatever came and went before."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.application_columns import ApplicationColumns
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.protocol.rest.application_search import application_statistics, canonical_content, column_statistics, search
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.filters import ApplicationFilter, QueueScope, TimeRange, parse_application_filter
from shim.protocol.rest.queries import Query

HOMES = st.sampled_from([SubClusterId("east"), SubClusterId("west"), SubClusterId("north")])
TIMES = st.one_of(st.integers(-5_000, 20_000), st.sampled_from([0, 2**62, 2**63 - 1]))
USERS, TYPES, TAGS = st.sampled_from(["ann", "bob", ""]), st.sampled_from(["SPARK", "Spark", "TEZ"]), ["x", "y", "z"]
NAMES = st.sampled_from(["nightly", "daily"])
QUEUES = st.sampled_from(["root", "root.a", "root.a.b", "b", "default", "root.ab"])
IDS = st.builds(ApplicationId, st.sampled_from([-(2**63), 7]), st.integers(0, 3))
SUMMARIES = st.builds(
    ApplicationSummary,
    application_id=IDS,
    home_subcluster=HOMES,
    user=USERS,
    name=NAMES,
    queue=QUEUES,
    state=st.sampled_from(YarnApplicationState),
    final_status=st.sampled_from(FinalStatus),
    application_type=TYPES,
    tags=st.lists(st.sampled_from(TAGS), max_size=3).map(tuple),
    started_at_ms=TIMES,
    finished_at_ms=TIMES,
)
A_SUMMARY = ApplicationSummary(
    ApplicationId(7, 1),
    SubClusterId("east"),
    "ann",
    "nightly",
    "root.a",
    YarnApplicationState.RUNNING,
    FinalStatus.UNDEFINED,
    "SPARK",
)
SCOPES = st.builds(QueueScope, QUEUES, st.booleans(), st.frozensets(QUEUES, max_size=2))
RANGES = st.builds(TimeRange, st.integers(0, 20_000), st.one_of(st.integers(0, 20_000), st.just(2**63 - 1)))
QUESTIONS = {
    "states": st.frozensets(st.sampled_from(YarnApplicationState), max_size=3),
    "user": st.one_of(USERS, st.just("eve")),
    "queue": SCOPES,
    "limit": st.integers(1, 8),
    "started": RANGES,
    "finished": RANGES,
    "types": st.frozensets(st.sampled_from(["spark", "tez", "mapreduce"]), max_size=2),
    "tags": st.frozensets(st.sampled_from([*TAGS, "none"]), max_size=2),
    "name": st.one_of(NAMES, st.just("other")),
    "final_status": st.sampled_from(["", "SUCCEEDED", "UNDEFINED", "wrong"]),
    "deselects": st.sampled_from([(), ("timeouts",), ("wrong",)]),
}


@st.composite
def filters(draw):
    """Seldom more than two questions at once: to many of them nothing answers."""
    asked = draw(st.lists(st.sampled_from(sorted(QUESTIONS)), max_size=3, unique=True))
    return ApplicationFilter(**{name: draw(QUESTIONS[name]) for name in asked})


FILTERS = filters()
RIGHT = FILTERS.filter(lambda one: one.final_status != "wrong" and one.deselects != ("wrong",))
SKEWS = st.dictionaries(HOMES, st.integers(-9_000, 9_000))
STEPS = st.lists(st.one_of(SUMMARIES, IDS), max_size=40)
"""An application that is told of, or the id of one that is dropped."""


def filled(steps):
    """Columns after the steps, and the same applications in a dictionary."""
    columns, kept = ApplicationColumns(), {}
    for number, step in enumerate(steps):
        if isinstance(step, ApplicationId):
            columns.remove(step)
            kept.pop(step, None)
        else:
            document = ApplicationDocument(step, b"%d" % number, float(number))
            columns.put(document)
            kept[step.application_id] = document
    return columns, kept


def by_the_walk(kept, wanted, skews):
    found, left_out = replace(wanted, limit=2**63 - 1).select(
        [document.summary for document in kept.values()], skews_ms=skews
    )
    found.sort(key=lambda one: (min(one.started_at_ms, 2**62), one.application_id), reverse=True)
    return [kept[one.application_id] for one in found[: wanted.limit]], left_out


def refusal_of(find):
    """What is answered to a filter that is wrong; None if it is not."""
    try:
        find()
    except JavaError as exc:
        return exc.exception
    return None


@given(STEPS, FILTERS)
def test_a_wrong_filter_is_refused_where_a_walk_refuses_it(steps, wanted):
    columns, kept = filled(steps)
    assert refusal_of(lambda: search(columns, wanted)) == refusal_of(lambda: by_the_walk(kept, wanted, {}))


@given(STEPS, RIGHT, SKEWS)
def test_columns_find_what_a_walk_finds_newest_first(steps, wanted, skews):
    columns, kept = filled(steps)
    expected, left_out = by_the_walk(kept, wanted, skews)
    rows, also_left_out = search(columns, wanted, skews_ms=skews)
    assert columns.documents(rows) == expected
    assert list(columns.raws(rows)) == [document.raw for document in expected]
    assert left_out == also_left_out


@given(STEPS, STEPS, FILTERS)
def test_what_was_read_between_two_changes_does_not_matter(before, after, wanted):
    columns, _ = filled(before)
    columns.newest_first()
    for step in after:
        columns.remove(step) if isinstance(step, ApplicationId) else columns.put(ApplicationDocument(step, b"", 0.0))
        columns.newest_first(columns.all(), 3)
    _, kept = filled([*before, *after])
    wanted = replace(wanted, final_status=None, deselects=())
    expected, _ = by_the_walk(kept, wanted, {})
    rows, _ = search(columns, wanted)
    assert [one.summary for one in columns.documents(rows)] == [one.summary for one in expected]
    assert len(columns) == len(kept)
    assert set(columns.words("user")) == {one.summary.user for one in kept.values()}, "others are forgotten"
    assert not columns.has_any_word("user", {"nobody"}).any()


@given(STEPS, st.sampled_from([(), ("spark",), ("TEZ",), ("*",)]), st.sampled_from([(), ("RUNNING,FINISHED",)]))
def test_counts_are_those_of_a_walk(steps, types, states):
    columns, kept = filled(steps)
    query = Query({"applicationTypes": types, "states": states})
    expected = application_statistics(query, [document.summary for document in kept.values()])
    assert column_statistics(query, columns) == expected


@given(st.lists(st.sampled_from([1, 2, 3]), min_size=40, max_size=60), st.sets(st.integers(0, 39)), st.integers(0, 4))
def test_few_of_many_are_the_first_of_all_in_their_order(times_ms, dropped, limit):
    columns = ApplicationColumns()
    ids = [ApplicationId(number % 3, number) for number in range(len(times_ms))]
    for name, time_ms in zip(ids, times_ms, strict=True):
        columns.put(ApplicationDocument(replace(A_SUMMARY, application_id=name, started_at_ms=time_ms), b"", 0.0))
    for number in dropped:
        columns.remove(ids[number])
    masks = [None, columns.within("started_ms", 2, 3), columns.within("started_ms", 9, 9)]
    few = [columns.newest_first(mask, limit).tolist() for mask in masks]
    columns.newest_first()  # from now on the order of all is known
    assert few == [columns.newest_first(mask, limit).tolist() for mask in masks]


def test_a_time_that_no_clock_tells_is_kept_as_the_last_one():
    columns = ApplicationColumns()
    for number, time_ms in enumerate((2**70, -(2**70), 5)):
        summary = replace(A_SUMMARY, application_id=ApplicationId(7, number), started_at_ms=time_ms)
        columns.put(ApplicationDocument(summary, b"", 0.0))
    order = columns.documents(columns.newest_first())
    assert [document.summary.started_at_ms for document in order] == [2**70, 5, -(2**70)]


def test_the_row_of_one_that_was_dropped_is_used_again():
    columns = ApplicationColumns()
    for number in range(1000):
        columns.put(ApplicationDocument(replace(A_SUMMARY, application_id=ApplicationId(7, number)), b"", 0.0))
        columns.remove(ApplicationId(7, number - 10))
    assert len(columns) == 10
    assert columns.all().size < 100


BOUNDS = st.dictionaries(
    st.sampled_from(["startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd", "limit"]),
    st.one_of(st.integers(0, 6).map(str), st.sampled_from(["", "x", "-1", "+5", "٣", "0" * 30, "9" * 18])),
    max_size=3,
)


EARLY = st.builds(
    lambda told, started_ms, finished_ms: replace(told, started_at_ms=started_ms, finished_at_ms=finished_ms),
    SUMMARIES,
    st.integers(0, 6),
    st.integers(0, 6),
)


def answered(columns, bounds):
    """The rows, or the refusal."""
    query = Query({name: (text,) for name, text in bounds.items()})
    try:
        wanted = parse_application_filter(query, find_queue=lambda _: None, unknown_queue_is_error=True)
    except JavaError as exc:
        return exc.exception
    return search(columns, wanted)[0].tolist()


@given(st.lists(EARLY, min_size=1, max_size=6), BOUNDS, BOUNDS)
def test_queries_of_the_same_canonical_content_get_the_same_answer(steps, bounds, others):
    columns, _ = filled(steps)
    moved = {name: others.get(name, text) for name, text in bounds.items()}
    contents = [
        canonical_content(tuple((name, (text,)) for name, text in each.items()), columns) for each in (bounds, moved)
    ]
    assert contents[0] != contents[1] or answered(columns, bounds) == answered(columns, moved)


@pytest.mark.parametrize("name", ["startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd"])
def test_two_bounds_are_the_same_question_just_where_no_application_lies_between(name):
    told = [
        replace(A_SUMMARY, application_id=ApplicationId(7, number), started_at_ms=time_ms, finished_at_ms=time_ms)
        for number, time_ms in enumerate((1, 3, 3, 5))
    ]
    columns, _ = filled(told)
    for one in range(7):
        for other in range(7):
            contents = [canonical_content(((name, (str(bound),)),), columns) for bound in (one, other)]
            answers = [answered(columns, {name: str(bound)}) for bound in (one, other)]
            assert (contents[0] == contents[1]) == (answers[0] == answers[1])


@given(STEPS, RANGES, st.sampled_from(["started", "finished"]))
def test_the_index_of_times_finds_what_a_walk_does(steps, asked, name):
    columns, kept = filled(steps)
    found = columns.documents(columns.newest_first(columns.within(f"{name}_ms", asked.begin, asked.end)))
    walked = [
        each for each in kept.values() if asked.begin <= min(getattr(each.summary, f"{name}_at_ms"), 2**62) <= asked.end
    ]
    assert {each.summary.application_id for each in found} == {each.summary.application_id for each in walked}


TABLE = [
    replace(
        A_SUMMARY,
        application_id=ApplicationId(7, number),
        home_subcluster=SubClusterId(home),
        user=user,
        name=name,
        queue=queue,
        state=YarnApplicationState(state),
        final_status=FinalStatus(status),
        application_type=kind,
        tags=tags,
        started_at_ms=started_ms,
        finished_at_ms=finished_ms,
    )
    for number, (home, user, name, queue, state, status, kind, tags, started_ms, finished_ms) in enumerate(
        [
            ("east", "ann", "nightly", "root.a", "RUNNING", "UNDEFINED", "SPARK", ("x",), 100, 0),
            ("east", "bob", "nightly", "root.a.b", "FINISHED", "SUCCEEDED", "Spark", ("y", "z"), 200, 300),
            ("west", "ann", "daily", "root.ab", "FAILED", "FAILED", "TEZ", (), 300, 400),
            ("west", "bob", "daily", "default", "KILLED", "KILLED", "TEZ", ("x", "z"), 400, 500),
            ("north", "", "nightly", "b", "ACCEPTED", "UNDEFINED", "MAPREDUCE", ("z",), 1, 0),
            ("north", "ann", "other", "root", "FINISHED", "FAILED", "MAPREDUCE", ("none",), 0, 0),
        ]
    )
]
ONE_QUESTION = [
    *(
        {"states": frozenset(map(YarnApplicationState, each))}
        for each in (("RUNNING",), ("FINISHED", "KILLED"), ("NEW",))
    ),
    *({"user": each} for each in ("ann", "bob", "", "eve")),
    *({"name": each} for each in ("nightly", "daily", "none")),
    *({"types": frozenset(each)} for each in (("spark",), ("tez", "mapreduce"), ("x",))),
    *({"tags": frozenset(each)} for each in (("x",), ("y", "none"), ("q",))),
    *(
        {"queue": QueueScope(each, is_leaf=leaf)}
        for each in ("root.a", "root", "default", "b")
        for leaf in (False, True)
    ),
    *({"final_status": each} for each in ("SUCCEEDED", "FAILED", "UNDEFINED", "")),
    *(
        {which: TimeRange(*each)}
        for which in ("started", "finished")
        for each in ((0, 0), (1, 2**62), (100, 300), (300, 300), (301, 399), (0, 2**63 - 1))
    ),
    *({"limit": each} for each in (1, 3, 5, 6, 7)),
    {"deselects": ("timeouts",)},
]


@pytest.mark.parametrize("skews", [{}, {SubClusterId("west"): 100, SubClusterId("north"): -7}], ids=["even", "skewed"])
@pytest.mark.parametrize("at", range(len(ONE_QUESTION)))
def test_each_question_alone_and_with_each_other_finds_what_a_walk_finds(at, skews):
    columns, kept = filled(TABLE)
    for other in ({}, *ONE_QUESTION):
        wanted = ApplicationFilter(**{**other, **ONE_QUESTION[at]})
        expected, left_out = by_the_walk(kept, wanted, skews)
        rows, also_left_out = search(columns, wanted, skews_ms=skews)
        assert (columns.documents(rows), also_left_out) == (expected, left_out)


def test_times_of_what_is_hidden_are_none():
    """0 for both: in a range that has 0 alone."""
    columns, _ = filled(TABLE)
    visible = columns.has_word("user", "ann")
    for times, found in (((0, 50), [4, 3, 1, 5]), ((-5, 0), [4, 3, 1, 5]), ((1, 2**62), [2, 0]), ((300, 400), [2])):
        rows, _ = search(columns, ApplicationFilter(started=TimeRange(*times)), visible=visible)
        shown = {each.summary.application_id.sequence for each in columns.documents(rows)}
        assert shown == set(found), times
