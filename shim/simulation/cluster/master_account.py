"""Account of a modelled application's masters: what measurements and invariants look at."""

from dataclasses import dataclass, field

from shim.domain.ids import ContainerId


@dataclass(slots=True)
class MasterAccount:
    """Observations of an application's masters, for measurements and invariants.

    Attributes:
        granted: Every container that an answer gave, and how often.
        started_s: When each task's program was started first, by stage and task.
        done_s: When its last task was known to have ended; None before.
        at_data: Tasks that started at a host that has their data, of the `named` ones for which any has.
        surplus: Containers that were granted and not wanted any more.
        failed: Why attempts failed.
        first_given: How many containers each attempt was given by the first answer that gave any.
    """

    granted: dict[ContainerId, int] = field(default_factory=dict)
    ended: dict[ContainerId, int] = field(default_factory=dict)
    started_s: dict[tuple[int, int], float] = field(default_factory=dict)
    done_s: float | None = None
    at_data: int = 0
    named: int = 0
    surplus: int = 0
    failed: list[str] = field(default_factory=list)
    first_given: list[int] = field(default_factory=list)
