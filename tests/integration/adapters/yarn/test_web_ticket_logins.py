"""Heddle's logins at web services that ask for tickets: what is shown when, and what is never believed."""

import base64

import pytest

from adapters.yarn import RestResourceManager, RestSettings
from shim.errors import MalformedAnswerError, NeverReachedError
from shim.ports.resource_manager import RestRequest
from shim.protocol.hrpc import SASLError
from tests.doubles.settings import usual
from tests.integration.adapters.yarn.test_rm_rest import EAST, answers, serving

PING = RestRequest("GET", "/ping", user="alice")
POST = RestRequest("POST", "/ws/v1/cluster/apps", user="alice", headers=(("Content-Type", "text/x"),), body=b"hi")
COOKIE = 'hadoop.auth="u=heddle&p=heddle&t=kerberos-dt&e=1&s=x="'
GOOD = base64.b64encode(b"proof of 127.0.0.1").decode()


class CountedTickets:
    """Gives tickets that say how many there were; none to hosts that the KDC does not know."""

    def __init__(self, *, is_empty=False):
        self.given = 0
        self._is_empty = is_empty

    async def at_web(self, host):
        if self._is_empty:
            raise SASLError("no KDC answers")
        self.given += 1
        return Proof(f"ticket {self.given}".encode(), host)


class Proof:
    def __init__(self, token, host):
        self.token = token
        self._host = host

    def check(self, answer):
        if answer != f"proof of {self._host}".encode():
            raise SASLError("not the service")


class TicketedServer:
    """Asks for a ticket as Hadoop's filter does; its cookie is good until `forget`."""

    def __init__(self, proof=GOOD, *, takes_tickets=True, cookie=COOKIE):
        self.cookie = cookie
        self.good = set()
        self._proof = proof
        self._takes_tickets = takes_tickets

    def forget(self):
        self.good.clear()

    async def __call__(self, server, writer):
        head = server.requests[-1][0]
        if self.cookie in head and self.good:
            await answers()(server, writer)
        elif "Authorization: Negotiate " in head and self._takes_tickets:
            self.good.add(self.cookie)
            proof = f"Negotiate {self._proof}".strip()
            headers = (f"WWW-Authenticate: {proof}", f"Set-Cookie: {self.cookie}; Path=/; HttpOnly")
            await answers(headers=headers)(server, writer)
        else:
            headers = ("WWW-Authenticate: Negotiate", "Set-Cookie: hadoop.auth=; Path=/")
            await answers("401 Authentication required", b"<html>", headers)(server, writer)


async def sent(script, tickets, *requests, between=lambda: None):
    """What was sent for some requests: first lines and heads; the last answer."""
    async with serving(script) as (server,):
        settings = usual(RestSettings, timeout_s=20.0, connect_timeout_s=10.0)
        manager = RestResourceManager(EAST, [server.address], settings, tickets=tickets)
        try:
            for request in requests:
                answer = await manager.forward(request)
                between()
        finally:
            await manager.close()
        return answer, server.requests


async def test_a_ticket_is_shown_when_asked_for_and_its_cookie_after_that():
    tickets = CountedTickets()
    answer, requests = await sent(TicketedServer(), tickets, PING, POST)
    assert (answer.status, tickets.given) == (200, 1)
    first, shown, posted = (head for head, _ in requests)
    assert "Authorization" not in first
    assert f"Authorization: Negotiate {base64.b64encode(b'ticket 1').decode()}" in shown
    assert f"Cookie: {COOKIE}" in posted
    assert "Authorization" not in posted


async def test_who_asked_for_a_ticket_is_told_no_name_again():
    _, requests = await sent(TicketedServer(), CountedTickets(), PING, POST, RestRequest("GET", "/ping"))
    lines = [head.split("\r\n")[0] for head, _ in requests]
    assert lines[1:] == [
        "GET /ping?doAs=alice HTTP/1.1",
        "POST /ws/v1/cluster/apps?doAs=alice HTTP/1.1",
        "GET /ping HTTP/1.1",
    ]


async def test_a_submission_goes_out_whole_again_with_the_ticket():
    _, requests = await sent(TicketedServer(), CountedTickets(), POST)
    assert [body for _, body in requests] == [b"hi", b"hi"]


async def test_a_cookie_that_is_over_is_followed_by_a_new_ticket():
    server, tickets = TicketedServer(), CountedTickets()
    answer, _ = await sent(server, tickets, PING, PING, PING, between=server.forget)
    assert (answer.status, tickets.given) == (200, 3)


async def test_the_challenge_and_the_proof_stay_between_heddle_and_the_cluster():
    answer, _ = await sent(TicketedServer(), CountedTickets(), PING)
    assert {name.lower() for name, _ in answer.headers}.isdisjoint({"www-authenticate", "set-cookie"})


@pytest.mark.parametrize("proof", ["", "!", base64.b64encode(b"proof of another").decode()])
async def test_a_server_that_does_not_prove_itself_is_not_believed(proof):
    with pytest.raises(MalformedAnswerError, match="does not prove who it is"):
        await sent(TicketedServer(proof), CountedTickets(), PING)


async def test_a_ticket_that_is_not_taken_is_told_and_not_tried_for_ever():
    tickets = CountedTickets()
    with pytest.raises(MalformedAnswerError, match="does not take Heddle's Kerberos ticket"):
        await sent(TicketedServer(takes_tickets=False), tickets, POST)
    assert tickets.given == 1


async def test_without_a_ticket_nothing_was_sent_that_counts():
    with pytest.raises(NeverReachedError, match="asks for a Kerberos ticket: no KDC answers"):
        await sent(TicketedServer(), CountedTickets(is_empty=True), POST)


async def test_a_heddle_without_kerberos_hands_the_refusal_on_without_its_challenge():
    answer, requests = await sent(TicketedServer(), None, PING)
    assert answer.status == 401
    assert len(requests) == 1
    assert answer.header("WWW-Authenticate") is None


@pytest.mark.parametrize("letters", [4000, 5000])
async def test_a_cookie_without_end_is_not_kept(letters):
    tickets = CountedTickets()
    answer, _ = await sent(TicketedServer(cookie=f"hadoop.auth={'x' * letters}"), tickets, PING, PING)
    assert answer.status == 200
    assert tickets.given == (1 if letters == 4000 else 2)
