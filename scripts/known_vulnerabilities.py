"""Look for known vulnerabilities of the locked packages, where an index that knows of them can be reached.

    python -m scripts.known_vulnerabilities [LOCK]     default: requirements.lock

Asks the index by pip-audit, which uv fetches for the run. Ends with 1 if a package has a known vulnerability, and with
3 if packages could not be looked up: that nothing was found says nothing then.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOUND, NOT_LOOKED_UP = 1, 3
_MOST_NAMED = 10
_COMMAND = ("tool", "run", "--quiet", "pip-audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off")


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of one look.

    Attributes:
        looked_up: How many packages the index knows.
        vulnerable: A line for each known vulnerability.
        unknown: Packages that were not looked up.
    """

    looked_up: int
    vulnerable: tuple[str, ...]
    unknown: tuple[str, ...]

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Findings":
        """Read a document of pip-audit, in its JSON format."""
        packages = document["dependencies"]
        known = [each for each in packages if "skip_reason" not in each]
        lines = (line for each in known for line in _lines(each))
        return cls(len(known), tuple(lines), tuple(each["name"] for each in packages if "skip_reason" in each))

    @property
    def exit_code(self) -> int:
        """0 if all were looked up and nothing is known against them."""
        if self.vulnerable:
            return FOUND
        return NOT_LOOKED_UP if self.unknown or not self.looked_up else 0

    def told(self) -> Iterator[str]:
        """Lines for people."""
        yield from self.vulnerable
        if self.unknown or not self.looked_up:
            named = ", ".join(self.unknown[:_MOST_NAMED])
            yield f"{len(self.unknown)} packages could not be looked up; is the index reachable? {named}"
        yield f"{self.looked_up} packages looked up, {len(self.vulnerable)} known vulnerabilities"


def _lines(package: dict[str, Any]) -> Iterator[str]:
    for each in package["vulns"]:
        mended = ", ".join(each["fix_versions"]) or "no version yet"
        yield f"{package['name']} {package['version']}: {each['id']}, mended in {mended}"


def main(arguments: list[str]) -> int:
    """Look, and print what was found."""
    lock = arguments[0] if arguments else str(ROOT / "requirements.lock")
    command = [str(Path(sys.executable).parent / "uv"), *_COMMAND, "--format", "json", "--requirement", lock]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        findings = Findings.read(json.loads(done.stdout))
    except (ValueError, KeyError):
        print(f"pip-audit did not answer: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return NOT_LOOKED_UP
    print(*findings.told(), sep="\n")
    return findings.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
