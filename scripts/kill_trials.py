"""Kill Heddle thousands of times over real clusters: `python scripts/kill_trials.py --kills 2000`.

Works in rounds, each with a check of everything that was acknowledged in it; ends with exit code 1 at the first
application that is lost or doubled. What the rounds leave on the clusters is killed between them.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shim.lab import Lab, LabSpec
from tests.support.kill_trials import History, KillTrials, TrialSettings, federation_toml

_ROUND = 100


def main() -> int:
    """Start a lab, kill, check, print one line for each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lab", type=Path, help="folder of a running lab of two clusters; else one is started")
    parser.add_argument("--rest", default="127.0.0.1:27990", help="where Heddle serves")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-kill-trials-") as folder:
        lab = Lab(arguments.lab or Path(folder) / "lab")
        if arguments.lab is None:
            lab.up(LabSpec.of(clusters=2, nodes=1))
        try:
            return _rounds(lab, Path(folder), arguments)
        finally:
            if arguments.lab is None:
                lab.down()


def _rounds(lab: Lab, folder: Path, arguments: argparse.Namespace) -> int:
    webs = {name: cluster.url for name, cluster in lab.clusters.items()}
    config = federation_toml(folder, webs, rest=arguments.rest)
    begun_s, killed = time.monotonic(), 0
    while killed < arguments.kills:
        kills = min(_ROUND, arguments.kills - killed)
        settings = TrialSettings(kills=kills, at_once=arguments.at_once, seed=arguments.seed + killed)
        trials = KillTrials(config, f"http://{arguments.rest}", webs, settings)
        history = asyncio.run(trials.run())
        killed += kills
        print(f"{killed:5d} after {time.monotonic() - begun_s:6.0f} s: {history.summary()}", flush=True)
        if history.lost() or history.doubled():
            print(f"lost: {history.lost()}\ndoubled: {history.doubled()}")
            return 1
        _end_applications(history, webs)
    return 0


def _end_applications(history: History, webs: dict[str, str]) -> None:
    for application_id, homes in history.homes.items():
        request = urllib.request.Request(  # noqa: S310 - an address of the lab
            f"{webs[homes[0]]}/ws/v1/cluster/apps/{application_id}/state?user.name=alice",
            data=json.dumps({"state": "KILLED"}).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        with urllib.request.urlopen(request, timeout=30):  # noqa: S310 - as above
            pass


if __name__ == "__main__":
    sys.exit(main())
