"""Numbers of the distinct words of a column."""

from collections.abc import Mapping

__all__ = ["WordNumbers"]


class WordNumbers:
    """Numbers the distinct words of a column; the number of a word that no row has is used again."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """The smallest number that no word has ever had."""
        return len(self._uses)

    def take(self, word: str) -> int:
        """The number of a word that one more row has."""
        number = self._numbers.get(word)
        if number is None:
            number = self._free.pop() if self._free else len(self._uses)
            self._numbers[word] = number
            if number == len(self._uses):
                self._uses.append(0)
        self._uses[number] += 1
        return number

    def give_back(self, word: str) -> None:
        """One row less has the word."""
        number = self._numbers[word]
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[word]
            self._free.append(number)

    def find(self, word: str) -> int:
        """The number of a word; -1, which no row has, if none has the word."""
        return self._numbers.get(word, -1)

    @property
    def numbers(self) -> Mapping[str, int]:
        """The words that rows have, each with its number."""
        return self._numbers
