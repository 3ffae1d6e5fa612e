"""Known vulnerabilities of locked packages: what pip-audit tells, and that silence is not taken for safety."""

import pytest

from scripts.known_vulnerabilities import FOUND, NOT_LOOKED_UP, Findings

SAFE = {"name": "a", "version": "1.0", "vulns": []}
BAD = {"name": "b", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1", "3.0"]}]}
UNMENDED = {"name": "c", "version": "3.0", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}
SKIPPED = {"name": "d", "skip_reason": "Dependency not found on PyPI and could not be audited: d (4.0)"}


@pytest.mark.parametrize(
    ("packages", "exit_code", "says"),
    [
        ([SAFE], 0, "1 packages looked up, 0 known vulnerabilities"),
        ([SAFE, BAD], FOUND, "b 2.0: PYSEC-1, mended in 2.1, 3.0"),
        ([UNMENDED], FOUND, "c 3.0: PYSEC-2, mended in no version yet"),
        ([SAFE, SKIPPED], NOT_LOOKED_UP, "1 packages could not be looked up; is the index reachable? d"),
        ([BAD, SKIPPED], FOUND, "1 packages could not be looked up"),
        ([], NOT_LOOKED_UP, "0 packages looked up"),
    ],
)
def test_what_is_told_and_how_it_ends(packages, exit_code, says):
    findings = Findings.read({"dependencies": packages, "fixes": []})
    assert findings.exit_code == exit_code
    assert says in "\n".join(findings.told())
