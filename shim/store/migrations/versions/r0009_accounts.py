"""By which answer a container was given, and what applications have used.

What an answer that never arrived gave is not the ApplicationMaster's.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rows from before have no answer, and are taken as received."""
    op.add_column("span_attempts", sa.Column("registrations", sa.Integer, nullable=False, server_default="0"))
    op.add_column("span_containers", sa.Column("answer", sa.String(63), nullable=False, server_default=""))
    op.create_table(
        "usage_parts",
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("subcluster", sa.String(63), primary_key=True),
        sa.Column("is_home", sa.Boolean, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("started_at_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger, nullable=False),
        sa.Column("memory_mib_s", sa.BigInteger, nullable=False),
        sa.Column("vcore_s", sa.BigInteger, nullable=False),
        sa.Column("preempted_memory_mib_s", sa.BigInteger, nullable=False),
        sa.Column("preempted_vcore_s", sa.BigInteger, nullable=False),
        sa.Column("rm_started_ms", sa.BigInteger, nullable=False),
        sa.Column("part_started_ms", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.JSON, nullable=False),
        sa.Column("lost", sa.JSON, nullable=False),
        sa.Column("as_of_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_usage_parts_ended_at_ms", "usage_parts", ["ended_at_ms"])


def downgrade() -> None:
    """Drop the accounts, and what was noted of answers."""
    op.drop_table("usage_parts")
    op.drop_column("span_containers", "answer")
    op.drop_column("span_attempts", "registrations")
