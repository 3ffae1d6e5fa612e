"""Leases: who may act as what, until when."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of leases."""
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("ends_at_s", sa.Double, nullable=False),
    )


def downgrade() -> None:
    """Drop the table of leases: masters ask for them again."""
    op.drop_table("leases")
