#!/usr/bin/env bash
# Makes a fresh machine ready: system packages (on Debian, as root) and the virtual environment .venv.
# Does only what is missing, so it may run before every test run. With `up`: without Node, which checks alone need.
set -euo pipefail
cd "$(dirname "$0")/.."

# program that shows whether a package is there -> the Debian package that has it
declare -A packages=(
    [java]=openjdk-17-jre-headless
    [mvn]=maven
    [dockerd]=docker.io
    [debootstrap]=debootstrap
    [iptables]=iptables
    [wrk]=wrk
    [curl]=curl
    [make]=make
    # to build gssapi, which has no wheel for Linux, and for a KDC of the tests' own
    [gcc]=gcc
    [krb5-config]=libkrb5-dev
    [krb5kdc]=krb5-kdc
    [kadmin.local]=krb5-admin-server
    [kinit]=krb5-user
    # a directory of users for the tests, and to build python-ldap, which has no wheel for Linux
    [slapd]=slapd
    # its checker of alert rules and of names of metrics
    [promtool]=prometheus
    # shells that try their completion, and a strict reader of the manual page
    [zsh]=zsh
    [fish]=fish
    [mandoc]=mandoc
    # the browser that the console is tried with
    [chromium]=chromium
    # its checkers of units
    [systemd-analyze]=systemd
)

# checks of the console's modules, which are served as they are
[ "${1:-}" = up ] || packages+=([node]=nodejs [npm]=npm)

missing=()
for program in "${!packages[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
        if [ -n "$candidate" ] && "$candidate" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}
if python=$(find_python); then
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
        missing+=("$("$python" -c 'import sys; print("python{}.{}-dev".format(*sys.version_info))')")
else
    missing+=(python3 python3-venv python3-dev)
fi
[ -e /usr/include/stdio.h ] || [ "$(uname)" != Linux ] || missing+=(libc6-dev)
[ -e /usr/include/ldap.h ] || [ "$(uname)" != Linux ] || missing+=(libldap-dev libsasl2-dev)

if [ ${#missing[@]} -gt 0 ]; then
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort)
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "setup: missing on this machine: ${missing[*]}" >&2
        echo "setup: as root on Debian or Ubuntu: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${missing[*]}"
    apt-get update -qq
    # the server binaries are wanted, not a cluster that runs all the time
    mkdir -p /etc/postgresql-common/createcluster.d
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/heddle.conf
    # the JRE's post-install script wants this folder, which slim images leave out
    mkdir -p /usr/share/man/man1
    # programs are wanted, not services of the machine: `make test` starts its own, and in a container none may start
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    if [[ " ${missing[*]} " == *" krb5-kdc "* ]] && command -v systemctl >/dev/null; then
        systemctl disable --quiet krb5-kdc krb5-admin-server 2>/dev/null || true
    fi
fi

# helm checks the chart; no package of Debian has it, so it is built where Go is (a few minutes, once)
helm_version=v3.18.6
if [ "$(cat .heddle/tools/helm.version 2>/dev/null)" != "$helm_version" ] && command -v go >/dev/null; then
    echo "setup: building helm $helm_version"
    mkdir -p .heddle/tools
    # unoptimised, it is built in three quarters of the time, and it renders a chart
    if GOBIN="$PWD/.heddle/tools" CGO_ENABLED=0 go install -gcflags='all=-N -l' -ldflags='-s -w' "helm.sh/helm/v3/cmd/helm@$helm_version"; then
        echo "$helm_version" >.heddle/tools/helm.version
    else
        echo "setup: helm could not be built; tests of the chart are skipped without it" >&2
    fi
fi

# the type checker and the linter of the console's modules, by the lock
console_tools=.heddle/tools/console
console_wanted=$(sha256sum tests/console/package-lock.json)
if [ "${1:-}" != up ] && [ "$(cat $console_tools/installed 2>/dev/null)" != "$console_wanted" ] && command -v npm >/dev/null; then
    echo "setup: installing the checkers of the console's modules"
    mkdir -p $console_tools
    cp tests/console/package.json tests/console/package-lock.json $console_tools
    if npm ci --prefix $console_tools --ignore-scripts --no-audit --no-fund --silent; then
        echo "$console_wanted" >$console_tools/installed
    else
        echo "setup: they could not be installed; the console's modules are not checked without them" >&2
    fi
fi

# a certified OpenID provider, in Node, for the tests of logins; its lock file has the checksum of every package
provider=.heddle/tools/oidc
provider_wanted=$(sha256sum tests/support/oidc/package-lock.json)
if [ "${1:-}" != up ] && [ "$(cat "$provider/installed" 2>/dev/null)" != "$provider_wanted" ] && command -v npm >/dev/null; then
    echo "setup: installing the OpenID provider of tests/support/oidc"
    mkdir -p "$provider"
    cp tests/support/oidc/package.json tests/support/oidc/package-lock.json "$provider"
    if npm --prefix "$provider" ci --ignore-scripts --no-audit --no-fund --silent; then
        echo "$provider_wanted" >"$provider/installed"
    else
        echo "setup: the OpenID provider could not be installed; tests of logins at one are skipped without it" >&2
    fi
fi

python=$(find_python)
stamp=.venv/.heddle-installed
wanted=$(sha256sum requirements.lock pyproject.toml)
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
echo "setup: installing the Python packages of requirements.lock into .venv"
# The lock is the whole closure, so nothing is resolved again: pip takes `coverage[toml]`, asked for by a plugin, for
# another package than the pinned `coverage`, and refuses on the day a newer one is published.
# gssapi is built here: its thin layer of C needs no optimizing, and is there in half the time without
export CFLAGS="${CFLAGS:--O0}"
if command -v uv >/dev/null; then
    [ -x .venv/bin/python ] || uv venv --quiet --seed --python "$python" .venv
    uv pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r requirements.lock
    uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
else
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
    .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
fi
# what a lock lacks is said here, not by a test that cannot import
lacking=$(.venv/bin/python -m pip check) || {
    printf '%s\nsetup: requirements.lock lacks a package; renew it with: make lock\n' "$lacking" >&2
    exit 1
}
echo "$wanted" >"$stamp"
