"""The tables. A change here needs a migration beside it; a test compares the two."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s"})

federation = Table(
    "federation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1: there is one federation
    Column("timestamp_ms", BigInteger, nullable=False),  # cluster time stamp of the ids that it issues
    Column("next_sequence", BigInteger, nullable=False),  # first sequence number that nobody has reserved
    Column("restored_at_ms", BigInteger),  # records from before may be out of date; null if never restored
    Column("lineage", Text),  # which copy of the database this is; see `shim.store.sql_history_store`
)

id_epochs = Table(  # cluster time stamps of ids: one for each process that issued some
    "id_epochs",
    metadata,
    Column("timestamp_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("begun_at_ms", BigInteger, nullable=False),
)

submissions = Table(
    "submissions",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("user_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("resource", JSON, nullable=False),
    Column("label", Text, nullable=False),
    Column("is_unmanaged", Boolean, nullable=False),
    Column("application_type", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("body", LargeBinary, nullable=False),  # the context as it came; empty once final
    Column("content_type", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("home_subcluster", String(63), nullable=False),
    Column("home_started_on_ms", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("intended_at_ms", BigInteger, nullable=False),
    Column("intent_id", String(32), nullable=False),
    Column("finished_at_ms", BigInteger),  # when it was seen final or REJECTED; null before
    Column("decision", JSON, nullable=False),
    Column("rejection", Text, nullable=False),
    Column("waited", JSON(none_as_null=True)),  # null for what did not wait
    Column("acls", JSON(none_as_null=True)),  # null for what states none
)

Index(
    "ix_submissions_unfinished",
    submissions.c.home_subcluster,
    submissions.c.state,
    sqlite_where=submissions.c.finished_at_ms.is_(None),
    postgresql_where=submissions.c.finished_at_ms.is_(None),
)
Index("ix_submissions_finished_at_ms", submissions.c.finished_at_ms)

delivery_failures = Table(  # INTENDED submissions that their homes do not take though they are well
    "delivery_failures",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("intent_id", String(32), nullable=False),  # the one that failed last
    Column("open_ms", BigInteger),  # when something was sent that may still be on its way; null if nothing is
    Column("failures", Integer, nullable=False),
    Column("failed_since_ms", BigInteger, nullable=False),
    Column("next_at_ms", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("home_started_on_ms", BigInteger, nullable=False),
)

admissions = Table(
    "admissions",
    metadata,
    Column("subcluster", String(63), primary_key=True),
    Column("admission", String(16), nullable=False),
    Column("said_by", Text, nullable=False),
    Column("said_at_ms", BigInteger, nullable=False),
    Column("reason", Text),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),  # the role: gm/ID, lm/SUBCLUSTER, queue/PATH
    Column("holder", Text, nullable=False),  # life of the process that holds it; empty if given back
    Column("address", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),  # grows with each new holder
    Column("ends_at_s", Double, nullable=False),  # by the clock of the database
)

delegation_tokens = Table(  # that were issued and not cancelled
    "delegation_tokens",
    metadata,
    Column("key", String(64), primary_key=True),  # digest of the identifier
    Column("owner", Text, nullable=False),
    Column("is_proven", Boolean, nullable=False),  # by a Kerberos ticket
    Column("good_until_ms", BigInteger, nullable=False),  # without another renewal
)
Index("ix_delegation_tokens_owner", delegation_tokens.c.owner)
Index("ix_delegation_tokens_good_until_ms", delegation_tokens.c.good_until_ms)

api_tokens = Table(  # that were created and not revoked
    "api_tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),  # of the whole token, which is nowhere
    Column("name", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("is_proven", Boolean, nullable=False),  # by a Kerberos ticket
    Column("created_at_ms", BigInteger, nullable=False),
    Column("good_until_ms", BigInteger, nullable=False),
)
Index("ix_api_tokens_owner", api_tokens.c.owner)
Index("ix_api_tokens_good_until_ms", api_tokens.c.good_until_ms)

policies, cluster_lists = (
    Table(
        name,
        metadata,
        Column("version", Integer, primary_key=True, autoincrement=False),
        Column("text", Text, nullable=False),
        Column("applied_by", Text, nullable=False),
        Column("applied_at_ms", BigInteger, nullable=False),
        Column("note", Text, nullable=False),
    )
    for name in ("policies", "cluster_lists")
)

span_sessions = Table(  # ApplicationMasters of Heddle's own, beyond the homes
    "span_sessions",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("subcluster", String(63), primary_key=True),
    Column("home_subcluster", String(63), nullable=False),
    Column("user_name", Text, nullable=False),
    Column("sealed_token", LargeBinary, nullable=False),
    Column("sealed_node_tokens", LargeBinary),
)

span_attempts = Table(
    "span_attempts",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("sealed_registration", LargeBinary, nullable=False),  # holds a key
    Column("home_response_id", BigInteger, nullable=False),
    Column("registrations", Integer, nullable=False, server_default="0"),
)

span_containers = Table(  # given to the ApplicationMaster, and not known to it as ended
    "span_containers",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("container", Text, primary_key=True),
    Column("subcluster", String(63), nullable=False),
    Column("answer", String(63), nullable=False, server_default=""),  # by which it was given; empty if long since
)

usage_parts = Table(  # what an application has used of one sub-cluster
    "usage_parts",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("subcluster", String(63), primary_key=True),
    Column("is_home", Boolean, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("ended_at_ms", BigInteger, nullable=False),  # 0 while it lives
    Column("memory_mib_s", BigInteger, nullable=False),
    Column("vcore_s", BigInteger, nullable=False),
    Column("preempted_memory_mib_s", BigInteger, nullable=False),
    Column("preempted_vcore_s", BigInteger, nullable=False),
    Column("rm_started_ms", BigInteger, nullable=False),
    Column("part_started_ms", BigInteger, nullable=False),
    Column("seen", JSON, nullable=False),  # all counters of this life, and what earlier lives had counted
    Column("lost", JSON, nullable=False),
    Column("as_of_ms", BigInteger, nullable=False),
)
Index("ix_usage_parts_ended_at_ms", usage_parts.c.ended_at_ms)

altruism_credits = Table(  # what one process counted of what an application gave and received
    "altruism_credits",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("part", String(48), primary_key=True),  # of one process; no other writes it
    Column("queue", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("from_ms", BigInteger, nullable=False),
    Column("to_ms", BigInteger, nullable=False),  # when it was counted last
    Column("given_s", Double, nullable=False),
    Column("received_s", Double, nullable=False),
    Column("given_mib_s", Double, nullable=False),
    Column("received_mib_s", Double, nullable=False),
)
Index("ix_altruism_credits_to_ms", altruism_credits.c.to_ms)

former_runs = Table(  # the last run of each recurring job, for the predictions of the next
    "former_runs",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("run", Text, nullable=False),
)
Index("ix_former_runs_at_ms", former_runs.c.at_ms)

ask_decisions = Table(  # the newest decisions on each spanning application's asks, as `why` shows them
    "ask_decisions",
    metadata,
    Column("cluster_timestamp", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("asks", JSON, nullable=False),
)
Index("ix_ask_decisions_at_ms", ask_decisions.c.at_ms)

preemption_acts = Table(
    "preemption_acts",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),  # their order
    Column("cluster_timestamp", BigInteger, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("container", Text, nullable=False),  # empty where an act concerns asks
    Column("stage", String(16), nullable=False),  # empty where asks go out again
    Column("queue", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("subcluster", String(63), nullable=False),
    Column("taker", Text, nullable=False),
    Column("room", Text, nullable=False),
)
Index(
    "ix_preemption_acts_once",
    preemption_acts.c.cluster_timestamp,
    preemption_acts.c.sequence,
    preemption_acts.c.at_ms,
    preemption_acts.c.container,
    preemption_acts.c.stage,
    unique=True,
)
Index("ix_preemption_acts_at_ms", preemption_acts.c.at_ms)

preemption_counts = Table(  # of all acts, also of those that are not kept any more
    "preemption_counts",
    metadata,
    Column("queue", Text, primary_key=True),
    Column("stage", String(16), primary_key=True),
    Column("acts", BigInteger, nullable=False),
)
