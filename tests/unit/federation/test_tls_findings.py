import pytest

from shim.federation.findings import Level
from shim.federation.tls_findings import (
    NO_TLS,
    CertificateFacts,
    ClusterTLSFacts,
    MasterTLSFacts,
    tls_findings,
)

DAY_S = 86_400.0


def lives(days):
    return (CertificateFacts("the CA of its web servers", "/ca.pem", days * DAY_S),)


@pytest.mark.parametrize(
    ("cluster", "level"),
    [
        (ClusterTLSFacts("east", is_verified=True, certificates=lives(30)), Level.OK),
        (ClusterTLSFacts("east", is_verified=True, certificates=lives(20)), Level.WARNING),
        (ClusterTLSFacts("east", is_verified=True, certificates=lives(-1)), Level.ERROR),
        (ClusterTLSFacts("east", is_verified=True, trouble="no key"), Level.ERROR),
        (ClusterTLSFacts("east", is_verified=False), Level.WARNING),
        (ClusterTLSFacts("east", is_verified=True, plain=("http://rm:8088",)), Level.WARNING),
    ],
    ids=["good", "ends soon", "expired", "unreadable", "not checked", "clear text"],
)
def test_what_a_clusters_https_is_worth(cluster, level):
    assert [(found.level, found.subject) for found in tls_findings(NO_TLS, [cluster], None)] == [(level, "east")]


def test_masters_on_other_machines_without_tls_are_named():
    found = list(tls_findings(NO_TLS, [], MasterTLSFacts(plain=("10.0.0.1:8700", "10.0.0.2:8700"))))
    assert [each.level for each in found] == [Level.WARNING] * 2
    assert "10.0.0.2:8700" in found[1].message


def test_masters_whose_files_cannot_be_used_are_an_error():
    assert [each.level for each in tls_findings(NO_TLS, [], MasterTLSFacts(trouble="no key"))] == [Level.ERROR]
