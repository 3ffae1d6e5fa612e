"""Policies of shares, every version that was applied."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of policies."""
    op.create_table(
        "policies",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("applied_by", sa.Text, nullable=False),
        sa.Column("applied_at_ms", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop the policies that were applied: the configuration's holds."""
    op.drop_table("policies")
