"""Rows of the console, against a slow twin."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from shim.domain.application_columns import ApplicationColumns
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.protocol.rest.filters import TimeRange
from shim.server.rest import application_rows
from shim.server.rest.application_rows import MOST_ROWS, RowQuery, page_by_columns
from shim.server.rest.application_rows import page_of as found_page

STATES = (YarnApplicationState.RUNNING, YarnApplicationState.ACCEPTED, YarnApplicationState.FINISHED)
FIELDS = ("cluster", "user", "queue", "type", "state", "final_status")

words = st.sampled_from(["etl", "Sort", "root.prod", "alice", "bob", "x y", ""])


@st.composite
def documents(draw: st.DrawFn) -> list[ApplicationDocument]:
    made = []
    for number in range(1, draw(st.integers(0, 12)) + 1):
        summary = ApplicationSummary(
            application_id=ApplicationId(1, number),
            home_subcluster=SubClusterId(draw(st.sampled_from(["east", "west"]))),
            user=draw(words),
            name=draw(words),
            queue=draw(words),
            state=draw(st.sampled_from(STATES)),
            final_status=FinalStatus.UNDEFINED,
            application_type=draw(words),
            tags=tuple(draw(st.lists(words, max_size=2))),
            started_at_ms=draw(st.integers(0, 5)),
            finished_at_ms=draw(st.integers(0, 3)),
        )
        made.append(ApplicationDocument(summary, b'{"progress":50.0,"allocatedMB":1024,"user":"another"}', 0.0))
    return made


ranges = st.builds(TimeRange, st.integers(0, 5), st.integers(0, 5)) | st.just(TimeRange())
queries = st.builds(
    RowQuery,
    search=words.map(str.upper),
    wanted=st.lists(
        st.tuples(st.sampled_from(FIELDS), st.frozensets(words)), max_size=2, unique_by=lambda it: it[0]
    ).map(tuple),
    sort=st.sampled_from([*FIELDS, "id", "name", "started", "finished"]),
    is_descending=st.booleans(),
    group=st.sampled_from(["", *FIELDS]),
    offset=st.integers(0, 14),
    limit=st.integers(1, 6),
    started=ranges,
    finished=ranges,
)


def page_of(rows: list[ApplicationDocument], query: RowQuery, *, total: int | None = None) -> dict[str, Any]:
    """The page by a walk, as it is told."""
    told: dict[str, Any] = to_builtins(found_page(rows, query, total=total).told())
    return told


def columns_of(rows: list[ApplicationDocument]) -> ApplicationColumns:
    """The same rows by column, after others came and went."""
    columns = ApplicationColumns()
    for each in rows:
        gone = replace(each.summary, application_id=ApplicationId(2, each.summary.application_id.sequence), name="gone")
        columns.put(each.but(summary=gone))
        columns.put(each)
        columns.remove(gone.application_id)
    return columns


def shown(each: ApplicationDocument) -> dict[str, Any]:
    """A row's texts, written out."""
    of = each.summary
    return {
        "cluster": of.home_subcluster,
        "user": of.user,
        "queue": of.queue,
        "type": of.application_type.lower(),
        "state": of.state.value,
        "final_status": of.final_status.value,
    }


def matches(each: ApplicationDocument, query: RowQuery) -> bool:
    """By each word and each filter, one after the other."""
    for asked, moment in ((query.started, each.summary.started_at_ms), (query.finished, each.summary.finished_at_ms)):
        if asked != TimeRange() and not (moment > 0 and asked.begin <= moment <= asked.end):
            return False
    texts = [*shown(each).values(), str(each.summary.application_id), each.summary.name, *each.summary.tags]
    for word in query.search.lower().split():
        if not any(word in text.lower() for text in texts):
            return False
    return all(
        shown(each)[name] in {value.lower() if name == "type" else value for value in values}
        for name, values in query.wanted
    )


@given(documents(), queries)
def test_a_page_is_what_matches_in_order_and_counts_are_of_all_that_does(rows, query):
    assert query.rejection() == ""
    told = page_of(rows, query)
    assert page_of(rows[::-1], query)["apps"] == told["apps"], (
        "pages do not depend on the order in which rows are known"
    )
    found = [each for each in rows if matches(each, query)]
    assert (told["total"], told["matched"]) == (len(rows), len(found))
    assert sum(told["states"].values()) == len(found)
    if query.group:
        counted = {each["value"]: each["applications"] for each in told["groups"]}
        assert counted == {value: sum(shown(each)[query.group] == value for each in found) for value in counted}
        assert sum(counted.values()) == len(found)
    else:
        assert told["groups"] == []
    pages = [page_of(rows, RowQuery(**{**_fields(query), "offset": offset, "limit": 3})) for offset in range(0, 15, 3)]
    ids = [row["id"] for page in pages for row in page["apps"]]
    assert sorted(ids) == sorted(str(each.summary.application_id) for each in found)
    assert [row["id"] for row in told["apps"]] == ids[query.offset : query.offset + query.limit]
    keys = {"started": "started_ms", "finished": "finished_ms"}
    values = [row[keys.get(query.sort, query.sort)] for page in pages for row in page["apps"]]
    values = [value.lower() if query.sort == "type" else value for value in values]
    assert values == sorted(values, reverse=query.is_descending)


@given(documents(), queries.map(lambda query: replace(query, search="")))
def test_columns_find_the_same_page(rows, query):
    page = page_by_columns(columns_of(rows), query)
    assert page is not None
    assert to_builtins(page.told()) == page_of(rows, query)


@pytest.mark.parametrize("query", [RowQuery(search="etl"), RowQuery(sort="name")])
def test_texts_that_are_searched_and_many_words_to_sort_by_are_left_to_the_walk(query, monkeypatch):
    monkeypatch.setattr(application_rows, "_MOST_WORDS", 1)
    rows = [document(1, name="etl"), document(2, name="sort")]
    assert page_by_columns(columns_of(rows), query) is None
    assert page_by_columns(columns_of(rows), RowQuery(search=" ")) is not None


@given(documents(), queries)
def test_rows_that_are_sorted_in_pieces_are_in_the_same_order(rows, query):
    whole = page_of(rows, query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application_rows, "_SORTED_AT_ONCE", 2)
        assert page_of(rows, query) == whole


def test_how_many_there_are_is_told_by_whoever_left_some_out():
    assert page_of([], RowQuery(), total=7)["total"] == 7


def _fields(query: RowQuery) -> dict[str, Any]:
    return {name: getattr(query, name) for name in RowQuery.__slots__}


def document(number: int, *, name: str = "n", raw: bytes = b"{}") -> ApplicationDocument:
    summary = ApplicationSummary(
        application_id=ApplicationId(1, number),
        home_subcluster=SubClusterId("east"),
        user="alice",
        name=name,
        queue="q",
        state=YarnApplicationState.RUNNING,
        final_status=FinalStatus.UNDEFINED,
        application_type="T",
        tags=("a",),
        started_at_ms=5,
        finished_at_ms=0,
    )
    return ApplicationDocument(summary, raw, 0.0)


def test_texts_of_a_row_are_those_of_the_summary_and_amounts_those_of_the_resourcemanager():
    raw = b'{"user":"eve","allocatedMB":"1024","progress":12.5,"diagnostics":"' + b"d" * 1000 + b'"}'
    [row] = page_of([document(1, raw=raw)], RowQuery())["apps"]
    assert (row["user"], row["type"], row["memory_mib"], row["progress"]) == ("alice", "T", 1024, 12.5)
    assert row["vcores"] is None
    assert row["diagnostics"] == "d" * 300


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (RowQuery(sort="password"), "rows are not sorted by 'password'"),
        (RowQuery(group="name"), "rows have no field 'name'"),
        (RowQuery(wanted=(("tags", frozenset({"a"})),)), "rows have no field 'tags'"),
        (RowQuery(limit=0), "limit is 1 to 500"),
        (RowQuery(limit=MOST_ROWS + 1), "limit is 1 to 500"),
        (RowQuery(offset=-1), "offset at least 0"),
    ],
)
def test_what_cannot_be_asked_is_told(query, told):
    assert told in query.rejection()
    assert RowQuery(limit=MOST_ROWS).rejection() == ""
