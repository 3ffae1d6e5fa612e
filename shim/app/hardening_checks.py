"""Checks of the lines of the hardening guide. Pure: facts in, troubles out.

A check yields what is wrong, or a text that begins with `UNKNOWN` for what cannot be told; nothing where all is well.
"""

from collections.abc import Iterable
from typing import Final

from shim.app.hardening_facts import HardeningFacts, secret_files, store_files
from shim.config.loader import Config, is_loopback

UNKNOWN: Final = "?"
Trouble = Iterable[str]

_ANY = "*"
_OTHERS, _OTHERS_WRITE, _STICKY = 0o077, 0o022, 0o1000
_ROOT = 0
_LONGEST_COOKIE_S = 36_000.0
_NOTABLE_DAYS = 21
_LONGEST_TOKEN_DAYS = 90
_DAY_S = 86_400.0
_PRIVACY = "privacy"


# -- what is reached from other machines -----------------------------------------------------------------------------


def _reached(config: Config, *names: str) -> list[str]:
    """Addresses of the section `server` that other machines reach."""
    bound = ((name, getattr(config.server, name)) for name in names)
    return [f"server.{name} = {address}" for name, address in bound if address and not is_loopback(address)]


def web_without_tls(facts: HardeningFacts) -> Trouble:
    """Web addresses that speak plain HTTP."""
    if facts.config.server.tls.certificate is None:
        yield from (f"{each} speaks plain HTTP" for each in _reached(facts.config, "rest", "proxy"))


def web_by_name(facts: HardeningFacts) -> Trouble:
    """Web addresses that believe names."""
    if not facts.config.security.kerberos.web_principal and not facts.config.security.oidc.issuer:
        yield from (f"{each} believes user names" for each in _reached(facts.config, "rest", "proxy"))


def rpc_by_name(facts: HardeningFacts) -> Trouble:
    """Servers of RPC that believe names."""
    reached = _reached(facts.config, "client_rpc", "admin_rpc")
    if not facts.config.security.kerberos.principal:
        yield from (f"{each} believes user names" for each in reached)
    elif facts.config.security.kerberos.allow_simple:
        yield "security.kerberos.allow_simple lets names count beside tickets"


def rpc_in_clear(facts: HardeningFacts) -> Trouble:
    """Servers of RPC without encryption."""
    kerberos = facts.config.security.kerberos
    if not kerberos.principal or set(kerberos.protection) != {_PRIVACY}:
        reached = _reached(facts.config, "client_rpc", "scheduler_rpc", "admin_rpc")
        yield from (f"{each} takes calls that are not encrypted" for each in reached)


def anonymous(facts: HardeningFacts) -> Trouble:
    """Changes by nobody."""
    if facts.config.security.allow_anonymous:
        yield "security.allow_anonymous = true"


def host_names(facts: HardeningFacts) -> Trouble:
    names = facts.config.server.host_names
    if _ANY in names:
        yield "server.host_names has *"
    elif not names and _reached(facts.config, "rest", "proxy"):
        yield "?server.host_names is empty: clients that call Heddle by another name than the machine's get 421"


# -- files -----------------------------------------------------------------------------------------------------------


def secret_rights(facts: HardeningFacts) -> Trouble:
    """Rights on secrets, keys and keytabs."""
    for name, file in secret_files(facts.config):
        found = facts.files.get(file)
        if found is None:
            yield f"?{name} = {file} does not exist"
        elif found.trouble:
            yield f"?{file}: {found.trouble}"
        elif not found.is_guarded:
            if found.mode & _OTHERS:
                yield f"{file} has mode {found.mode:04o}"
            if found.owner not in (facts.uid, _ROOT):
                yield f"{file} belongs to user {found.owner}, and Heddle runs as {facts.uid}"


def own_secret(facts: HardeningFacts) -> Trouble:
    """A secret apart from the store."""
    if facts.config.security.secret_file is None:
        yield "security.secret_file is not set"


def store_rights(facts: HardeningFacts) -> Trouble:
    """Rights on the store's files and their folder."""
    files = store_files(facts.config)
    for file in files:
        found = facts.files.get(file)
        if found is not None and not found.trouble and found.mode & _OTHERS:
            yield f"{file} has mode {found.mode:04o}"
    if files and files[0] not in facts.files:
        yield f"?{files[0]} does not exist"
    folder = facts.files.get(files[0].parent) if files else None
    if folder is not None and folder.mode & _OTHERS_WRITE and not folder.mode & _STICKY:
        yield f"others may write to {files[0].parent} (mode {folder.mode:04o})"


def store_tls(facts: HardeningFacts) -> Trouble:
    """PostgreSQL that need not prove itself."""
    if facts.unverified_store:
        yield f"the connection to {facts.unverified_store} is not verified"


def audit(facts: HardeningFacts) -> Trouble:
    if facts.config.log.audit_file is None:
        yield "log.audit_file is not set"
    elif facts.audit is None or facts.audit.trouble:
        yield f"?{facts.config.log.audit_file} cannot be looked at"
    elif facts.audit.mode & _OTHERS_WRITE:
        yield f"others may write {facts.config.log.audit_file} (mode {facts.audit.mode:04o})"


# -- other machines --------------------------------------------------------------------------------------------------


def masters(facts: HardeningFacts) -> Trouble:
    """Masters that are reached without TLS."""
    if facts.masters is not None:
        yield from (f"{address} is reached without TLS" for address in facts.masters.plain)


def clusters_in_clear(facts: HardeningFacts) -> Trouble:
    config = facts.config
    secured = {each.id for each in config.subclusters if config.security.kerberos.principal or each.principal}
    for id_, web in facts.webs.items():
        plain = [each for each in web if not each.startswith("https:")]
        if id_ in secured and plain:
            yield f"{id_} is asked at {', '.join(plain)}, and Kerberos is on"


def clusters_unproven(facts: HardeningFacts) -> Trouble:
    """Clusters that need not prove themselves."""
    for each in facts.config.subclusters:
        if not each.verify_tls:
            yield f"verify_tls = false at {each.id}"


def certificates(facts: HardeningFacts) -> Trouble:
    """Certificates that cannot be used, or soon."""
    yield from facts.tls_troubles
    for each in facts.certificates:
        days = each.ends_in_s / _DAY_S
        if days < _NOTABLE_DAYS:
            yield f"{each.what} ({each.file}) {'has expired' if days <= 0 else f'ends in {days:.0f} days'}"


# -- who may what ----------------------------------------------------------------------------------------------------


def proxy_users(facts: HardeningFacts) -> Trouble:
    for name, rule in facts.config.security.proxyuser.items():
        open_to = [key for key in ("hosts", "users", "groups") if _ANY in getattr(rule, key)]
        yield from (f"[security.proxyuser.{name}] {key} has *" for key in open_to)


def admins(facts: HardeningFacts) -> Trouble:
    """Administrators: nobody, or everybody."""
    admins = facts.config.security.admins
    if not admins:
        yield "security.admins is empty: the user that Heddle runs as operates it"
    elif _ANY in admins:
        yield "security.admins has *: everybody operates Heddle"
    roles = facts.config.security.roles
    listed = {"operators": roles.operators, "administrators": roles.administrators}
    yield from (f"security.roles.{name} has *: everybody is one" for name, users in listed.items() if _ANY in users)


def pages(facts: HardeningFacts) -> Trouble:
    for id_, guards in facts.guards.items() if facts.config.server.proxy else ():
        if guards is None:
            yield f"?whether {id_} has yarn.acl.enable is not known: it has no conf"
        elif not guards:
            yield f"{id_} has no view ACLs (yarn.acl.enable): everybody sees its applications' pages"


def rates(facts: HardeningFacts) -> Trouble:
    """Calls without end."""
    limits = facts.config.limits
    if not limits.user_per_s and not limits.address_per_s:
        yield "neither limits.user_per_s nor limits.address_per_s is set"


def token_lives(facts: HardeningFacts) -> Trouble:
    """Cookies and API tokens that live long."""
    security, longest_s = facts.config.security, facts.longest_token_s
    if security.cookie_validity_s > _LONGEST_COOKIE_S:
        yield f"security.cookie_validity_s = {security.cookie_validity_s:.0f}"
    if longest_s is None:
        yield "?the store does not tell of API tokens"
    elif longest_s > _LONGEST_TOKEN_DAYS * _DAY_S:
        yield f"an API token is good for {longest_s / _DAY_S:.0f} more days"


# -- the process -----------------------------------------------------------------------------------------------------


def talkative(facts: HardeningFacts) -> Trouble:
    """Logs and traces that tell too much."""
    if facts.config.log.level == "debug":
        yield "log.level = debug"
    if facts.trace_endpoint:
        yield f"traces go to {facts.trace_endpoint} in clear text"


def root(facts: HardeningFacts) -> Trouble:
    if facts.uid == _ROOT:
        yield "Heddle runs as root"
