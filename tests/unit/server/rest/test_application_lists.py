"""Long lists in every form."""

import asyncio
import json

import pytest

from shim.protocol.rest.merges import join_list, without_members
from shim.protocol.rest.negotiation import Representation
from shim.protocol.rest.xml_writer import json_to_xml
from shim.server.rest import application_lists
from shim.server.rest.application_lists import Form, ItemForms
from tests.support.scripted_server import ScriptedServer

ITEMS = [json.dumps({"id": number, "name": "a&b", "map": {"entry": []}}).encode() for number in range(500)]
XML = Form(Representation.XML)
FORMS = [Form(), XML, Form(without=frozenset({"map"})), Form(Representation.XML, frozenset({"name"}))]


def in_one_piece(items, form):
    whole = join_list("apps", "app", [without_members(raw, without=form.without) for raw in items])
    return json_to_xml(whole) if form.representation is Representation.XML else whole


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_list_is_the_same_as_written_in_one_piece(form):
    forms = ItemForms()
    for items in (ITEMS, [], ITEMS, [b'{"id":1000}', *ITEMS[1:]], ITEMS[:1]):
        document = await forms.write("apps", "app", items, form)
        assert document.in_form(form.representation)[0] == in_one_piece(items, form)


async def test_what_is_remembered_in_one_form_is_not_shown_in_another():
    forms = ItemForms()
    made = [
        (await forms.write("apps", "app", ITEMS, form)).in_form(form.representation)[0] for form in (*FORMS, *FORMS)
    ]
    assert made == [in_one_piece(ITEMS, form) for form in (*FORMS, *FORMS)]


@pytest.mark.parametrize("form", FORMS[1:], ids=str)
async def test_others_get_their_turn_meanwhile(form):
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await ItemForms().write("apps", "app", ITEMS, form)
    task.cancel()
    assert turns >= len(ITEMS) // 50


async def test_no_more_is_remembered_than_it_may():
    forms = ItemForms(most_bytes=2000)
    for form in (*FORMS, *reversed(FORMS)):
        document = await forms.write("apps", "app", ITEMS, form)
        assert document.in_form(form.representation)[0] == in_one_piece(ITEMS, form)
        remembered = [(raw, made) for of_form in forms._made.values() for raw, made in of_form.items()]
        assert sum(len(raw) + len(made) for raw, made in remembered) == forms._bytes <= 2000


async def test_what_xml_cannot_hold_is_left_out_and_counted():
    items = [ITEMS[0], b'{"a b":1}', ITEMS[1], b"[1]", ITEMS[2]]
    forms = ItemForms()
    for _ in range(2):  # the second time from memory
        document = await forms.write("apps", "app", items, XML)
        assert document.left_out == 2
        assert document.in_form(XML.representation)[0] == in_one_piece(ITEMS[:3], XML)
    assert (await forms.write("apps", "app", ITEMS[:3], XML)).left_out == 0
    assert (await forms.write("apps", "app", items[:2], FORMS[2])).left_out == 0


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (("", ""), 400),
        (("capacityScheduler", ""), 400),
        (("fairScheduler", ""), 200),
        (("fairScheduler", "capacityScheduler"), 400),
        (("fifoScheduler", "fairScheduler"), 200),
    ],
)
async def test_an_unknown_queue_is_an_error_where_a_capacity_scheduler_may_be(kinds, status, monkeypatch):
    server = ScriptedServer(["east", "west"])
    await server.poll()
    told = dict(zip(("east", "west"), kinds, strict=True))
    monkeypatch.setattr(type(server.use_cases.inspection.view), "scheduler", lambda _, home: told[home])
    assert (await server.get("/apps?queue=nowhere")).status == status


async def test_the_oldest_are_forgotten_as_soon_as_there_is_more_than_may_be(monkeypatch):
    """Each takes 14 bytes: ten as it was told, four as it is written; three may be remembered."""
    written = []

    def write(raw, item, form):
        written.append(raw[:1].decode())
        return b"<" + raw[:1] + b"/>"

    monkeypatch.setattr(application_lists, "_written", write)
    forms = ItemForms(most_bytes=42)

    async def anew(names, form=XML):
        written.clear()
        document = await forms.write("apps", "app", [name.encode() * 10 for name in names], form)
        assert document.in_form(Representation.XML)[0].count(b"/>") == len(names)
        return "".join(written)

    assert [await anew("abc"), await anew("cab"), await anew("d"), await anew("bcd"), await anew("a")] == [
        *("abc", "", "d", ""),
        "a",
    ]
    assert [await anew("cda"), await anew("b"), await anew("dab")] == ["", "b", ""]
    other = Form(Representation.XML, frozenset({"map"}))
    assert [await anew("x", other), await anew("x", other)] == ["x", "x"], "the oldest of its own form goes first"
    assert await anew("dab") == ""
