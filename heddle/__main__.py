"""The command `heddle`, also as `python -m heddle`: a process that has the daemon's packages first on its path.

They have everyday names. An installed Heddle keeps them inside this folder, where no other program finds them; in a
clone they lie beside it. Children that `multiprocessing` spawns are handed this path.
"""

import sys
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process."""
    here = Path(__file__).absolute().parent
    sys.path.insert(0, str(here if (here / "shim").is_dir() else here.parent))

    from shim.cli import main as command  # noqa: PLC0415 - found by the path above, and by no other

    command()


if __name__ == "__main__":
    main()
