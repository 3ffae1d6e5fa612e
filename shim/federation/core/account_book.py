"""Accounts of applications that use more than one sub-cluster, kept up with what reports tell.

Beyond its home an application is known as an unmanaged one under the same id (`SPAN_TAG`). That document is listed
nowhere: what it tells of use is added to the home's.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.usage import NO_USAGE, Account, Life, PartUsage, Usage

_MOST = 20_000
_Key = tuple[ApplicationId, str]


class ReadsUsage(Protocol):
    """Knows the form of a ResourceManager's documents."""

    def read(self, raw: bytes, /) -> Usage:
        """Use as a document reports it; nothing if it cannot be read."""
        ...

    def show(self, raw: bytes, account: Account, /) -> bytes:
        """The home's document with the account in place of the home's own numbers."""
        ...


class NoUsage:
    """Implements `ReadsUsage` where nobody asks what applications use: nothing is read, and nothing shown."""

    def read(self, _raw: bytes) -> Usage:
        return NO_USAGE

    def show(self, raw: bytes, _account: Account) -> bytes:
        return raw


class AccountBook:
    """See the module. Mutate through its methods only; it never reads a clock.

    Args:
        most: How many accounts are kept; beyond that the one that changed first is dropped.
    """

    def __init__(self, form: ReadsUsage, most: int = _MOST) -> None:
        self._form = form
        self._most = most
        self._accounts: OrderedDict[_Key, Account] = OrderedDict()

    def __len__(self) -> int:
        return len(self._accounts)

    def find(self, application: ApplicationId, user: str) -> Account | None:
        """The account of a user's application that has used more than its home."""
        return self._accounts.get((application, user))

    def note_part(self, document: ApplicationDocument, life: Life) -> bool:
        """Take in what a sub-cluster beyond the home tells; return whether the account changed by it.

        Somebody else's application that took the id and the tag there is in an account that is never shown.
        """
        return self._note(document, life, self._accounts.get(_key_of(document), Account()))

    def shown(self, document: ApplicationDocument, life: Life) -> ApplicationDocument:
        """A home's document with the account in it; the same document if the application uses its home alone.

        One that hides when the application began is for somebody who may not know what it uses.

        Args:
            life: Of the home's counters.
        """
        summary = document.summary
        account = self._accounts.get(_key_of(document))
        if account is None or not summary.started_at_ms:
            return document
        self._note(document, life, replace(account, home=summary.home_subcluster))
        raw = self._form.show(document.raw, self._accounts[_key_of(document)])
        return document.but(told=raw, amounts=None)

    def restore(
        self,
        application: ApplicationId,
        user: str,
        home: SubClusterId | None,
        parts: Mapping[SubClusterId, PartUsage],
    ) -> None:
        """Take over what an earlier Heddle knew; what is known here already stays."""
        known = self._accounts.get((application, user), Account())
        self._put((application, user), Account(known.home or home, {**parts, **known.parts}))

    def _note(self, document: ApplicationDocument, life: Life, account: Account) -> bool:
        name = document.summary.home_subcluster
        before = account.parts.get(name, PartUsage(life))
        after = before.after(self._form.read(document.raw), life, document.as_of_s)
        self._put(_key_of(document), replace(account, parts={**account.parts, name: after}))
        return (before.seen, before.lost, before.holds) != (after.seen, after.lost, after.holds)

    def _put(self, key: _Key, account: Account) -> None:
        self._accounts[key] = account
        self._accounts.move_to_end(key)
        while len(self._accounts) > self._most:
            self._accounts.popitem(last=False)


def _key_of(document: ApplicationDocument) -> _Key:
    return document.summary.application_id, document.summary.user
