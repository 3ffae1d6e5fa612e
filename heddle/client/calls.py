"""Operations as values: a call says what is asked and what the answer is, a client sends it, now or later."""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import quote

__all__ = ["AsksNow", "AsyncAsks", "Call", "Flow", "MakesCalls", "Pause", "flow", "operation"]

P = ParamSpec("P")
T = TypeVar("T")
Value = str | int | float | bool | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request.

    Attributes:
        method: Of HTTP.
        template: Path in the API's description, `/heddle/v1/apps/{application}`.
        answer: What the answer's JSON is read as; `str` for text, `object` for any JSON.
        values: Of the path's parameters.
        query: Parameters; those that are None are not sent.
        body: Sent as JSON, unless there is a `form`.
        form: Sent as a form.
        headers: Sent beside the usual ones.
        repeats: Whether asking twice does what asking once does; None for a GET that does, and any other that does not.
    """

    method: str
    template: str
    answer: type[T]
    values: Mapping[str, str | int] = field(default_factory=dict)
    query: Mapping[str, Value] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeats: bool | None = None

    @property
    def path(self) -> str:
        """The path with its values, each as one segment.

        Raises:
            ValueError: One is empty: that would be another path.
        """
        return self.template.format_map({name: _segment(name, str(value)) for name, value in self.values.items()})

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """The query as it is sent."""
        return {name: _sent(value) for name, value in self.query.items() if value is not None}

    @property
    def may_repeat(self) -> bool:
        """Whether it may be sent again when nobody knows if it has arrived."""
        return self.method == "GET" if self.repeats is None else self.repeats


def _segment(name: str, value: str) -> str:
    if not value:
        raise ValueError(f"{name} is empty")
    return value.replace(".", "%2E") if value in (".", "..") else quote(value, safe="")  # dots would lead elsewhere


def _sent(value: Value) -> str | list[str]:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
    return [str(each) for each in value or ()]


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait of so many seconds."""

    seconds: float


Flow = Generator[Call[Any] | Pause, Any, T]
"""Several calls, one after the other: it yields them, and is sent each answer, or thrown what came instead."""


class MakesCalls:
    """Operations of what derives from it are calls that nobody has sent."""


class AsksNow:
    """Operations of what derives from it ask, and return the answer."""

    def run(self, steps: Flow[T]) -> T:
        """Do the steps."""
        raise NotImplementedError


class AsyncAsks:
    """Operations of what derives from it are awaited."""

    async def run(self, steps: Flow[T]) -> T:
        """Do the steps."""
        raise NotImplementedError


class _Operation(Generic[P, T]):
    """A method that makes a call; what becomes of it is for the class of the object that has it."""

    def __init__(self, makes: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.makes = makes
        self.__doc__ = makes.__doc__

    @overload
    def __get__(self, asks: MakesCalls, owner: Any = None) -> Callable[P, Call[T]]: ...
    @overload
    def __get__(self, asks: AsksNow, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, asks: AsyncAsks, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, asks: None, owner: Any = None) -> "_Operation[P, T]": ...
    def __get__(self, asks: Any, owner: Any = None) -> Any:
        """The operation of a client, or itself."""
        if asks is None:
            return self

        @wraps(self.makes)
        def asked(*args: P.args, **named: P.kwargs) -> Any:
            call = self.makes(asks, *args, **named)
            return call if isinstance(asks, MakesCalls) else asks.run(_once(call))

        return asked


class _FlowMethod(Generic[P, T]):
    """A method that takes several calls."""

    def __init__(self, makes: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.makes = makes
        self.__doc__ = makes.__doc__

    @overload
    def __get__(self, asks: AsksNow, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, asks: AsyncAsks, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, asks: None, owner: Any = None) -> "_FlowMethod[P, T]": ...
    def __get__(self, asks: Any, owner: Any = None) -> Any:
        """The method of a client, or itself."""
        if asks is None:
            return self

        @wraps(self.makes)
        def asked(*args: P.args, **named: P.kwargs) -> Any:
            return asks.run(self.makes(asks, *args, **named))

        return asked


def _once(call: Call[T]) -> Flow[T]:
    answer: T = yield call
    return answer


def operation(makes: Callable[Concatenate[Any, P], Call[T]]) -> _Operation[P, T]:
    """Make a method that says what to ask one that asks it."""
    return _Operation(makes)


def flow(makes: Callable[Concatenate[Any, P], Flow[T]]) -> _FlowMethod[P, T]:
    """Make a method that yields calls one that asks them."""
    return _FlowMethod(makes)
