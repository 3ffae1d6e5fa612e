"""Write docs/operators/security/roles.md from the table of rights, or check that it is current (`--check`)."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from shim.domain.roles import NEEDED, NEEDED_WITHOUT_ROLES, Right, Role
from shim.server.rights import ADMIN, CLIENT, OWN, PAGES, REST

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators" / "security" / "roles.md"

_HEAD = """# Roles

<!-- written by scripts/roles_page.py: change that, shim/domain/roles.py or shim/server/rights.py instead -->

Four roles say what users may do at Heddle. Each may do what those before it may.

```toml
[security.roles]
viewers = ["*"]                            # everybody, also who names nobody
users = ["group:analysts", "alice"]
operators = ["group:yarn-ops"]
administrators = ["ada"]                   # beside security.admins

[security]
group_overrides = "alice=analysts;bob="    # stated groups; of other users this machine is asked
```

| role | may |
|---|---|
| viewer | look: lists, applications, pages, metrics, previews |
| user | submit; change applications and reservations, as far as queues and ResourceManagers let; have tokens |
| operator | operate ResourceManagers; cordon, drain, retire clusters; see and end what others have; see findings |
| administrator | change policies; read the audit and `doctor --hardening`; make, list and end tokens of others |

Who has no role may do nothing: only what is open to everybody answers. A call that takes more than the caller's role
is 403 over REST and an `AccessControlException` over RPC, and no ResourceManager is asked. Without a name it is 401.

- The user that Heddle runs as is an administrator, too, on Heddle's own machine: over loopback, without a gateway that
  says otherwise (`X-Forwarded-For`, `Forwarded`, `Via`), an API token, or a login at an identity provider. A gateway on
  that machine must send one of these headers.
- A caller has the highest role that lists his name, one of his groups, or `*`. With `doAs` the user that is acted as
  counts.
- **Groups** are those of this machine (NSS, so also LDAP by SSSD) or of a [directory](#groups-from-a-directory), those
  of `group_overrides`, and those that an [identity provider](oidc.md) says. Who does not tell them in time makes the
  call 503, not a call without groups.
- Who names nobody is at most a viewer, unless `allow_anonymous` is set.
- `doAs` by a rule of `*` or of groups reaches neither operators nor administrators: the rule has to name them.
- [API tokens](tokens.md) do at most what the role of their owner may *now*. A scope that his role does not reach is
  refused at creation: `submit` takes a user, `operate` an operator.
- ApplicationMasters need no role: their ResourceManager's word lets them in.
- The console shows no buttons and views that the caller's role may not use. That is for comfort: the servers decide.

A role is a gate before all other rules. Access lists of queues, and ResourceManagers with theirs, decide as ever.

## Groups from a directory

`[security.ldap]` has Heddle ask a directory, by the rules of Hadoop's `LdapGroupsMapping` (extra `ldap`, in a checkout
`pip install '.[ldap]'`; builds python-ldap, which needs libldap-dev and libsasl2-dev):

```toml
[security.ldap]
urls = ["ldaps://ldap1.example.com", "ldaps://ldap2.example.com"]      # tried in turn; at ldap:// TLS is asked for
bind_dn = "cn=heddle,dc=example,dc=com"
bind_password_file = "/etc/heddle/ldap.password"                       # mode 0600
user_base = "ou=people,dc=example,dc=com"
group_base = "ou=groups,dc=example,dc=com"
levels = 1                                                             # groups of groups: so many levels up
```

Defaults fit `posixAccount` with `groupOfNames` or `posixGroup`; [configuration](../configuration.md) has the filters of
Active Directory. The groups take the place of this machine's; `group_overrides` goes before them. Answers are good for
a minute, and are used for ten while the directory is away. What a caller calls himself is escaped in filters. A
password, or groups, never go in clear but to this machine. `heddle doctor` logs in and looks at both bases.

## Without roles

If nobody is listed in `[security.roles]`, all is as it was before there were roles: everybody looks, who says a name
submits and calls ResourceManagers (which judge operators themselves), and `security.admins` operate and administer.

## What takes which role

| right | role | without roles |
|---|---|---|
"""

_TAIL = """
## How it is held

`shim/server/rights.py` is the one table. A row of the servers' own tables without a row in it stops Heddle at its
start. Tests ask every endpoint, page and method as every role, in both directions:
`tests/integration/rest/test_roles.py`, `tests/unit/server/rpc/test_client_service.py`,
`tests/unit/server/rpc/test_admin_service.py`.
"""

_PARTS: tuple[tuple[str, Mapping[str, Right]], ...] = (
    ("Web services of a ResourceManager, below `/ws/v1/cluster`", REST),
    ("Web services of Heddle, below `/heddle/v1/`", OWN),
    ("Pages", PAGES),
    ("ApplicationClientProtocol", CLIENT),
    ("ResourceManagerAdministrationProtocol and HAServiceProtocol", ADMIN),
)


def page() -> str:
    """The whole page."""
    parts = (_part(title, table) for title, table in _PARTS)
    return f"{_HEAD}{''.join(_rights())}{''.join(parts)}{_TAIL}"


def _rights() -> Iterator[str]:
    for right in Right:
        with_roles, without = (_told(each[right]) for each in (NEEDED, NEEDED_WITHOUT_ROLES))
        yield f"| `{right.name}`: {right.value} | {with_roles} | {without} |\n"


def _told(role: Role) -> str:
    return "-" if role is Role.NOBODY else role.told


def _part(title: str, table: Mapping[str, Right]) -> str:
    rows = "".join(f"| `{name.strip()}` | {_told(NEEDED[right])} | `{right.name}` |\n" for name, right in table.items())
    return f"\n### {title}\n\n| | role | right |\n|---|---|---|\n{rows}"


def main() -> int:
    """Write the page; with `--check` only compare."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), "utf-8")
    elif PAGE.read_text("utf-8") != page():
        print(f"{PAGE.name} is not what the code says: run python -m scripts.roles_page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
