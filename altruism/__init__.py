"""Altruism as kernels on arrays: what a job can put off without ending later, and who gets it meanwhile.

A job gets a fair share (`drf_shares`), plans itself into it as late as it can without ending later (`plan_job`), asks
for what has to start now (`due_tasks`), and lends the rest (`share_out`). The claim is *no job ends later than with its
share alone*, while shares do not fall and estimates are right.

Imports numpy and `fairness`, and nothing of Heddle: no clock, no random source. No kernel changes its arguments.

Source: Grandl, Chowdhury, Akella, Ananthanarayanan, Altruistic Scheduling in Multi-Resource Clusters (Carbyne), OSDI
2016.
"""

from altruism.graph import Progress, StageGraph, StageGraphError
from altruism.justify import justify_in_room, justify_right
from altruism.lending import LeftoverOrder, PlannedJob, adopt_plans, due_tasks, room_over_time, share_out
from altruism.packing import Packer, Packing, alignment, pack_backward, pack_forward, stage_ranks
from altruism.plan import JobPlan, drf_shares, plan_job
from altruism.profile import RoomProfile

__all__ = [
    "JobPlan",
    "LeftoverOrder",
    "Packer",
    "Packing",
    "PlannedJob",
    "Progress",
    "RoomProfile",
    "StageGraph",
    "StageGraphError",
    "adopt_plans",
    "alignment",
    "drf_shares",
    "due_tasks",
    "justify_in_room",
    "justify_right",
    "pack_backward",
    "pack_forward",
    "plan_job",
    "room_over_time",
    "share_out",
    "stage_ranks",
]
