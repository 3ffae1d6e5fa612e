"""Write which Python packages a folder has, as CycloneDX 1.5: `python -m scripts.sbom FOLDER FILE`.

`scripts/images.sh` does it for the image. The same packages give the same document: no time, no random number.
Packages of Debian in the image are not in it: `dpkg-query --show` tells those.
"""

import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

_ROOT = "heddle-yarn"


def bill_of_materials(folder: Path) -> dict[str, Any]:
    """Return the document for the packages that are installed into a folder, of which Heddle is one.

    Raises:
        ValueError: If Heddle is not there.
    """
    found = sorted((_component(each) for each in distributions(path=[str(folder)])), key=lambda each: each["purl"])
    roots = [each for each in found if each["name"] == _ROOT]
    if len(roots) != 1:
        raise ValueError(f"{folder} has {len(roots)} packages {_ROOT}: install its wheel there")
    libraries = [each for each in found if each["name"] != _ROOT]
    addresses = [each["purl"] for each in libraries]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ' '.join((roots[0]['purl'], *addresses)))}",
        "version": 1,
        "metadata": {"component": {**roots[0], "type": "application"}},
        "components": libraries,
        "dependencies": [{"ref": roots[0]["purl"], "dependsOn": addresses}],
    }


def _component(package: Distribution) -> dict[str, Any]:
    name = re.sub("[-_.]+", "-", package.metadata["Name"]).lower()  # as package URLs of type pypi have it
    address = f"pkg:pypi/{name}@{package.version}"
    component = {"type": "library", "bom-ref": address, "name": name, "version": package.version, "purl": address}
    licenses = package.metadata.get_all("License-Expression") or ()
    return component | ({"licenses": [{"expression": each} for each in licenses]} if licenses else {})


def main() -> int:
    """Write the document."""
    folder, file = map(Path, sys.argv[1:])
    file.write_text(json.dumps(bill_of_materials(folder), indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
