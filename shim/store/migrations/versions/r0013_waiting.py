"""Waiting of applications, and the newest decisions on the asks of those that span."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and the table with its index."""
    op.add_column("submissions", sa.Column("waited", sa.JSON(none_as_null=True)))
    op.create_table(
        "ask_decisions",
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("asks", sa.JSON, nullable=False),
    )
    op.create_index("ix_ask_decisions_at_ms", "ask_decisions", ["at_ms"])


def downgrade() -> None:
    """Drop the decisions on asks, and that applications waited."""
    op.drop_table("ask_decisions")
    op.drop_column("submissions", "waited")
