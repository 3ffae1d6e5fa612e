"""The picture of docs/researchers/altruism.md is what the kernels do."""

from scripts.altruism_picture import picture
from scripts.picture import PICTURES


def test_the_picture_is_drawn_of_runs_of_today():
    assert (PICTURES / "altruism.svg").read_text("utf-8") == picture()
    assert picture().count(">gets: stage 0<") == 4, "two tasks on each side"
