"""Tokens of nodes beyond the homes: a ResourceManager gives each only once, and a second attempt needs them too."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them beside the sessions."""
    op.add_column("span_sessions", sa.Column("sealed_node_tokens", sa.LargeBinary))


def downgrade() -> None:
    """Drop the tokens of nodes."""
    op.drop_column("span_sessions", "sealed_node_tokens")
