"""Bring the console's libraries from their registry packages, or check the files that are here (`--check`).

`scripts/console_vendor.json` names packages, versions, the integrity of each package, and which of its files become
which in `shim/server/web/static/vendor`. `--check` needs no network: it compares the files with
`scripts/console_vendor.sha256`, which a run without it writes. Needs `npm`, which knows the registry to ask.
"""

import argparse
import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VENDOR = HERE.parent / "shim" / "server" / "web" / "static" / "vendor"
PACKAGES, SUMS = HERE / "console_vendor.json", HERE / "console_vendor.sha256"


def main(arguments: list[str] | None = None) -> int:
    """Bring or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare what is here with the sums, and bring nothing")
    is_check = parser.parse_args(arguments).check
    packages = json.loads(PACKAGES.read_text())
    if not is_check:
        for name, wanted in packages.items():
            _bring(name, wanted)
        SUMS.write_text(_sums(packages))
    if SUMS.read_text() != _sums(packages):
        print("the console's libraries are not what scripts/console_vendor.sha256 says", file=sys.stderr)
        return 1
    return 0


def _bring(name: str, wanted: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{wanted['version']}"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        package = Path(folder) / said.stdout.split()[-1]
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != wanted["integrity"]:
            raise SystemExit(f"{name} {wanted['version']}: the package's integrity is sha512-{digest}")
        with tarfile.open(package) as archive:
            for inside, ours in wanted["files"].items():
                member = archive.extractfile(f"package/{inside}")
                if member is None:
                    raise SystemExit(f"{name} {wanted['version']}: {inside} is a folder")
                (VENDOR / ours).write_bytes(member.read())


def _sums(packages: dict[str, Any]) -> str:
    names = sorted(ours for wanted in packages.values() for ours in wanted["files"].values())
    return "".join(f"{hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()}  {name}\n" for name in names)


if __name__ == "__main__":
    sys.exit(main())
