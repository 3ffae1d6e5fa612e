"""API tokens for machines: a digest of each, its user, what it lets do, and until when."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("is_proven", sa.Boolean, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("good_until_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_api_tokens_owner", "api_tokens", ["owner"])
    op.create_index("ix_api_tokens_good_until_ms", "api_tokens", ["good_until_ms"])


def downgrade() -> None:
    """Drop the tokens: their holders need new ones."""
    op.drop_index("ix_api_tokens_good_until_ms", "api_tokens")
    op.drop_index("ix_api_tokens_owner", "api_tokens")
    op.drop_table("api_tokens")
