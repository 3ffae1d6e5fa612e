"""What clients are told of the largest container, and which homes grant it."""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission
from shim.errors import BadRequestError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.container_limits import ContainerLimits
from shim.submission.core.home import HomeSettings, choose_home
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
GPU = "yarn.io/gpu"
BIG = ResourceVector(16384, 16)


def most(memory, vcores=4, **types):
    return ResourceVector(memory, vcores, {GPU: types["gpus"]} if types else {})


class Federation:
    """Sub-clusters of given largest containers, a policy, and users with queues."""

    def __init__(self, queues=(), users=None, **maxima):
        self.clock = FakeClock()
        self.view = FederationView(tuple(map(SubClusterId, maxima)), usual(ViewSettings))
        self.policy = SharePolicy(tuple(queues))
        self.admissions = {}
        users = users or {}
        for name, (maximum, paths) in maxima.items():
            self.tell(name, maximum, paths)
        self.limits = ContainerLimits(
            self.view, self.admissions, self.clock, lambda: self.policy, lambda user: users.get(user, "root.default")
        )

    def tell(self, name, maximum, paths, sequence=1, total=BIG):
        self.view.apply(
            a_report(
                name,
                sequence,
                polled_at_s=self.clock.now_s(),
                maximum_allocation=maximum,
                capacity=BIG,
                nodes=(a_node_report(total=total),),
                queues=tuple(a_queue_report(path, maximum=BIG) for path in paths),
            )
        )

    def home_of(self, **changes):
        submission = a_submission(**({"queue": "root.etl", "resource": ResourceVector(512, 1)} | changes))
        settings = HomeSettings(containers_up_to=self.limits.up_to)
        return choose_home(submission, self.view, self.admissions, self.clock.now_s(), settings)


DEFAULT, ETL = ("root.default",), ("root.default", "root.etl")


def test_a_client_is_told_the_smallest_of_all_sub_clusters_type_by_type():
    federation = Federation(east=(most(4096, 2), DEFAULT), west=(most(1024, 8), DEFAULT))
    assert federation.limits.told_to("dave") == ResourceVector(1024, 2)


def test_only_sub_clusters_with_the_users_queue_count():
    federation = Federation(users={"etl": "root.etl"}, east=(most(4096), ETL), west=(most(1024), DEFAULT))
    assert federation.limits.told_to("etl") == most(4096)
    assert federation.limits.told_to("dave") == most(1024)


def test_a_queue_by_another_name_is_the_same_queue():
    queue = FederatedQueue("root.etl", names={WEST: "root.batch"})
    federation = Federation(
        [queue],
        {"etl": "root.etl"},
        east=(most(4096), ETL),
        west=(most(1024), ("root.batch",)),
        north=(most(1), DEFAULT),
    )
    assert federation.limits.told_to("etl") == most(1024)


def test_where_nobody_has_the_queue_all_count():
    federation = Federation(users={"x": "root.nope"}, east=(most(4096), DEFAULT), west=(most(1024), DEFAULT))
    assert federation.limits.told_to("x") == most(1024)


def test_one_that_takes_no_applications_does_not_count_unless_none_does():
    federation = Federation(east=(most(4096), DEFAULT), west=(most(1024), DEFAULT))
    federation.admissions[WEST] = Admission.DRAINING
    assert federation.limits.told_to("dave") == most(4096)
    federation.admissions[EAST] = Admission.CORDONED
    federation.tell("east", most(4096), DEFAULT, 2)
    assert federation.limits.told_to("dave") == most(1024)


def test_the_newest_reports_count_and_the_largest_node():
    federation = Federation(east=(most(8192), DEFAULT), west=(most(4096), DEFAULT))
    assert federation.limits.told_to("dave") == most(4096)
    federation.tell("west", most(4096), DEFAULT, 2, total=ResourceVector(2048, 8))
    assert federation.limits.told_to("dave") == most(2048)
    federation.view.retire([WEST])
    assert federation.limits.told_to("dave") == most(8192)


def test_a_resource_type_counts_where_it_is_registered():
    federation = Federation(east=(most(4096, gpus=4), DEFAULT), west=(most(1024), DEFAULT))
    federation.tell("east", most(4096, gpus=4), DEFAULT, 2, total=ResourceVector(8192, 8, {GPU: 2}))
    assert federation.limits.told_to("dave") == most(1024, gpus=2)


def test_before_anything_is_known_nothing_is_told():
    assert Federation().limits.told_to("dave") == ResourceVector()


def test_a_queue_that_says_how_large_containers_will_be_is_told_so_and_its_homes_grant_it():
    queue = FederatedQueue("root.etl", containers_up_to=3000)
    federation = Federation([queue], {"etl": "root.etl"}, east=(most(4096, 2), ETL), west=(most(1024, 8), ETL))
    assert federation.limits.told_to("etl") == ResourceVector(4096, 2)
    decision = federation.home_of()
    assert decision.home_subcluster == EAST
    assert decision.candidates[1].reason == (
        "containers of up to 3000 MiB are above its maximum allocation of 1024 MiB and 8 vcores"
    )
    assert federation.limits.told_to("dave") == ResourceVector(1024, 2), "another queue"


def test_what_a_queue_says_above_all_that_is_granted_counts_as_the_largest():
    queue = FederatedQueue("root.etl", containers_up_to=10**6)
    federation = Federation([queue], {"etl": "root.etl"}, east=(most(4096), ETL), west=(most(1024), ETL))
    assert federation.limits.told_to("etl") == most(4096)
    assert federation.home_of().home_subcluster == EAST


def test_the_default_queue_says_it_for_what_names_none():
    queue = FederatedQueue("root.default", containers_up_to=3000)
    federation = Federation([queue], east=(most(1024), DEFAULT), west=(most(4096), DEFAULT))
    assert federation.home_of(queue="").home_subcluster == WEST


def test_a_tag_says_it_of_one_application():
    federation = Federation(east=(most(1024), ETL), west=(most(4096), ETL))
    assert federation.home_of(tags=("heddle-containers-up-to=2048",)).home_subcluster == WEST
    assert federation.home_of().home_subcluster == EAST
    refusal = federation.home_of(tags=("heddle-containers-up-to=8192",)).refusal
    assert "Requested resource=<memory:8192, vCores:1>, maximum allowed allocation=<memory:4096" in refusal.message


def test_a_tag_says_of_other_types_what_containers_will_have_and_the_home_has_them():
    federation = Federation(east=(most(4096), ETL), west=(most(2048, gpus=2), ETL))
    federation.tell("west", most(2048, gpus=2), ETL, 2, total=ResourceVector(8192, 8, {GPU: 2}))
    assert federation.home_of().home_subcluster == EAST
    assert federation.home_of(tags=("heddle-containers-up-to=YARN.IO/GPU:1",)).home_subcluster == WEST
    decision = federation.home_of(tags=("heddle-containers-up-to=yarn.io/gpu:2", "heddle-containers-up-to=vcores:3"))
    assert decision.home_subcluster == WEST
    assert decision.candidates[0].reason == (
        "it does not tell of resource type yarn.io/gpu, of which containers will have 2"
    )
    too_many = federation.home_of(tags=("heddle-containers-up-to=yarn.io/gpu:3",))
    assert "yarn.io/gpu: 3" in too_many.refusal.message
    assert federation.home_of(tags=("heddle-containers-up-to=vcores:9",)).refusal is not None
    assert federation.home_of(tags=("heddle-containers-up-to=fpga:1",)).refusal is not None, "nobody has it"


@pytest.mark.parametrize("size", ["", "4 GiB", "-1", "9" * 13, "1e3", "gpu:", "gpu:one", "gpu:-1"])
def test_a_tag_that_says_no_size_is_refused(size):
    with pytest.raises(BadRequestError, match="write MiB"):
        Federation(east=(most(1024), ETL)).home_of(tags=(f"heddle-containers-up-to={size}",))


class CountsLooks(tuple[object, ...]):
    """Nodes that know how often somebody went through them."""

    __slots__ = ()
    looks = 0

    def __iter__(self):
        type(self).looks += 1
        return super().__iter__()


def test_nodes_are_looked_at_when_they_were_told_anew_and_not_for_each_report():
    federation = Federation(east=(most(8192), DEFAULT))
    told = {"maximum_allocation": most(8192), "queues": (a_queue_report("root.default", maximum=BIG),)}
    for sequence, size in ((2, 4096), (3, 2048)):
        nodes = CountsLooks((a_node_report(total=ResourceVector(size, 4)),))
        federation.view.apply(a_report("east", 10 * sequence, nodes=nodes, **told))
        CountsLooks.looks = 0
        for number in range(1, 6):
            only_queues = {"documents": {"scheduler": b"{}"}, **told}
            federation.view.apply(a_report("east", 10 * sequence + number, **only_queues))
            assert federation.limits.told_to("ada") == ResourceVector(size, 4)
        assert CountsLooks.looks == 1
    federation.view.apply(
        a_report("east", 40, **{**told, "maximum_allocation": most(1024), "documents": {"scheduler": b"{}"}})
    )
    assert federation.limits.told_to("ada") == ResourceVector(1024, 4)
