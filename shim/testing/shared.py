"""Where the recorded answers, traces and workloads lie that tests and benchmarks read."""

import os
from pathlib import Path

__all__ = ["shared_folder"]

_REPOSITORY = Path(__file__).resolve().parent.parent.parent


def shared_folder() -> Path:
    """The folder with `data/` and `reference/`: `$HEDDLE_SHARED`, else `../shared` beside the repository.

    Raises:
        FileNotFoundError: If neither exists; the message says how to set it.
    """
    candidates = [Path(os.environ["HEDDLE_SHARED"])] if "HEDDLE_SHARED" in os.environ else []
    candidates.append(_REPOSITORY.parent / "shared")
    for candidate in candidates:
        if (candidate / "data").is_dir():
            return candidate
    raise FileNotFoundError(
        f"no data folder in {', '.join(map(str, candidates))}: set HEDDLE_SHARED to the folder that holds data/"
    )
