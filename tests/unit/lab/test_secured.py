import zipfile

import pytest

from shim.errors import LabError
from shim.lab import secured
from shim.lab.jars import build_folder
from shim.lab.secured import library_of


@pytest.mark.parametrize(("machine", "folder"), [("x86_64", "Linux-amd64"), ("AArch64", "Linux-aarch64")])
def test_each_machine_has_a_library_of_its_own(machine, folder):
    assert library_of(machine) == f"nativelib/{folder}/libhadoop.so"


def test_a_machine_without_one_is_named():
    with pytest.raises(LabError, match="no native library of Hadoop for s390x: secured clusters run on x86_64, amd64"):
        library_of("s390x")


def test_the_jar_has_a_checksum():
    (line,) = (build_folder() / "native" / "3.3.5-3.sha256").read_text().splitlines()
    assert line.split()[1] == "hadoop-apache-3.3.5-3.jar"


def test_the_library_is_taken_out_of_the_jar(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "hadoop-apache-3.3.5-3.jar", "w") as archive:
        archive.writestr("nativelib/Linux-amd64/libhadoop.so", b"of this machine")
        archive.writestr("nativelib/Linux-ppc64le/libhadoop.so", b"of another")
    monkeypatch.setattr(secured, "ensure", lambda _jars, _say: tmp_path)
    monkeypatch.setattr(secured.platform, "machine", lambda: "x86_64")
    secured.write_native_library(tmp_path / "a" / "native", print)
    assert (tmp_path / "a" / "native" / "libhadoop.so").read_bytes() == b"of this machine"
