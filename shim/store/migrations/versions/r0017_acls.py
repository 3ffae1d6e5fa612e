"""Access lists that submissions state."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("submissions", sa.Column("acls", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Drop it: applications are shown to their users and to administrators alone."""
    op.drop_column("submissions", "acls")
