"""What a configuration that is read anew changes, and when it may not."""

import asyncio
import tempfile

import pytest

from shim.app.reloading import ProgramFiles, Reloading, changed_keys
from shim.config.loader import Config, parse
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import ConfigError, ConflictError
from shim.federation.administration import Drainage

EAST = '[[subcluster]]\nid = "east"\nweb = "http://a:1"\n'
WEST = '[[subcluster]]\nid = "west"\nweb = "http://b:1"\n'
APPLICATION = ApplicationId(1, 7)


def config(text: str) -> Config:
    return parse(text, source="heddle.toml", environment={})


async def in_order() -> tuple[str, ...]:
    return ("warning: old",)


def reloading(new: Config, *running: ApplicationId, admission: Admission = Admission.DRAINING) -> Reloading:
    async def still_there(subcluster: SubClusterId) -> Drainage:
        assert subcluster == "west"
        return Drainage(subcluster, admission, running)

    return Reloading(config(EAST + WEST), lambda: new, still_there, check=in_order, program_files=of_another_program())


def of_another_program() -> ProgramFiles:
    with tempfile.NamedTemporaryFile() as file:
        return ProgramFiles([file.name])


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (EAST, EAST, []),
        (EAST, EAST + WEST, ["subcluster west"]),
        (EAST + WEST, WEST + EAST, ["the order of subclusters"]),
        (EAST, EAST.replace("a:1", "a:2"), ["subcluster east"]),
        (EAST, '[poll]\ninterval_s = 9\n[server]\nrest = "127.0.0.1:1"\n' + EAST, ["server.rest", "poll.interval_s"]),
        (EAST, '[[queue]]\nname = "root.a"\nweight = 2\n' + EAST, ["queue root.a"]),
        (EAST, '[server.tls]\ncertificate = "/a"\nkey = "/b"\n' + EAST, ["server.tls.certificate", "server.tls.key"]),
    ],
)
def test_a_change_is_named_by_its_key(before: str, after: str, changed: list[str]) -> None:
    assert [*changed_keys(config(before), config(after))] == changed


async def test_a_cluster_where_something_runs_does_not_go() -> None:
    asked = reloading(config(EAST), APPLICATION)
    with pytest.raises(ConflictError, match=r"west would go, and 1 applications are there \(application_1_0007\)"):
        await asked.reload(by="ops")
    assert not asked.agreed.is_set()


@pytest.mark.parametrize(("running", "admission"), [((), Admission.DRAINING), ((APPLICATION,), Admission.RETIRED)])
async def test_one_that_is_drained_or_dead_goes(running: tuple[ApplicationId, ...], admission: Admission) -> None:
    asked = reloading(config(EAST), *running, admission=admission)
    plan = await asked.reload(by="ops")
    assert (plan.removed, plan.changed, plan.warnings) == (["west"], ["subcluster west"], ("warning: old",))
    assert await asked.agreed_before(asyncio.Event())


async def test_a_dry_run_agrees_to_nothing_and_a_second_one_waits_for_no_third() -> None:
    asked = reloading(config(EAST))
    assert (await asked.plan()).removed == ["west"]
    assert not asked.agreed.is_set()
    await asked.reload(by="ops")
    with pytest.raises(ConflictError, match="already"):
        await asked.reload(by="ops")


async def test_what_cannot_be_read_is_a_conflict() -> None:
    def read() -> Config:
        raise ConfigError("heddle.toml", "poll.interval_s", "is not a number")

    asked = Reloading(config(EAST), read, check=in_order)
    with pytest.raises(ConflictError, match=r"poll\.interval_s"):
        await asked.reload(by="ops")


async def test_whoever_ends_meanwhile_ends() -> None:
    asked = reloading(config(EAST))
    await asked.reload(by="ops")
    ended = asyncio.Event()
    ended.set()
    assert not await asked.agreed_before(ended)


LAST = WEST.replace("b:1", "b:2")
DOORS = 'client_rpc = "127.0.0.1:8"\n'


@pytest.mark.parametrize(
    ("new", "program_files", "warnings"),
    [
        (EAST + LAST, None, ()),
        (WEST + EAST, None, ()),
        (EAST + LAST, of_another_program(), ("warning: old",)),
        (EAST + WEST, None, ("warning: old",)),
        (f"[poll]\ninterval_s = 9\n{EAST}{LAST}", None, ("warning: old",)),
        (EAST + LAST + DOORS, None, ("warning: old",)),
    ],
    ids=["a cluster", "their order", "another program", "nothing", "another key", "another door"],
)
async def test_another_process_checks_unless_clusters_alone_differ(
    new: str, program_files: ProgramFiles | None, warnings: tuple[str, ...]
) -> None:
    asked = Reloading(config(EAST + WEST), lambda: config(new), check=in_order, program_files=program_files)
    assert (await asked.reload(by="ops")).warnings == warnings


async def test_clusters_whose_folder_is_not_there_are_refused() -> None:
    new = config(EAST + '[[subcluster]]\nid = "west"\nconf = "/no/such/folder"\n')
    asked = Reloading(config(EAST + WEST), lambda: new, check=in_order)
    with pytest.raises(ConflictError, match="/no/such/folder"):
        await asked.reload(by="ops")
    assert not asked.agreed.is_set()
