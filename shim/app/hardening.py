"""The hardening guide as a table: lines of docs/operators/security/hardening.md, each with its check. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shim.app import hardening_checks as checks
from shim.app.hardening_checks import UNKNOWN, Trouble
from shim.app.hardening_facts import HardeningFacts
from shim.federation.findings import LineResult, LineState


@dataclass(frozen=True, slots=True)
class HardeningLine:
    """One line of the guide."""

    id: str
    what: str
    why: str
    mend: str
    how: str
    check: Callable[[HardeningFacts], Trouble]


def check_lines(facts: HardeningFacts) -> list[LineResult]:
    """Check every line, in the order of the guide."""
    return [_result(line, list(line.check(facts))) for line in LINES]


def _result(line: HardeningLine, trouble: list[str]) -> LineResult:
    wrong = [each for each in trouble if not each.startswith(UNKNOWN)]
    if wrong:
        return LineResult(line.id, LineState.NOT_OK, line.what, "; ".join(wrong), line.mend)
    if trouble:
        unknown = "; ".join(each.removeprefix(UNKNOWN) for each in trouble)
        return LineResult(line.id, LineState.UNKNOWN, line.what, unknown, line.mend)
    return LineResult(line.id, LineState.OK, line.what, "")


LINES: Final = (
    HardeningLine(
        "web-tls",
        "Web services and pages that other machines reach speak TLS.",
        "Whoever listens on the way reads cookies, tokens and jobs' environments, and acts by them.",
        "Set `server.tls.certificate` and `key`, or bind to loopback behind a gateway.",
        "configuration",
        checks.web_without_tls,
    ),
    HardeningLine(
        "web-identity",
        "Web services and pages that other machines reach want proof of who calls.",
        "`?user.name=` makes anybody anybody, administrators among them.",
        "Set `security.kerberos.web_principal` or `security.oidc`, or bind to loopback behind a gateway that logs in.",
        "configuration",
        checks.web_by_name,
    ),
    HardeningLine(
        "rpc-identity",
        "Hadoop RPC that other machines reach wants tickets or tokens.",
        "`HADOOP_USER_NAME` makes anybody anybody.",
        "Set `security.kerberos.principal` and `keytab`, and take `allow_simple` away.",
        "configuration",
        checks.rpc_by_name,
    ),
    HardeningLine(
        "rpc-privacy",
        "Hadoop RPC that other machines reach is encrypted.",
        "Submissions carry delegation tokens of file systems.",
        'Set `security.kerberos.protection = ["privacy"]`, and `hadoop.rpc.protection` at clients.',
        "configuration",
        checks.rpc_in_clear,
    ),
    HardeningLine(
        "anonymous",
        "No change comes from nobody.",
        "Open ResourceManagers are found and made to mine within hours.",
        "Take `security.allow_anonymous` away.",
        "configuration",
        checks.anonymous,
    ),
    HardeningLine(
        "host-names",
        "The names by which browsers reach Heddle are listed.",
        "A page whose name is bound anew to Heddle's address asks it from inside; without a list clients by name fail.",
        "List them in `server.host_names`, without `*`.",
        "configuration",
        checks.host_names,
    ),
    HardeningLine(
        "secret-files",
        "Secrets, keys and keytabs are their owner's alone, who is Heddle's user or root.",
        "Who reads them signs cookies, opens the store, or is Heddle to others.",
        "`chmod 600` and `chown` them.",
        "files",
        checks.secret_rights,
    ),
    HardeningLine(
        "own-secret",
        "The secret that signs and seals is kept apart from the store.",
        "A key beside the database goes into every copy of it; without a file cookies die with the process.",
        "`openssl rand -hex 32 > FILE; chmod 600 FILE`, and set `security.secret_file`.",
        "configuration",
        checks.own_secret,
    ),
    HardeningLine(
        "store-files",
        "The store's files are Heddle's alone, in a folder where nobody else writes.",
        "They hold who did what, and sealed tokens.",
        "`chmod 600` the files, `chmod 700` the folder.",
        "files",
        checks.store_rights,
    ),
    HardeningLine(
        "store-tls",
        "PostgreSQL on another machine proves who it is.",
        "Who poses as it learns the password, and decides where Heddle believes applications to run.",
        "Add `?sslmode=verify-full&sslrootcert=FILE` to `store.url`.",
        "configuration",
        checks.store_tls,
    ),
    HardeningLine(
        "masters-tls",
        "Masters on other machines are reached by TLS.",
        "Submissions in their users' names can be read and changed on the way.",
        "Write `[masters.tls]`.",
        "running server",
        checks.masters,
    ),
    HardeningLine(
        "clusters-https",
        "Clusters are asked by https where Kerberos is on.",
        "Answers can be changed on the way, and cookies of logins taken.",
        "`yarn.http.policy = HTTPS_ONLY` there, and `https://` in `web`.",
        "configuration, `yarn-site.xml`",
        checks.clusters_in_clear,
    ),
    HardeningLine(
        "clusters-verified",
        "Web servers of clusters prove who they are.",
        "Who poses as one reads submissions, and makes up what runs.",
        "Name the CA in `ca_file`, and take `verify_tls = false` away.",
        "configuration",
        checks.clusters_unproven,
    ),
    HardeningLine(
        "certificates",
        "All certificates and keys can be used, for 21 days and more.",
        "What expires stops at night, and somebody switches verification off.",
        "Renew them in their files.",
        "files",
        checks.certificates,
    ),
    HardeningLine(
        "proxy-users",
        "Users that may act for others are bound to hosts, and to users or groups.",
        "A gateway's stolen name is everybody's.",
        "Name `hosts`, `users`, `groups` instead of `*`.",
        "configuration",
        checks.proxy_users,
    ),
    HardeningLine(
        "admins",
        "Administrators are named.",
        "Everybody drains clusters, or nobody can by his own name.",
        "List them in `security.admins`.",
        "configuration",
        checks.admins,
    ),
    HardeningLine(
        "pages-acls",
        "Pages of ApplicationMasters are shown where clusters have view ACLs.",
        "Pages tell paths, queries and results of their jobs.",
        '`yarn.acl.enable = true` there, or `server.proxy = ""`.',
        "`yarn-site.xml`",
        checks.pages,
    ),
    HardeningLine(
        "rates",
        "One user or address cannot call without end.",
        "A script in a loop takes the service from all.",
        "Set `limits.user_per_s`, or `limits.address_per_s`.",
        "configuration",
        checks.rates,
    ),
    HardeningLine(
        "token-lives",
        "Cookies live 10 hours at most, API tokens 90 days.",
        "What was copied once is good for that long.",
        "Lower `security.cookie_validity_s`; `heddle token list --all` and `revoke`.",
        "configuration, running server",
        checks.token_lives,
    ),
    HardeningLine(
        "audit",
        "Changes are written to an audit file that Heddle alone writes.",
        "Nobody can tell afterwards who did it.",
        "Set `log.audit_file`; `chmod 600` it.",
        "configuration, files",
        checks.audit,
    ),
    HardeningLine(
        "talkative",
        "Logs are not at `debug`, and traces do not leave in clear text.",
        "They name users, applications and queues.",
        'Set `log.level = "info"`; an https endpoint in `OTEL_EXPORTER_OTLP_ENDPOINT`.',
        "configuration, running server",
        checks.talkative,
    ),
    HardeningLine(
        "root",
        "Heddle does not run as root.",
        "An error in it would be one of the machine.",
        "Run it as a user of its own, as systemd's unit, the image and the chart do.",
        "running server",
        checks.root,
    ),
)
"""Lines of the guide, in its order."""
