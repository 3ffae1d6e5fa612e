"""Folder of the public traces on which published systems were measured: they are no part of the project.

docs/researchers/evaluation.md names them with their origin. Tests that need them carry the marker `data`.
"""

import os
import sys
from functools import cache
from pathlib import Path

DATA_VARIABLE = "HEDDLE_DATA"
"""Names the folder with `jobs/`, `megha_constraints/`, `tpch_decima/` and `alibaba_dag_2018/`."""

_OLD_VARIABLE = "HEDDLE_SHARED"
"""Its name before 0.2: the folder above. Read for one version."""


@cache
def _named() -> Path | None:
    if found := os.environ.get(DATA_VARIABLE):
        return Path(found)
    if found := os.environ.get(_OLD_VARIABLE):
        sys.stderr.write(f"{_OLD_VARIABLE} is now {DATA_VARIABLE}, which names the data folder itself\n")
        return Path(found) / "data"
    return None


def has_data() -> bool:
    """True if the environment names a folder that is there."""
    folder = _named()
    return folder is not None and folder.is_dir()


def data_folder() -> Path:
    """The folder that `$HEDDLE_DATA` names.

    Raises:
        FileNotFoundError: If it names none, or one that is not there.
    """
    folder = _named()
    if folder is None or not folder.is_dir():
        raise FileNotFoundError(
            f"no public traces in {folder or 'any folder'}: set {DATA_VARIABLE} to a folder that has them "
            "(docs/researchers/evaluation.md says which, and where they come from)"
        )
    return folder
