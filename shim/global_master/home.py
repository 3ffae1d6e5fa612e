"""The choice of the home sub-cluster of an application.

First who may have it at all: a table of rules, each of which gives a reason against a sub-cluster or none. Then who is
best: the mean of the free share of the queue and of the whole sub-cluster there, counting what was sent since the last
report. Equal scores go to the sub-cluster that is configured first, so that the choice can be repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import HomeDecision, Submission
from shim.global_master.federation_view import FederationView

__all__ = ["HomeSettings", "choose_home"]


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """How homes are chosen.

    Attributes:
        default_queue: For submissions that name none, as YARN's.
    """

    default_queue: str = "default"


def choose_home(
    submission: Submission,
    view: FederationView,
    admissions: Mapping[SubClusterId, Admission],
    now_s: float,
    settings: HomeSettings,
    *,
    excluded: Mapping[SubClusterId, str] | None = None,
) -> HomeDecision:
    """Choose the sub-cluster that an application will run on, and say why.

    The caller tells the view at once (`FederationView.note_placed`), before it lets others run: so submissions between
    two polls spread.

    Args:
        submission: What was asked for.
        view: What is known of the sub-clusters.
        admissions: Operators' words; a sub-cluster that is not in here is OPEN.
        now_s: Seconds since the epoch.
        settings: How to choose.
        excluded: Sub-clusters that are out of the question, with the reason: those that rejected it before.
    """
    raise NotImplementedError
