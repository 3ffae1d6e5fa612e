import pytest

from shim.domain.file_systems import FileSystems, file_system_of
from shim.domain.ids import SubClusterId

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("hdfs://nn-east:8020/user/alice/.staging/job.jar", "hdfs://nn-east"),
        ("hdfs://nn-east/user", "hdfs://nn-east"),
        ("HDFS://NN-East:9000", "hdfs://nn-east:9000"),
        ("hdfs://alice@nn-east:8020/x", "hdfs://nn-east"),
        ("hdfs://nameservice1/x", "hdfs://nameservice1"),
        ("viewfs://all/data", "viewfs://all"),
        ("s3a://bucket/key", "s3a://bucket"),
        ("webhdfs://nn-east:8020/x", "webhdfs://nn-east:8020"),
        ("hdfs://[::1]:8020/x", "hdfs://[::1]"),
        ("hdfs://nn?x", "hdfs://nn"),
        ("hdfs:///user/alice", ""),
        ("file:///tmp/x", ""),
        ("file://host/tmp/x", ""),
        ("/user/alice", ""),
        ("", ""),
        ("://nn/x", ""),
        ("hdfs:nn", ""),
        ("hdfs://nn\n/x", ""),
        ("hdfs://nn\x00/x", ""),
        ("hdfs://a@", ""),
        ("hdfs://" + "n" * 301, ""),
        ("h" * 33 + "://nn/x", ""),
        ("hdfs://nn/" + "x" * 1_000_000, "hdfs://nn"),
    ],
)
def test_a_url_names_its_file_system_by_scheme_and_authority(url, named):
    assert file_system_of(url) == named


def test_sub_clusters_that_name_one_file_system_share_it():
    systems = FileSystems(
        {EAST: frozenset({"hdfs://e", "s3a://b"}), WEST: frozenset({"s3a://b"}), NORTH: frozenset({"hdfs://n"})}
    )
    assert systems.shared_with(EAST) == {WEST}
    assert systems.shared_with(NORTH) == frozenset()
    assert not FileSystems({EAST: frozenset()})


def test_files_in_nobodys_file_system_do_not_count():
    systems = FileSystems({EAST: frozenset({"hdfs://e"}), WEST: frozenset({"hdfs://w"})})
    assert systems.parts_of(["hdfs://e", "hdfs://e", "hdfs://w", "hdfs://x"]) == {EAST: 2 / 3, WEST: 1 / 3}
    assert systems.parts_of(["hdfs://x"]) == {}
    assert systems.parts_of([]) == {}
