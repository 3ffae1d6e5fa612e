"""Lists of sub-clusters, every version that was applied."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cluster_lists",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("applied_by", sa.Text, nullable=False),
        sa.Column("applied_at_ms", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop the lists: an older Heddle has its sub-clusters of its file."""
    op.drop_table("cluster_lists")
