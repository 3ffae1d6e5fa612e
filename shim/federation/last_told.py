"""Last answers of sub-clusters to clients' questions: given again while they do not answer.

Hadoop's RPC has no place to say that an answer lacks a cluster, so half a list would pass for the whole. What nobody
asked before a sub-cluster went away, it cannot be asked afterwards: then the answer is that of the others.
"""

from collections import OrderedDict

from shim.domain.ids import SubClusterId

_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_REQUEST = 1024  # in bytes: a longer one is not remembered

_Key = tuple[SubClusterId, str, bytes, str]


class LastTold:
    """The last answers, the least lately given forgotten first."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._answers: OrderedDict[_Key, bytes] = OrderedDict()
        self._bytes = 0

    def note(self, subcluster: SubClusterId, method: str, request: bytes, user: str, answer: bytes) -> None:
        """Remember an answer.

        Args:
            request: The serialized question.
            user: For whom; empty if everybody is told the same.
        """
        if len(request) > _LONGEST_REQUEST:
            return
        key = (subcluster, method, request, user)
        self._forget(key)
        self._answers[key] = answer
        self._bytes += _size(key, answer)
        while self._bytes > self._most_bytes:
            self._forget(next(iter(self._answers)))

    def find(self, subcluster: SubClusterId, method: str, request: bytes, user: str) -> bytes | None:
        """The last answer; None if that is not remembered. The parameters are those of `note`."""
        return self._answers.get((subcluster, method, request, user))

    def _forget(self, key: _Key) -> None:
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._bytes -= _size(key, answer)


def _size(key: _Key, answer: bytes) -> int:
    return len(answer) + sum(map(len, key))
