"""Long lists in XML."""

import asyncio
import json

from shim.protocol.rest.merges import join_list
from shim.protocol.rest.xml_writer import json_to_xml
from shim.server.rest.xml_lists import XMLLists

ITEMS = [json.dumps({"id": number, "name": "a&b", "map": {"entry": []}}).encode() for number in range(500)]


async def test_a_list_is_the_same_as_written_in_one_piece():
    written = await XMLLists().write("apps", "app", ITEMS)
    assert written == json_to_xml(join_list("apps", "app", ITEMS))
    assert await XMLLists().write("apps", "app", []) == json_to_xml(b'{"apps":{}}')


async def test_what_is_remembered_is_the_same():
    lists = XMLLists()
    first = await lists.write("apps", "app", ITEMS)
    changed = [b'{"id":1000}', *ITEMS[1:]]
    assert await lists.write("apps", "app", ITEMS) == first
    assert await lists.write("apps", "app", changed) == json_to_xml(join_list("apps", "app", changed))


async def test_others_get_their_turn_meanwhile():
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await XMLLists().write("apps", "app", ITEMS)
    task.cancel()
    assert turns >= len(ITEMS) // 50
