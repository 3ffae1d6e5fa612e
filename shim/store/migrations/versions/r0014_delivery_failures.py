"""Failures of submissions that their homes do not take, so that a restart does not begin to count anew."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery_failures",
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("intent_id", sa.String(32), nullable=False),
        sa.Column("open_ms", sa.BigInteger),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failed_since_ms", sa.BigInteger, nullable=False),
        sa.Column("next_at_ms", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("home_started_on_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the failures: they are counted anew."""
    op.drop_table("delivery_failures")
