"""Folders of users: names and plain files below them, and nothing that a link leads to."""

import os

import pytest

from adapters.hdfs import WebAccess, folder_at


def opened(place):
    return folder_at(str(place), WebAccess("heddle", (), 1.0)).opened()


def test_files_are_read_in_part_and_what_is_not_there_is_none(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"0123456789")
    with opened(tmp_path) as folder:
        assert folder.read(("a", "file"), 2, 3) == b"234"
        assert folder.read(("a", "file"), 10, 3) == b""
        assert folder.read(("a", "nothing"), 0, 3) is None
        assert folder.read(("b", "file"), 0, 3) is None
        assert folder.names(("a",)) == ["file"]
        assert folder.names(("b",)) == ()
    with opened(tmp_path / "b") as folder:
        assert folder.names(()) == ()


def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "link").symlink_to(tmp_path / "real" / "file")
    os.mkfifo(tmp_path / "pipe")
    with opened(tmp_path) as folder:
        for path in (("link", "file"), ("real", "link"), ("pipe",)):
            with pytest.raises(OSError, match=r"link|levels|directory|plain"):
                folder.read(path, 0, 1)
        with pytest.raises(OSError, match=r"directory|levels"):
            folder.names(("link",))
