"""The names of containers that are done with have a bound; the newest are known."""

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
REMEMBERED = 4096


class Unwatched:
    def begun(self, container: ContainerId, since_s: float | None, resource: ResourceVector | None = None) -> None:
        pass

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        pass


def test_of_containers_that_ended_the_newest_are_known() -> None:
    book = ContainerBook(Unwatched())
    ids = [ContainerId(ATTEMPT, number) for number in range(1, REMEMBERED + 2)]
    for each in ids:
        container = Container(each, SubClusterId("east"), ContainerState.ENDED)
        book.add(container)
        book.forget([container])
    assert [book.is_done(each) for each in (ids[0], ids[1], ids[-1])] == [False, True, True]
    assert len(book) == 0
