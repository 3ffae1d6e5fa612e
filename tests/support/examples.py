"""How many examples a property draws: all that its test says, or a part of them where a run shall be quick."""

from hypothesis import settings

WHOLE = 100
"""`max_examples` of a profile under which each property draws as many examples as its test says."""

_LEAST = 5


def examples(count: int) -> int:
    """Return how many of `count` examples the profile in use draws.

    A profile says it by its `max_examples`: of `WHOLE` it is all, of 20 a fifth, but no less than 5 where there are 5.
    Profiles are chosen by `--hypothesis-profile`; see `tests/conftest.py`.
    """
    part = settings.get_profile(settings.get_current_profile_name()).max_examples / WHOLE
    return min(count, max(_LEAST, round(count * part)))
