import re
from pathlib import Path

import pytest

from shim.lab.secured_conf import SecuredCluster, client_properties, principal_of, secured_properties
from shim.lab.spec import ClusterSpec

REALMS = ("ONE.LAB", "OTHER.LAB")


def secured(**arguments):
    cluster = SecuredCluster.of(ClusterSpec("west", realm="OTHER.LAB", **arguments), REALMS, Path("/keys"))
    assert cluster is not None
    return cluster


def local_user(rules, principal):
    """The user of a principal by rules of the two forms that a lab writes, without `DEFAULT`."""
    parts = re.split("[/@]", principal)
    for rule in rules.splitlines()[:-1]:
        count, wanted = re.fullmatch(r"RULE:\[([12]):\$1@\$0\]\((.*)\)s/@\.\*//", rule).groups()
        short = f"{parts[0]}@{parts[-1]}"
        if len(parts) - 1 == int(count) and re.fullmatch(wanted, short):
            return parts[0]
    return None


def test_a_cluster_without_a_realm_is_not_secured():
    assert SecuredCluster.of(ClusterSpec("west"), (), Path("/keys")) is None


def test_hosts_of_principals_tell_their_realm():
    assert principal_of("rm", "west", "OTHER.LAB") == "rm/west.other.lab@OTHER.LAB"


def test_daemons_log_in_with_the_keytab_of_their_cluster():
    yarn = secured_properties(secured())["yarn-site.xml"]
    for daemon, service in (("resourcemanager", "rm"), ("nodemanager", "nm")):
        assert yarn[f"yarn.{daemon}.principal"] == f"{service}/west.other.lab@OTHER.LAB"
        assert yarn[f"yarn.{daemon}.keytab"] == "/keys/west.keytab"


def test_calls_are_protected_as_the_cluster_was_to_be():
    core = secured_properties(secured(protection="integrity"))["core-site.xml"]
    assert core["hadoop.security.authentication"] == "kerberos"
    assert core["hadoop.rpc.protection"] == "integrity"


@pytest.mark.parametrize(
    ("principal", "user"),
    [
        ("ada@ONE.LAB", "ada"),
        ("heddle/front.one.lab@ONE.LAB", "heddle"),
        ("ada@ONEXLAB", None),
        ("ada@THIRD.LAB", None),
        ("ada@OTHER.LAB", None),  # its own realm is left to DEFAULT
    ],
)
def test_principals_of_the_labs_other_realms_are_users(principal, user):
    rules = secured_properties(secured())["core-site.xml"]["hadoop.security.auth_to_local"]
    assert rules.splitlines()[-1] == "DEFAULT"
    assert local_user(rules, principal) == user


def test_clients_expect_heddle_and_take_whatever_protection_a_cluster_has():
    tables = client_properties(REALMS, "heddle/front.one.lab@ONE.LAB")
    assert tables["yarn-site.xml"]["yarn.resourcemanager.principal"] == "heddle/front.one.lab@ONE.LAB"
    assert tables["core-site.xml"]["hadoop.rpc.protection"] == "privacy,integrity,authentication"


def test_nobody_asks_a_history_server_that_is_not_there():
    for tables in (client_properties(REALMS, ""), secured_properties(secured())):
        assert tables["mapred-site.xml"]["mapreduce.jobhistory.address"] == "${env.HISTORY_SERVER-}"
