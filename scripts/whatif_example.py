"""Write the example of whatif.md into a folder: a history drawn from a seed, files of clusters and of policy.

`merged-apps.json` is what the same jobs really do on the merged clusters: what a replay should foretell.

python -m scripts.whatif_example FOLDER
"""

import json
import logging
import sys
from pathlib import Path

import structlog

from scripts.papers.generated_history import drawn_jobs, generated_history
from shim.simulation.what_if.clusters import leaves_of, read_clusters

_SEED = 7
_JOBS = 60
_GAP_S = 18.0

_HEDDLE = """\
[[subcluster]]
id = "east"
web = "http://rm.east:8088"

[[subcluster]]
id = "west"
web = "http://rm.west:8088"
"""

_QUEUES = """
[[cluster.queue]]
name = "root.etl"
capacity = 60
user_limit_factor = 10
maximum_am_resource_percent = 0.3

[[cluster.queue]]
name = "root.adhoc"
capacity = 40
user_limit_factor = 10
maximum_am_resource_percent = 0.3
"""


def _clusters(**nodes: int) -> str:
    return "\n".join(
        f'[[cluster]]\nid = "{name}"\nnodes = {count}\nmemory_mib = 8192\nvcores = 4\n{_QUEUES}'
        for name, count in nodes.items()
    )


_FILES = {
    "heddle.toml": _HEDDLE,
    "now.toml": _clusters(east=3, west=3),
    "merged.toml": _clusters(east=6),
    "new.toml": '[[queue]]\nname = "root.etl"\nspan = true\n\n[[queue]]\nname = "root.adhoc"\nspan = true\n',
}


def main(folder: Path) -> None:
    """Write the files."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text, "utf-8")
    clusters = read_clusters(folder / "now.toml", ())
    jobs = drawn_jobs(_SEED, _JOBS, leaves_of(clusters), _GAP_S)
    for name, ran_on in (("apps.json", clusters), ("merged-apps.json", read_clusters(folder / "merged.toml", ()))):
        (folder / name).write_text(json.dumps(generated_history(_SEED, jobs, ran_on), indent=1), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
