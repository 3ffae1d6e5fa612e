"""Answers that are kept: by what they depend on, as many and as large as there may be."""

import pytest

from shim.federation.core.federation_view import Part
from shim.protocol.rest.negotiation import Representation
from shim.server.rest.cache import CacheKey, CacheLimits, Kept, ResponseCache, cache_key
from shim.server.rest.messages import Request


def key(path="/x", **content) -> CacheKey:
    found = cache_key(
        Request("GET", path, "", (), b"", "127.0.0.1"), tuple((name, (value,)) for name, value in content.items())
    )
    assert found is not None
    return found


def kept(size: int) -> Kept:
    return Kept(Part.APPLICATIONS, 1, (), 2.0, None, (), b"x" * size)


@pytest.mark.parametrize(
    ("headers", "depends_on"),
    [
        ((), (Representation.JSON, False)),
        ((("accept", "application/xml"),), (Representation.XML, False)),
        ((("accept", "text/html"), ("accept", "application/xml")), (Representation.XML, False)),
        ((("accept", "application/xml"), ("accept", "application/json")), (Representation.XML, False)),
        ((("accept-encoding", "br"), ("accept-encoding", "gzip")), (Representation.JSON, True)),
        ((("accept-encoding", "gzip"), ("accept-encoding", "br")), (Representation.JSON, True)),
        ((("accept-encoding", "br"), ("x", "gzip")), (Representation.JSON, False)),
    ],
)
def test_an_answer_depends_on_all_lines_of_both_headers(headers, depends_on):
    content = (("a", ("1", "2")),)
    found = cache_key(Request("GET", "/x", "", headers, b"", "127.0.0.1"), content, "sight")
    assert found == ("/x", content, *depends_on, "sight")


def test_what_has_no_form_is_not_kept():
    assert cache_key(Request("GET", "/x", "", (("accept", "text/html"),), b"", "127.0.0.1"), ()) is None


@pytest.mark.parametrize(("size", "is_kept"), [(25, True), (26, False)])
def test_one_that_needs_more_than_a_quarter_of_all_room_is_not_kept(size, is_kept):
    cache = ResponseCache(CacheLimits(answers=9, answers_bytes=100))
    cache.keep(key(), kept(size))
    assert (cache.find(key()) is not None) is is_kept


@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (1, False)])
@pytest.mark.parametrize("where", ["path", "name", "value", "values"])
def test_what_clients_write_is_not_kept_beyond_a_length(more, is_kept, where):
    """4,096 characters of path, names and values together."""
    length = 4096 - len("/x") - len("n") - len("v") + more
    content = {
        "path": (("n", ("v",)),),
        "name": (("n" + "n" * length, ("v",)),),
        "value": (("n", ("v" + "v" * length,)),),
        "values": (("n", ("v", "v" * length)),),
    }[where]
    path = "/x" + "x" * length if where == "path" else "/x"
    found = cache_key(Request("GET", path, "", (), b"", "127.0.0.1"), content)
    assert found is not None
    cache = ResponseCache(CacheLimits(answers=9, answers_bytes=100))
    cache.keep(found, kept(1))
    assert (cache.find(found) is not None) is is_kept


def test_the_ones_asked_for_least_lately_give_way_by_number_and_by_bytes():
    names = ["/a", "/b", "/c", "/d", "/e"]

    def there(cache):
        return [name for name in names if cache.find(key(name)) is not None]

    cache = ResponseCache(CacheLimits(answers=3, answers_bytes=100))
    for name in names[:3]:
        cache.keep(key(name), kept(5))
    cache.find(key("/a"))
    cache.keep(key("/d"), kept(5))
    assert there(cache) == ["/a", "/c", "/d"]
    cache = ResponseCache(CacheLimits(answers=9, answers_bytes=100))
    for name in names[:4]:
        cache.keep(key(name), kept(25))
    assert there(cache) == names[:4]
    cache.keep(key("/b"), kept(20))
    cache.keep(key("/e"), kept(5))
    assert there(cache) == names, "just as many bytes, as one was kept anew and smaller"
    cache.drop(key("/a"))
    cache.drop(key("/a"))
    cache.keep(key("/a"), kept(25))
    assert there(cache) == names
    cache.keep(key("/e"), kept(6))
    assert len(there(cache)) == 4
