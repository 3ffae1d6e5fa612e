"""The federation's ids, submissions with their homes, and operators' words."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "federation",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.Column("next_sequence", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "submissions",
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("resource", sa.JSON, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("is_unmanaged", sa.Boolean, nullable=False),
        sa.Column("application_type", sa.Text, nullable=False),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("content_type", sa.Text, nullable=False),
        sa.Column("content_hash", sa.LargeBinary, nullable=False),
        sa.Column("home_subcluster", sa.String(63), nullable=False),
        sa.Column("home_started_on_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("intended_at_ms", sa.BigInteger, nullable=False),
        sa.Column("intent_id", sa.String(32), nullable=False),
        sa.Column("finished_at_ms", sa.BigInteger),
        sa.Column("decision", sa.JSON, nullable=False),
        sa.Column("rejection", sa.Text, nullable=False),
    )
    unfinished = sa.text("finished_at_ms IS NULL")
    op.create_index(
        "ix_submissions_unfinished",
        "submissions",
        ["home_subcluster", "state"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_index("ix_submissions_finished_at_ms", "submissions", ["finished_at_ms"])
    op.create_table(
        "admissions",
        sa.Column("subcluster", sa.String(63), primary_key=True),
        sa.Column("admission", sa.String(16), nullable=False),
        sa.Column("said_by", sa.Text, nullable=False),
        sa.Column("said_at_ms", sa.BigInteger, nullable=False),
    )
