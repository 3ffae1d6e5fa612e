"""Spans: what applications have beyond their homes."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def _key(*more: sa.Column[object]) -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        *more,
    )


def upgrade() -> None:
    """Make the tables of sessions, attempts and containers."""
    op.create_table(
        "span_sessions",
        *_key(sa.Column("subcluster", sa.String(63), primary_key=True)),
        sa.Column("home_subcluster", sa.String(63), nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("sealed_token", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "span_attempts",
        *_key(sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False)),
        sa.Column("sealed_registration", sa.LargeBinary, nullable=False),
        sa.Column("home_response_id", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "span_containers",
        *_key(sa.Column("container", sa.Text, primary_key=True)),
        sa.Column("subcluster", sa.String(63), nullable=False),
    )


def downgrade() -> None:
    """Drop what is known of applications that span."""
    op.drop_table("span_containers")
    op.drop_table("span_attempts")
    op.drop_table("span_sessions")
