"""`[tez]`: where the plans of Tez jobs can be read."""

from dataclasses import dataclass

from shim.config.tree import Key, key

__all__ = ["TezConfig"]


@dataclass(frozen=True, slots=True)
class TezConfig:
    """Graphs of Tez jobs in queues with `altruism`; nothing is read of others."""

    staging: tuple[str, ...] = key(
        (),
        about=Key(
            "Staging folders (`tez.staging-dir`) as this machine sees them, absolute; `{user}` stands for the "
            "application's user. The plan of a job is read there; without them graphs of Tez jobs are not known.",
            pattern=r"/.*",
            form="an absolute folder of this machine",
        ),
    )
    ask_masters: bool = key(
        default=True,
        about=Key(
            "Whether ApplicationMasters of jobs whose plan was read are asked every two seconds how many tasks of each "
            "vertex run and have ended, by the web proxy of their ResourceManager."
        ),
    )
