"""TeraGen and TeraSort, unmodified, through Heddle: two jobs, the second reads what the first wrote."""

import getpass
import re
from pathlib import Path

import pytest

from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_RECORD, _KEY = 100, 10
_RECORDS = 2000


@pytest.fixture
def client(lab, heddle, tmp_path):
    return StockClient(lab, tmp_path / "client", heddle)


def run(client: StockClient, *arguments: str) -> None:
    """Run an example until its application has ended well: a client that finds its master gone may not have.

    As whoever runs the tests: a staging folder that is there must be its user's own.
    """
    jar = client.jar("hadoop-mapreduce-examples")
    printed = client.try_run(_RUN_JAR, jar, *arguments, user=getpass.getuser()).stdout
    application = re.search(r"application_\d+_\d+", printed)
    assert application is not None, printed
    assert "Final-State : SUCCEEDED" in client.yarn("application", "-status", application[0]), printed


def records(folder: Path) -> list[bytes]:
    content = b"".join(part.read_bytes() for part in sorted(folder.glob("part-*")))
    return [content[at : at + _RECORD] for at in range(0, len(content), _RECORD)]


def test_records_are_made_by_one_job_and_sorted_by_another(client, tmp_path):
    run(client, "teragen", "-Dmapreduce.job.maps=2", str(_RECORDS), (tmp_path / "made").as_uri())
    # tasks look for a partition file in the client's folder where the default file system is the local one
    settings = ("-Dmapreduce.job.reduces=2", "-Dmapreduce.terasort.simplepartitioner=true")
    run(client, "terasort", *settings, (tmp_path / "made").as_uri(), (tmp_path / "sorted").as_uri())

    made, ordered = records(tmp_path / "made"), records(tmp_path / "sorted")
    assert len(made) == _RECORDS
    assert ordered == sorted(ordered, key=lambda record: record[:_KEY])
    assert sorted(ordered) == sorted(made)
