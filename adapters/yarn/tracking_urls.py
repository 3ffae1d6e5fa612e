"""Tracking URLs that lead to Heddle: a ResourceManager names its own web proxy, which users may not reach.

Over Hadoop RPC the same is in application reports.

Source: `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppInfo` of Hadoop 3.4.2, by whose `trackingUrl` an
application that runs is at `http://PROXY/proxy/APPLICATION/`.

Tracking URLs in answers with application reports: a ResourceManager names its own web proxy.

Answers of `getApplicationReport` and of `getApplications` have one form: entries of field 1, a report each.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace

from google.protobuf.message import DecodeError

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission, SubmitReply
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.protocol.proto.messages import ApplicationReportProto
from shim.protocol.yarn.submit_times import reports_in, written_report

_APPS = "/ws/v1/cluster/apps"
_AT_ONCE = 128 * 1024
_REPORTING = frozenset({"getApplicationReport", "getApplications"})
_ENTRIES_AT_ONCE = 100
_JSON = re.compile(rb'("trackingUrl":")https?://[^/"\\\s]{1,300}(/proxy/application_[0-9]{1,19}_[0-9]{1,10}/")')
_XML = re.compile(rb"(<trackingUrl>)https?://[^/<\s]{1,300}(/proxy/application_[0-9]{1,19}_[0-9]{1,10}/</trackingUrl>)")


class TrackedAtHeddle(ResourceManager):
    """A `ResourceManager` whose answers on applications name Heddle's proxy.

    Args:
        url: Of the proxy, without a slash at its end.
    """

    def __init__(self, inner: ResourceManager, url: str) -> None:
        self._inner = inner
        self._url = url.rstrip("/").encode()

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        return await self._inner.submit(submission, timeout_s=timeout_s, accept=accept)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        answer = await self._inner.forward(request, timeout_s=timeout_s)
        if request.method != "GET" or not request.path.startswith(_APPS):
            return answer
        done = []
        for piece in tracked_at(self._url, answer.body):
            done.append(piece)
            if len(answer.body) > _AT_ONCE:
                await asyncio.sleep(0)  # of thousands of applications no turn of the loop reads all
        return replace(answer, body=b"".join(done))

    async def close(self) -> None:
        await self._inner.close()


class TrackedByRPC:
    """A `ResourceManagerRPC` whose application reports name Heddle's proxy.

    Args:
        url: Of the proxy, without a slash at its end.
    """

    def __init__(self, inner: ResourceManagerRPC, url: str) -> None:
        self._inner = inner
        self._url = url.rstrip("/")

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        answer = await self._inner.call(call, timeout_s=timeout_s)
        if call.method not in _REPORTING or answer.refusal is not None:
            return answer
        entries = []
        for entry in tracked_reports(self._url, answer.payload):
            entries.append(entry)
            if not len(entries) % _ENTRIES_AT_ONCE:
                await asyncio.sleep(0)
        return replace(answer, payload=b"".join(entries))

    async def close(self) -> None:
        await self._inner.close()


def tracked_at(url: bytes, told: bytes) -> Iterator[bytes]:
    """A document in JSON or XML, piece by piece, with those tracking URLs in it that are a web proxy's at another one.

    A piece ends with an object or an element, so that nothing that is looked for is cut in two.
    """
    is_xml = told.lstrip()[:1] == b"<"
    pattern, end = (_XML, b"</trackingUrl>") if is_xml else (_JSON, b"}")
    begin = 0
    while begin < len(told):
        cut = told.find(end, begin + _AT_ONCE)
        until = len(told) if cut < 0 else cut + len(end)
        yield pattern.sub(lambda found: found[1] + url + found[2], told[begin:until])
        begin = until


_MARK = b"/proxy/application_"
_PROXIED = re.compile(r"https?://[^/\s]{1,300}(/proxy/application_[0-9]{1,19}_[0-9]{1,10}/)")


def tracked_reports(url: str, payload: bytes) -> Iterator[bytes]:
    """An answer, entry by entry, with those tracking URLs in it that are a web proxy's at another one.

    Args:
        url: Of the other proxy, without a slash at its end.
    """
    for whole, report in reports_in(payload):
        yield _tracked(url, report) or whole if _MARK in report else whole


def _tracked(url: str, report: bytes) -> bytes:
    """The entry of a report with its tracking URL at another proxy; empty if it is at none."""
    try:
        told = ApplicationReportProto.FromString(report)
    except DecodeError:
        return b""
    found = _PROXIED.fullmatch(told.trackingUrl)
    if found is None:
        return b""
    told.trackingUrl = url + found[1]
    return written_report(told)
