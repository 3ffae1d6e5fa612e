"""Documents of which some row is odd: what cannot be read is taken out by its form, and costs itself alone.

A form is a `msgspec.Struct`. What may be a list has rows: one that is not of its form, and cannot be mended by taking
out what is below it, is left out and counted by its form's `NOUN`. A member that is no list makes its object unreadable
if it is odd; one that is null is as if it were not told. So a decoder is tried first, and this only if it fails: it
takes its time.
"""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from shim.domain.steps import at_once
from shim.errors import RemoteProtocolError

_A_TURN = 20
"""Objects that are looked at before others have their turn."""


_UNNAMED = "labels"
"""What rows are that are no objects."""


class _OddError(Exception):
    """An object that cannot be read."""


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of a form.

    Attributes:
        told_as: Its type.
        row: What each row is if it may be a list; None if it may not.
        inner: What it is if it may be an object.
        noun: What its rows are called if it has nothing but rows.
    """

    name: str
    told_as: Any
    row: Any
    inner: type[msgspec.Struct] | None
    is_required: bool
    noun: str | None


class Mender:
    """Takes what cannot be read out of one decoded document.

    Args:
        most_levels: Of objects within objects: a document with more is refused.
        left_out: Where rows are counted that are taken out, by what they are.
        root: Form of the object, met first, that all else is below: it is read without what is odd of it, and counts.
    """

    def __init__(self, most_levels: int, left_out: Counter[str], *, root: type[msgspec.Struct] | None = None) -> None:
        self._most_levels = most_levels
        self._left_out = left_out
        self._root = root
        self._seen = 0

    def steps(self, told: Any, form: type[msgspec.Struct]) -> Generator[None, None, dict[str, Any]]:
        """The document as far as it is of its form; pauses now and then.

        Raises:
            RemoteProtocolError: If it cannot be read as a whole, or is too deep.
        """
        try:
            return (yield from self._object(told, form, 1))
        except _OddError as odd:
            raise RemoteProtocolError(f"the document is not readable: {odd}") from None

    def _object(self, told: Any, form: type[msgspec.Struct], level: int) -> Generator[None, None, dict[str, Any]]:
        if level > self._most_levels:
            raise RemoteProtocolError(f"the document has more than {self._most_levels} levels")
        if not isinstance(told, dict):
            raise _OddError(f"{type(told).__name__} instead of an object")
        is_root = form is self._root
        if is_root:
            self._root = None
        self._seen += 1
        if self._seen % _A_TURN == 0:
            yield
        found: dict[str, Any] = {}
        for member in _members(form):
            value = told.get(member.name)
            if value is None and not member.is_required:
                continue
            try:
                found[member.name] = yield from self._value(value, member, level)
            except _OddError:
                if member.noun is None and not is_root:
                    raise
                self._left_out[member.noun or _noun(form)] += 1
        return found

    def _value(self, told: Any, member: _Member, level: int) -> Generator[None, None, Any]:
        if isinstance(told, list) and member.row is not None:
            return (yield from self._rows(told, member.row, level))
        if isinstance(told, dict) and member.inner is not None:
            if member.inner is member.row:  # a list of one
                return (yield from self._rows([told], member.row, level))
            return (yield from self._object(told, member.inner, level + 1))
        return _checked(told, member.told_as)

    def _rows(self, told: list[Any], form: Any, level: int) -> Generator[None, None, list[Any]]:
        kept = []
        for row in told:
            try:
                kept.append((yield from self._object(row, form, level + 1)) if _is_form(form) else _checked(row, form))
            except _OddError:
                self._left_out[_noun(form)] += 1 + _below(row, form)
        return kept


def mended(told: Any, form: type[msgspec.Struct], left_out: Counter[str], *, most_levels: int = 8) -> dict[str, Any]:
    """See `Mender.steps`, without a pause."""
    return at_once(Mender(most_levels, left_out).steps(told, form))


def _checked(told: Any, told_as: Any) -> Any:
    try:
        msgspec.convert(told, told_as, strict=False)
    except msgspec.ValidationError as exc:
        raise _OddError(str(exc)) from None
    return told


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _members(form: type[msgspec.Struct]) -> tuple[_Member, ...]:
    found = []
    for field in msgspec.structs.fields(form):
        row = _row_in(field.type)
        inner = next(filter(_is_form, _kinds(field.type)), None)
        holds = row if row is not None else inner if inner is not None and _holds_rows(inner) else None
        noun = None if holds is None else _noun(holds)
        found.append(_Member(field.encode_name, field.type, row, inner, field.required, noun))
    return tuple(found)


def _kinds(told_as: Any) -> tuple[Any, ...]:
    """The types of which a member is one."""
    return (told_as,) if get_origin(told_as) is list else get_args(told_as) or (told_as,)


def _row_in(told_as: Any) -> Any:
    """What each row of a member is if it may be a list; None if it may not."""
    return next((get_args(kind)[0] for kind in _kinds(told_as) if get_origin(kind) is list), None)


def _rows_in(form: type[msgspec.Struct]) -> list[Any]:
    """What the rows of each member are; None for one that is no list."""
    return [_row_in(each.type) for each in msgspec.structs.fields(form)]


def _holds_rows(form: type[msgspec.Struct]) -> bool:
    """True for an object that has nothing but lists."""
    return None not in _rows_in(form)


def _noun(form: Any) -> str:
    """What rows of a form are called, or those that an object holds."""
    if not _is_form(form):
        return _UNNAMED
    noun: str | None = getattr(form, "NOUN", None)
    return noun or _noun(_rows_in(form)[0])


def _below(row: Any, form: Any) -> int:
    """Rows of the same kind that are lost with one: those right below it."""
    if not isinstance(row, dict) or not _is_form(form):
        return 0
    for member in _members(form):
        held = row.get(member.name)
        if member.inner is None or not isinstance(held, dict):
            continue
        lists = [held.get(inner.name) for inner in _members(member.inner) if inner.row is form]
        if lists and isinstance(lists[0], list):
            return len(lists[0])
    return 0
