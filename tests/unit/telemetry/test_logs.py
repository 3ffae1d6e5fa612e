import io
import json
import logging

import pytest
import structlog

from shim.telemetry import configure_logs

CANARY = "c4n4ry-S3cr3t"


@pytest.fixture
def lines():
    """Configure logs for one test; afterwards everything is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers, root.level = handlers, level


def raised(message):
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int(message)
    caught.value.args = (message,)
    return caught.value


def logged(lines):
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_line_is_a_json_object_with_the_request_it_belongs_to(lines):
    configure_logs(level="info", style="auto", stream=lines)
    structlog.contextvars.bind_contextvars(request_id="r1")
    structlog.get_logger("heddle.poll").info("polled", subcluster="east", took_s=0.5)
    (line,) = logged(lines)
    assert line.pop("time").endswith("Z")
    assert line == {
        "event": "polled",
        "level": "info",
        "logger": "heddle.poll",
        "request_id": "r1",
        "subcluster": "east",
        "took_s": 0.5,
    }


def test_a_level_below_the_least_is_not_written(lines):
    configure_logs(level="warning", style="auto", stream=lines)
    structlog.get_logger().info("quiet")
    logging.getLogger("library").info("quiet")
    assert lines.getvalue() == ""


def test_lines_of_libraries_take_the_same_way(lines):
    configure_logs(level="info", style="auto", stream=lines)
    logging.getLogger("uvicorn.error").warning("port %d is busy", 8088)
    (line,) = logged(lines)
    assert (line["event"], line["level"], line["logger"]) == ("port 8088 is busy", "warning", "uvicorn.error")


@pytest.mark.parametrize("style", ["json", "console"])
def test_no_secret_is_written_even_by_an_exception(lines, style):
    configure_logs(level="info", style=style, stream=lines)
    structlog.get_logger().error("store failed", token=CANARY, exc_info=raised(f"postgresql://heddle:{CANARY}@db"))
    assert "store failed" in lines.getvalue()
    assert "ValueError" in lines.getvalue()
    assert CANARY not in lines.getvalue()


@pytest.mark.parametrize("style", ["json", "console"])
def test_nobody_can_forge_a_line(lines, style):
    configure_logs(level="info", style=style, stream=lines)
    forged = "x\n2026-01-01T00:00:00Z [info     ] all is well\r\n"
    structlog.get_logger().info("looked up", queue=forged)
    assert len(lines.getvalue().splitlines()) == 1


def test_a_traceback_for_people_cannot_pass_for_a_line(lines):
    configure_logs(level="info", style="console", stream=lines)
    structlog.get_logger().error("failed", exc_info=raised("first\n2026-01-01T00:00:00Z [info     ] all is well"))
    _, *trace = lines.getvalue().splitlines()
    assert trace
    assert all(line.startswith("  | ") for line in trace)


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, _text):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("stream", [Gone(), io.StringIO()])
def test_a_line_that_nobody_takes_ends_no_work(lines, stream):
    configure_logs(level="info", style="json", stream=stream)
    if not isinstance(stream, Gone):
        stream.close()
    structlog.get_logger("heddle").error("told nobody")
    logging.getLogger("library").error("told nobody")
