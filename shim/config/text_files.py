"""Files that operators name to commands, of which only so much is read."""

from pathlib import Path

from shim.errors import BadRequestError


def text_of(file: Path, most_bytes: int) -> str:
    """Read a whole file, if it is no larger than it may be.

    It is not asked for its size first: pipes and growing files have none.

    Raises:
        BadRequestError: If it is larger.
        OSError: If it cannot be read.
        UnicodeDecodeError: If it is no UTF-8.
    """
    with file.open("rb") as opened:
        found = opened.read(most_bytes + 1)
    if len(found) > most_bytes:
        raise BadRequestError(f"{file} has more than the {most_bytes} bytes that it may have")
    return found.decode("utf-8")
