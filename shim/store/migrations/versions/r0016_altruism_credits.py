"""Debits and credits of altruism."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and its index."""
    op.create_table(
        "altruism_credits",
        sa.Column("cluster_timestamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("part", sa.String(48), primary_key=True),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("from_ms", sa.BigInteger, nullable=False),
        sa.Column("to_ms", sa.BigInteger, nullable=False),
        sa.Column("given_s", sa.Double, nullable=False),
        sa.Column("received_s", sa.Double, nullable=False),
        sa.Column("given_mib_s", sa.Double, nullable=False),
        sa.Column("received_mib_s", sa.Double, nullable=False),
    )
    op.create_index("ix_altruism_credits_to_ms", "altruism_credits", ["to_ms"])


def downgrade() -> None:
    """Drop it: what was given and received is not known any more."""
    op.drop_table("altruism_credits")
