import pytest

from shim.errors import LabError
from shim.lab.layout import lay_out
from shim.lab.processes import ProcessIdentity
from shim.lab.spec import LabSpec, Tuning
from shim.lab.state import STATE_FILE, ClusterRecord, DaemonRecord, LabState, read_state, write_state


def a_state(folder):
    spec = LabSpec.of(clusters=1, overrides={"yarn-site.xml": {"a": "b"}})
    (layout,) = lay_out(spec, base_port=21_000, first_octet=10)
    daemon = DaemonRecord("east-rm", "east", "org.Main", str(folder), "127.0.0.1:1", ProcessIdentity(7, 11))
    return LabState((ClusterRecord(spec.clusters[0], layout, "/jars"),), (daemon,), Tuning.BOOT)


def test_what_is_written_is_read_back(tmp_path):
    write_state(tmp_path, a_state(tmp_path))
    assert read_state(tmp_path) == a_state(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [STATE_FILE]


def test_no_file_is_no_lab(tmp_path):
    assert read_state(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"clusters": 1}'])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, text):
    (tmp_path / STATE_FILE).write_text(text)
    with pytest.raises(LabError, match="is not a lab's state"):
        read_state(tmp_path)


def test_the_file_of_another_format_is_left_alone(tmp_path):
    write_state(tmp_path, a_state(tmp_path))
    path = tmp_path / STATE_FILE
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(LabError, match="has format 2, this Heddle writes 1"):
        read_state(tmp_path)
