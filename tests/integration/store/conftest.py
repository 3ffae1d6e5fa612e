"""Stores of tests may take their time; production's limits are tested by `test_postgresql` and those of locks."""

import pytest

_PATIENT_S = 60


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.name != "test_postgresql.py":
        for name in ("_CONNECT_TIMEOUT_S", "_QUEUE_TIMEOUT_S", "_COMMAND_TIMEOUT_S"):
            monkeypatch.setattr(f"shim.store.postgresql.{name}", _PATIENT_S)
