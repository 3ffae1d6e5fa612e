"""Changes to a configuration file that keep what its owner wrote."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.config.editing import replace_file, value_of, with_cluster, with_cluster_changed, without_cluster
from shim.errors import ConfigError, ConflictError, NotFoundError

TEXT = """\
# ours
[server]
rest = "127.0.0.1:8088" # the usual one

# in the cellar
[[subcluster]]
id = "east"
conf = "/etc/hadoop/east" # of the packages

[[queue]]
name = "root.a"
"""
WEST = """
[[subcluster]]
id = "west"
conf = "/etc/hadoop/west"
filesystems = ["hdfs://ns1"]
"""


def test_a_cluster_stands_behind_the_others_and_leaves_no_trace_when_it_goes() -> None:
    longer = with_cluster(TEXT, "west", {"conf": "/etc/hadoop/west", "filesystems": ["hdfs://ns1"]})
    assert longer == TEXT.replace("\n[[queue]]", WEST + "\n[[queue]]")
    assert without_cluster(longer, "west") == TEXT


def test_other_keys_of_a_cluster_leave_comments_where_they_are() -> None:
    changed = with_cluster_changed(TEXT, "east", {"conf": "/opt/east", "reads_from": {"west": 30.0}})
    assert 'conf = "/opt/east" # of the packages\nreads_from = {west = 30.0}\n\n[[queue]]' in changed
    assert with_cluster_changed(changed, "east", {"conf": "/etc/hadoop/east"}, ["reads_from"]) == TEXT


def test_what_is_not_there_or_there_already_is_refused() -> None:
    with pytest.raises(ConflictError, match="edit east"):
        with_cluster(TEXT, "east", {})
    with pytest.raises(NotFoundError, match="names no sub-cluster 'west'; it names east"):
        without_cluster(TEXT, "west")
    with pytest.raises(NotFoundError, match="no key 'web'; it has id, conf"):
        with_cluster_changed(TEXT, "east", {}, ["web"])
    with pytest.raises(ConflictError, match="the only sub-cluster"):
        without_cluster(TEXT, "east")
    with pytest.raises(ConfigError, match="is not TOML"):
        without_cluster("a [ b", "east")


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1),
    st.sampled_from(["", "[store]\nurl = 'x'\n", "[store]\nurl = 'x'", "[[queue]]\nname = 'root.a'\n\n# end\n"]),
)
def test_any_clusters_may_come_and_go(ids: list[str], text: str) -> None:
    for id_ in ids:
        text = with_cluster(text, id_, {"web": f"http://{id_}:1"})
    read = tomllib.loads(text)
    assert [each["id"] for each in read["subcluster"]] == ids
    for number, id_ in enumerate(ids[:-1]):
        text = without_cluster(text, id_)
        assert [each["id"] for each in tomllib.loads(text)["subcluster"]] == ids[number + 1 :]
    assert {**read, "subcluster": 0} == {**tomllib.loads(text), "subcluster": 0}


@pytest.mark.parametrize(
    ("word", "value"),
    [("30.0", 30.0), ("true", True), ('["a"]', ["a"]), ("/etc/hadoop", "/etc/hadoop"), ('"30"', "30"), ("a b", "a b")],
)
def test_a_word_is_a_value_of_toml_or_itself(word: str, value: object) -> None:
    assert value_of(word) == value


def test_a_file_is_replaced_whole_with_its_mode_and_behind_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "real.toml", tmp_path / "heddle.toml"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    replace_file(link, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777, link.is_symlink()) == ("new", 0o640, True)
    assert {each.name for each in tmp_path.iterdir()} == {"real.toml", "heddle.toml"}
    with pytest.raises(ConfigError, match="cannot be written"):
        replace_file(tmp_path / "none.toml", "new")
