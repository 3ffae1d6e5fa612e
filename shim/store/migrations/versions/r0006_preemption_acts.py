"""Acts of preemption, so that the next Heddle goes on with them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of acts and of their counts."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "preemption_acts",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("cluster_timestamp", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("container", sa.Text, nullable=False),
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("subcluster", sa.String(63), nullable=False),
        sa.Column("taker", sa.Text, nullable=False),
        sa.Column("room", sa.Text, nullable=False),
    )
    key = ["cluster_timestamp", "sequence", "at_ms", "container", "stage"]
    op.create_index("ix_preemption_acts_once", "preemption_acts", key, unique=True)
    op.create_index("ix_preemption_acts_at_ms", "preemption_acts", ["at_ms"])
    op.create_table(
        "preemption_counts",
        sa.Column("queue", sa.Text, primary_key=True),
        sa.Column("stage", sa.String(16), primary_key=True),
        sa.Column("acts", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop acts of preemption and their counts."""
    op.drop_table("preemption_counts")
    op.drop_table("preemption_acts")
