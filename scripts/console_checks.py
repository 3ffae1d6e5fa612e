"""Check the console's modules: `python -m scripts.console_checks lint | types | format`.

    lint      rules and format, by Biome
    types     `tsc` over JSDoc, strictly
    format    write the format, and what rules mend by themselves

The tools are those of `tests/console/package-lock.json`, which `make setup` installs where Node is. Where they are not
there, nothing is checked and that is said; under CI that is an error.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".heddle" / "tools" / "console" / "node_modules" / ".bin"
_BIOME = ("--config-path=tests/console/lint.json", "shim/server/web/static", "tests/console")
CHECKS = {
    "lint": ("biome", "ci", *_BIOME),
    "types": ("tsc", "-p", "tests/console/tsconfig.json"),
    "format": ("biome", "check", "--write", *_BIOME),
}


def main(arguments: list[str]) -> int:
    """Run one of the checks; the exit code is its own."""
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    tool, *rest = CHECKS[arguments[0]]
    if not (TOOLS / tool).exists():
        print(f"the console's modules are not checked ({arguments[0]}): make setup installs {tool} where Node is")
        return 1 if os.environ.get("CI") else 0
    return subprocess.run([TOOLS / tool, *rest], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
