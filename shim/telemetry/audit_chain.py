"""A chain of hashes through the lines of an audit file, so that a line that was changed, removed or moved shows.

Each line carries the name of its chain, its number in it from 1 on, and the SHA-256 of the line before it. The head of
a chain (the number and the hash of its last line) is kept beside the file, so that the chain goes on after a restart
and after a rotation. A line that a crash cut in two is not a record; the next record names its hash.

Whoever may write the file can cut off its end, or begin a chain anew from some line on: a head that was kept elsewhere
shows that. With a key each line has a seal of its own, too (HMAC-SHA-256 of the line without it): then nobody without
the key can write a line, and a head that is sealed shows a cut unless an older one of that file was kept to go with it.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

_NONE = ""
_SEALED = re.compile(rb'(\{.*),"seal":"([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of a chain.

    Attributes:
        number: Of its last line; 0 for a chain without lines.
        digest: SHA-256 of that line without its end, in hexadecimal; empty for a chain without lines.
    """

    chain: str
    number: int = 0
    digest: str = _NONE

    def __str__(self) -> str:
        return f"{self.chain}:{self.number}:{self.digest}"


@dataclass(frozen=True, slots=True)
class ChainSummary:
    """A chain as it was found."""

    first: int
    lines: int
    head: ChainHead


@dataclass(frozen=True, slots=True)
class ChainFindings:
    """The outcome of a look at audit files.

    Attributes:
        chains: Each chain, by the place of its first line.
        troubles: What does not fit, each with its line; empty for whole chains.
        notes: What is no trouble and not covered either.
    """

    chains: Sequence[ChainSummary]
    troubles: Sequence[str]
    notes: Sequence[str]


def seal_of(data: bytes, key: bytes) -> str:
    """The seal of a line without it, or of a head: in hexadecimal."""
    return hmac.digest(key, data, hashlib.sha256).hex()


def linked(said: Mapping[str, Any], head: ChainHead, *, torn: bytes = b"", key: bytes = b"") -> tuple[bytes, ChainHead]:
    """The next line of a chain, without its end, and the chain's new head.

    Args:
        torn: The rest of a line that a crash cut, if that is what the file ends with.
        key: Of the line's seal; empty for none.
    """
    link: dict[str, Any] = {"chain": head.chain, "number": head.number + 1, "previous": head.digest}
    if torn:
        link["torn"] = _digest(torn)
    line = msgspec.json.encode({**said, **link})
    if key:
        line = b'%b,"seal":"%b"}' % (line[:-1], seal_of(line, key).encode())
    return line, ChainHead(head.chain, head.number + 1, _digest(line))


def follow(head: ChainHead, lines: Iterable[bytes]) -> ChainHead:
    """The head after lines that were written and of which the kept head does not tell: a crash came between."""
    for line in lines:
        record = _record(line)
        if record is not None and _fits(record, head):
            head = ChainHead(head.chain, head.number + 1, _digest(line))
    return head


def verify(
    lines: Iterable[tuple[str, bytes]], expected: Sequence[ChainHead] = (), *, key: bytes = b""
) -> ChainFindings:
    """Look through audit files, oldest first.

    Args:
        lines: Each line without its end, with its place for messages: `audit.log:12`.
        expected: Heads that were kept: each has to be in its chain.
        key: Of the lines' seals; empty to look at none. Lines from before there was a key are noted.
    """
    looked = _Looked(kept={(head.chain, head.number, head.digest): head for head in expected}, key=key)
    for place, line in lines:
        looked.take(place, line)
    return looked.findings()


@dataclass(slots=True)
class _Looked:
    """Lines seen so far."""

    kept: dict[tuple[str, int, str], ChainHead]
    key: bytes = b""
    chains: dict[str, ChainSummary] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    torn: dict[str, str] = field(default_factory=dict)
    unchained: int = 0
    sealed: int = 0
    unsealed: int = 0

    def take(self, place: str, line: bytes) -> None:
        record = _record(line)
        if record is None:
            self.torn[_digest(line)] = place
        elif "chain" not in record and not self.chains:
            self.unchained += 1
        elif not _is_linked(record):
            self.troubles.append(f"{place}: the line has no place in a chain")
        else:
            self._link(place, line, record)

    def _link(self, place: str, line: bytes, record: Mapping[str, Any]) -> None:
        name, number = record["chain"], record["number"]
        self.torn.pop(record.get("torn", _NONE), None)
        known = self.chains.get(name)
        if known is None:
            if (number == 1) != (record["previous"] == _NONE):
                self.troubles.append(f"{place}: a chain begins with number 1 and nothing before it")
            elif number > 1 and self.unchained:  # files that were thrown away are older than all that are left
                self.troubles.append(f"{place}: lines of no chain stand where {number - 1} of chain {name} should")
            known = ChainSummary(number, 0, ChainHead(name, number - 1, record["previous"]))
        elif not _fits(record, known.head):
            self.troubles.append(f"{place}: {_misfit(number, known.head)}")
        head = ChainHead(name, number, _digest(line))
        for each in [each for each in self.kept if each[:2] == (name, number)]:
            expected = self.kept.pop(each)
            if expected.digest != head.digest:
                self.troubles.append(f"{place}: the line is not the one whose hash was kept ({expected})")
        if self.key:
            self._look_at_seal(place, line)
        self.chains[name] = replace(known, lines=known.lines + 1, head=head)

    def _look_at_seal(self, place: str, line: bytes) -> None:
        found = _SEALED.fullmatch(line)
        if found is None and not self.sealed:
            self.unsealed += 1
        elif found is None:
            self.troubles.append(f"{place}: the line has no seal, and lines before it have one")
        else:
            self.sealed += 1
            if not hmac.compare_digest(seal_of(found[1] + b"}", self.key).encode(), found[2]):
                self.troubles.append(f"{place}: the line's seal is not of this key: it is not as it was written")

    def findings(self) -> ChainFindings:
        if self.key and self.chains and not self.sealed:
            self.troubles.append("no line has a seal: set log.audit_key_file, or somebody has written all of them anew")
        cut = [f"{place}: the line is no record, and no later one tells of it" for place in self.torn.values()]
        gone = [f"the line whose hash was kept is not there ({head})" for head in self.kept.values()]
        notes = [f"{self.unchained} lines before the first chain are not covered"] if self.unchained else []
        if self.sealed and self.unsealed:
            notes.append(f"{self.unsealed} lines before the first sealed one can be anybody's")
        notes += [
            f"chain {each.head.chain} begins with number {each.first}: give the older files, too"
            for each in self.chains.values()
            if each.first > 1
        ]
        return ChainFindings(tuple(self.chains.values()), (*self.troubles, *cut, *gone), tuple(notes))


def _misfit(number: int, head: ChainHead) -> str:
    wanted = head.number + 1
    if number > wanted:
        return f"lines {wanted} to {number - 1} of chain {head.chain} are missing before it"
    if number < wanted:
        return f"number {number} of chain {head.chain} comes after number {head.number}"
    return f"the line before it in chain {head.chain}, number {head.number}, is not as it was written"


def _fits(record: Mapping[str, Any], head: ChainHead) -> bool:
    place = (record.get("chain"), record.get("number"), record.get("previous"))
    return place == (head.chain, head.number + 1, head.digest)


def _is_linked(record: Mapping[str, Any]) -> bool:
    number = record.get("number")
    texts = (record.get("chain"), record.get("previous"), record.get("torn", _NONE))
    is_number = isinstance(number, int) and not isinstance(number, bool) and number > 0
    return is_number and all(isinstance(text, str) for text in texts)


def _record(line: bytes) -> Mapping[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
