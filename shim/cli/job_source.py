"""The source of simulated jobs: a trace, a load, or a history, as verbs name it."""

import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from shim.errors import BadRequestError
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.sls import MOST_BYTES
from shim.simulation.traces import Workload, fixed_jobs, read_trace
from shim.simulation.what_if.past_jobs import RecordedHistory
from shim.simulation.what_if.recorded import history_of_file, history_of_text


@dataclass(frozen=True, slots=True)
class JobSource:
    """A trace, or a load of equal jobs with Poisson arrivals.

    Attributes:
        trace: The file of a trace.
        load: Work that arrives, as a part of what the slots can do.
        n_jobs: At most so many jobs of a trace; exactly so many of a load.
        n_tasks: Tasks of each job of a load.
        duration_s: Of each of these tasks.
        cutoff_s: Jobs of a trace with a shorter mean task time are short; None for the published cut.
    """

    trace: Path | None
    load: float | None
    n_jobs: int | None
    n_tasks: int
    duration_s: float
    cutoff_s: float | None = None

    def read(self, *, seed: int, n_slots: int, usual_jobs: int) -> Workload:
        """Read or draw the jobs.

        Args:
            seed: Where arrivals are drawn from.
            n_slots: Slots that a load is a part of.
            usual_jobs: Jobs of a load where no number is given.

        Raises:
            BadRequestError: If there is not exactly one of a trace and a load, or the trace cannot be read.
        """
        match self:
            case JobSource(trace=Path() as trace, load=None):
                return read_trace(trace, first_jobs=self.n_jobs, cutoff_s=self.cutoff_s)
            case JobSource(trace=None, load=float() as load):
                return fixed_jobs(
                    seeded(seed, "arrivals"),
                    n_jobs=self.n_jobs or usual_jobs,
                    n_tasks=self.n_tasks,
                    duration_s=self.duration_s,
                    load=load,
                    n_slots=n_slots,
                )
            case _:
                raise BadRequestError("give either --trace FILE or --load PART")


# The history that a verb names: a file, or the address of whoever lists applications.

_PATH = "/ws/v1/cluster/apps"
_STATES = "FINISHED,FAILED,KILLED"
_TIMEOUT_S = 60.0
_MOST_S = 300.0
_MOST_REDIRECTS = 5
_SCHEMES = ("http://", "https://")


def history_at(place: str, most_jobs: int, transport: httpx.BaseTransport | None = None) -> RecordedHistory:
    """Read a history.

    Args:
        place: A file, or an address; one without a path is completed by the list of ended applications.
        most_jobs: Only the first so many.
        transport: Instead of the network, for tests.

    Raises:
        BadRequestError: If it cannot be read, or is none.
    """
    if not place.startswith(_SCHEMES):
        return history_of_file(Path(place), most_jobs)
    return history_of_text(_fetched(place, transport), place, most_jobs)


def _fetched(place: str, transport: httpx.BaseTransport | None) -> str:
    """The body at an address, which is neither too large nor too slow; no other server is asked in its place."""
    try:
        url = httpx.URL(place)
        if url.path in {"", "/"}:
            url = url.copy_with(path=_PATH, params=dict(url.params) or {"states": _STATES})
        with (
            _client(url, transport) as http,
            http.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            if not answer.is_success:
                raise BadRequestError(
                    f"{url} answers {answer.status_code}; where tickets are asked for, fetch it by "
                    "`curl --negotiate -u : URL` and name the file"
                )
            return _body(answer, str(url)).decode("utf-8")
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeDecodeError) as error:
        raise BadRequestError(f"no history at {place}: {str(error).rstrip('.')}") from error


def _client(url: httpx.URL, transport: httpx.BaseTransport | None) -> httpx.Client:
    """Follows a few redirects, all of them to the server that was named."""

    def refuse_others(request: httpx.Request) -> None:
        if (request.url.scheme, request.url.netloc) != (url.scheme, url.netloc):
            other = request.url.copy_with(query=None, userinfo=b"")
            raise BadRequestError(f"{url.host} refers to {other}: if that is meant, name it instead")

    return httpx.Client(
        timeout=_TIMEOUT_S,
        trust_env=False,
        follow_redirects=True,
        max_redirects=_MOST_REDIRECTS,
        event_hooks={"request": [refuse_others]},
        transport=transport,
    )


def _body(answer: httpx.Response, url: str) -> bytes:
    body, until_s = bytearray(), time.monotonic() + _MOST_S
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > MOST_BYTES or time.monotonic() > until_s:
            limit = f"{MOST_BYTES} bytes and {_MOST_S:g} s"
            raise BadRequestError(f"{url} takes more than the {limit} that a history may take: add ?limit=1000")
    return bytes(body)
