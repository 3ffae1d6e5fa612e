"""Delegation tokens that are good: issued, renewed until, not cancelled."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of tokens."""
    op.create_table(
        "delegation_tokens",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("is_proven", sa.Boolean, nullable=False),
        sa.Column("good_until_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_delegation_tokens_owner", "delegation_tokens", ["owner"])
    op.create_index("ix_delegation_tokens_good_until_ms", "delegation_tokens", ["good_until_ms"])


def downgrade() -> None:
    """Drop the delegation tokens: their holders log in again."""
    op.drop_table("delegation_tokens")
