"""`[tez]`, `[spark]`, `[hdfs]`: where the stages of jobs can be read."""

from dataclasses import dataclass

from shim.config.tree import Key, key

__all__ = ["HDFSConfig", "SparkConfig", "TezConfig"]

_FOLDER = r"/[^\0]*|s?webhdfs://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(?:/[^\s?#]*)?"
_FOLDER_FORM = 'an absolute folder of this machine or a web gateway of HDFS; write "webhdfs://host:9870/path"'
_HOST = r"\.?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:]{2,45}"


@dataclass(frozen=True, slots=True)
class TezConfig:
    """Graphs of Tez jobs in queues with `altruism`, or a policy that goes by graphs; nothing is read of others."""

    staging: tuple[str, ...] = key(
        (),
        about=Key(
            "Staging folders (`tez.staging-dir`), absolute, as this machine sees them, or in HDFS by its web gateway "
            "(see `[hdfs]`); `{user}` stands for the application's user. The plans of jobs and of sessions are read "
            "there; without them graphs of Tez jobs are not known.",
            pattern=_FOLDER,
            form=_FOLDER_FORM,
        ),
    )
    ask_masters: bool = key(
        default=True,
        about=Key(
            "Whether ApplicationMasters of jobs whose plan was read are asked every two seconds how many tasks of each "
            "vertex run and have ended, by the web proxy of their ResourceManager. Sessions are known by that alone."
        ),
    )


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """Stages of Spark jobs in queues with `altruism`, or a policy that goes by graphs."""

    ask_drivers: bool = key(
        default=True,
        about=Key(
            "Whether drivers are asked every two seconds which stages run, by the web proxy of their ResourceManager; "
            "without it nothing is known of Spark jobs."
        ),
    )
    event_logs: tuple[str, ...] = key(
        (),
        about=Key(
            "Folders of event logs (`spark.eventLog.dir`), absolute, as this machine sees them, or in HDFS by its web "
            "gateway (see `[hdfs]`). They tell which stages wait for which; without them a job is known only while "
            "one stage of it runs.",
            pattern=_FOLDER,
            form=_FOLDER_FORM,
        ),
    )


@dataclass(frozen=True, slots=True)
class HDFSConfig:
    """Folders in HDFS that `[tez]` and `[spark]` name: a NameNode's WebHDFS or HttpFS, without Kerberos."""

    user: str = key(
        "heddle",
        about=Key(
            "As whom Heddle reads there; it must be allowed to.",
            pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,255}",
            form="a user name; write the short one, without host and realm",
        ),
    )
    nodes: tuple[str, ...] = key(
        (),
        about=Key(
            "Hosts of DataNodes, besides the gateway's own, that a NameNode may send Heddle on to: names, or "
            "`.example.org` for all below. HttpFS needs none.",
            pattern=_HOST,
            form='a host; write "node1.example.org", or ".example.org" for all below',
        ),
    )
