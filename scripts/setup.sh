#!/usr/bin/env bash
# Installs what a command needs and this machine lacks, and nothing else; what it installs is named before.
#   setup.sh up                  what `make up` needs
#   setup.sh test                what `make test` needs besides (the default)
#   setup.sh slice NAME...|all   what these slices of the tests need besides
#   setup.sh packages up|test|slice NAME...   names the Debian packages of a command, installed or not, and ends
# System packages come on Debian and Ubuntu, as root; elsewhere it says what is missing. What is there costs no second,
# so it may run before each run of tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# Who needs what: `test` needs what `up` needs, and a slice what `test` needs, and what stands behind its name.
commands='
up          java maven python hosts
test        compiler headers curl

bench       load
console     browser node console-checkers
containers  docker
kerberos    kdc
ldap        directory
oidc        node oidc-provider
postgresql  postgresql
shipped     prometheus shells manual units helm node
'

# What a need is: a program of the path, a file, or a check below, and the Debian package that has it; of several the
# first that this release has.
needs='
java        :java                             openjdk-17-jre-headless|openjdk-21-jre-headless
maven       mvn                               maven
python      :python                           python3
python      :python                           python3-venv
hosts       :hosts                            iproute2
compiler    gcc                               gcc
compiler    /usr/include/stdio.h              libc6-dev
compiler    make                              make
headers     :python-headers                   PYTHON-dev
headers     krb5-config                       libkrb5-dev
headers     /usr/include/ldap.h               libldap-dev
headers     /usr/include/sasl/sasl.h          libsasl2-dev
curl        curl                              curl
load        wrk                               wrk
browser     chromium                          chromium
node        node                              nodejs
node        npm                               npm
docker      dockerd                           docker.io
docker      debootstrap                       debootstrap
docker      iptables                          iptables
kdc         krb5kdc                           krb5-kdc
kdc         kadmin.local                      krb5-admin-server
kdc         kinit                             krb5-user
directory   slapd                             slapd
postgresql  /usr/lib/postgresql/*/bin/initdb  postgresql
prometheus  promtool                          prometheus
shells      zsh                               zsh
shells      fish                              fish
manual      mandoc                            mandoc
units       systemd-analyze                   systemd
'

# What no package of Debian has, by the name of its need, each a function below; tests that lack it say so.
extras='console-checkers oidc-provider helm'

refuse() {
    echo "setup: $*" >&2
    exit 2
}

slices() { awk '$1 && $1 != "up" && $1 != "test" { print $1 }' <<<"$commands"; }

needs_of() { # name of a command or slice
    awk -v name="$1" '$1 == name { for (i = 2; i <= NF; i++) print $i; found = 1 } END { exit !found }' <<<"$commands" ||
        refuse "no slice $1; there are: $(slices | paste -sd ' ')"
}

wanted_by() { # up | test | slice NAME...
    local name verb=${1:-test}
    shift || true
    case $verb in
        up) ;;
        test) set -- test ;;
        slice)
            [ $# -gt 0 ] || refuse "which slice? setup.sh slice NAME...|all"
            # shellcheck disable=SC2046 # names without blanks
            [ "$*" != all ] || set -- $(slices)
            set -- test "$@"
            ;;
        *) refuse "no command $verb: setup.sh up | test | slice NAME...|all" ;;
    esac
    for name in up "$@"; do needs_of "$name"; done
}

find_python() { # sets `python`; empty if there is none of a version that will do
    for python in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 ""; do
        if [ -n "$python" ] && "$python" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            return
        fi
    done
}

has_headers() {
    "${python:-false}" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

headers_package() { # of the Python that is used; Debian's own, if there is none yet
    "${python:-false}" -c 'import sys; print("python{}.{}-dev".format(*sys.version_info))' || echo python3-dev
}

is_there() { # sign
    case $1 in
        :java) [ -x "${JAVA_HOME:+$JAVA_HOME/bin/java}" ] || { [ -z "${JAVA_HOME:-}" ] && command -v java >/dev/null; } ;;
        :python) [ -n "$python" ] ;;
        :hosts) [ "$(id -u)" -ne 0 ] || PATH="$PATH:/usr/sbin:/sbin" command -v ip >/dev/null ;; # of use to root alone
        :python-headers) has_headers ;;
        /*) compgen -G "$1" >/dev/null ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

first_known() { # sign, names with | between; any will do, if what shows it is there
    local name
    for name in ${2//|/ }; do
        # `show` knows names, too, of what cannot be had
        if is_there "$1" || [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; then echo "$name" && return; fi
    done
    echo "${2%%|*}"
}

packages_of() { # all|missing need...
    local which=$1 need sign package wanted
    shift
    wanted=" $* "
    while read -r need sign package; do
        [ -n "$need" ] && [[ $wanted == *" $need "* ]] || continue
        [ "$which" = all ] || ! is_there "$sign" || continue
        [ "$package" != PYTHON-dev ] || package=$(headers_package)
        [[ $package != *"|"* ]] || package=$(first_known "$sign" "$package")
        echo "$package"
    done <<<"$needs" | sort -u
}

# a refusal in `< <(...)` would be swallowed
words=$(if [ "${1:-}" = packages ]; then shift; fi; wanted_by "$@")
mapfile -t wanted <<<"$words"
find_python
if [ "${1:-}" = packages ]; then
    packages_of all "${wanted[@]}"
    exit
fi
what=${1:-test}
lock=requirements.lock stamp=.venv/.heddle-installed
[ "$what" != up ] || lock=docker/heddle/requirements.lock stamp=.venv/.heddle-runtime

logs=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
made_policy=
trap 'rm -rf "$logs"; [ -z "$made_policy" ] || rm -f "$policy"' EXIT

step() { # name command...: says how many seconds it took; what it printed is shown if it fails
    local name=$1 began=$EPOCHREALTIME
    shift
    # beside us, as `set -e` means nothing in what a condition runs
    (set -e; "$@") >"$logs/$name" 2>&1 &
    if ! wait $!; then
        tail -n 30 "$logs/$name" >&2
        echo "setup: $name: failed" >&2
        return 1
    fi
    awk -v name="$name" -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "setup: %s: %.0f s\n", name, ended - began }'
}

debian_packages() { # package...
    # the JRE's post-install script wants this folder, which slim images leave out
    mkdir -p /usr/share/man/man1
    if [[ " $* " == *" postgresql "* ]]; then
        # the server binaries are wanted, not a cluster that runs all the time
        mkdir -p /etc/postgresql-common/createcluster.d
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/heddle.conf
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    if [[ " $* " == *" krb5-kdc "* ]] && command -v systemctl >/dev/null; then
        systemctl disable --quiet krb5-kdc krb5-admin-server 2>/dev/null || true
    fi
}

install_debian_packages() {
    local needed first
    step "lists of Debian packages" apt-get update -qq
    mapfile -t missing < <(packages_of missing "${wanted[@]}")
    echo "setup: missing Debian packages: ${missing[*]}"
    mapfile -t needed < <(apt-get install --simulate --no-install-recommends "${missing[@]}" |
        awk '$1 == "Inst" { print $2 }' | grep -vxF "$(printf '%s\n' "${missing[@]}")")
    [ ${#needed[@]} -eq 0 ] || echo "setup: they bring ${#needed[@]} that they need: ${needed[*]}"
    # programs are wanted, not services of the machine: tests start their own, and in a container none may start
    if [ "$what" != up ] && [ ! -e "$policy" ]; then
        made_policy=yes
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    # pip works while apt goes on
    mapfile -t first < <(packages_of missing python)
    if [ ${#first[@]} -gt 0 ]; then
        step "Debian packages of Python" debian_packages "${first[@]}"
        find_python
        begin_what_can
    fi
    step "Debian packages" debian_packages "${missing[@]}"
}

jars_folder=${XDG_CACHE_HOME:-$HOME/.cache}/heddle/hadoop/$(sed -nE 's/^DEFAULT_VERSION = "(.*)"/\1/p' shim/lab/spec.py)

hadoop_jars() {
    # by any Python, while pip works: so without `shim.lab` as a whole, which needs a package
    "$python" - <<'PYTHON'
import sys
import types

sys.path.insert(0, ".")
lab = types.ModuleType("shim.lab")
lab.__path__ = ["shim/lab"]
sys.modules["shim.lab"] = lab

from shim.lab.jars import ensure_jars
from shim.lab.spec import DEFAULT_VERSION

ensure_jars(DEFAULT_VERSION, print)
PYTHON
}

python_packages() {
    # The lock is the whole closure, so nothing is resolved again: pip takes `coverage[toml]`, asked for by a plugin, for
    # another package than the pinned `coverage`, and refuses on the day a newer one is published.
    # gssapi is built here: its thin layer of C needs no optimizing, and is there in half the time without
    export CFLAGS="${CFLAGS:--O0}"
    if command -v uv; then
        [ -x .venv/bin/python ] || uv venv --quiet --seed --python "$python" .venv
        uv pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r "$lock"
    else
        [ -x .venv/bin/python ] || "$python" -m venv .venv
        .venv/bin/python -m pip install --quiet --no-deps --require-hashes -r "$lock"
    fi
    if [ "$what" != up ]; then
        .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
    elif ! compgen -G '.venv/lib/python3*/site-packages/heddle_yarn-*.dist-info'; then
        # what the line above makes, without the packages that it takes to make it
        echo "$PWD" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/_heddle_yarn.pth"
        printf '#!%s/.venv/bin/python\nimport sys\n\nfrom heddle.__main__ import main\n\nsys.exit(main())\n' "$PWD" >.venv/bin/heddle
        chmod 755 .venv/bin/heddle
    fi
    # what a lock lacks is said here, not by an import that fails
    .venv/bin/python -m pip check || {
        echo "$lock lacks a package, or another one stands in the way; renew it with: make lock"
        return 1
    }
    sha256sum "$lock" $([ "$what" = up ] || echo pyproject.toml) >"$stamp"
}

console-checkers() { npm_folder tests/console .heddle/tools/console; }

oidc-provider() { npm_folder tests/support/oidc .heddle/tools/oidc; }

npm_folder() { # folder with a lock file, which has the checksum of each package; where they go
    local locked
    locked=$(sha256sum "$1/package-lock.json")
    [ "$(cat "$2/installed" 2>/dev/null)" != "$locked" ] || return 0
    mkdir -p "$2"
    cp "$1/package.json" "$1/package-lock.json" "$2"
    npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund --silent
    echo "$locked" >"$2/installed"
}

# it checks the chart; it is built where Go is (a few minutes, once)
helm() {
    local version=v3.18.6
    [ "$(cat .heddle/tools/helm.version 2>/dev/null)" != "$version" ] || return 0
    mkdir -p .heddle/tools
    # unoptimised, it is built in three quarters of the time, and it renders a chart
    GOBIN="$PWD/.heddle/tools" CGO_ENABLED=0 go install -gcflags='all=-N -l' -ldflags='-s -w' "helm.sh/helm/v3/cmd/helm@$version"
    echo "$version" >.heddle/tools/helm.version
}

# Steps run beside each other, each as soon as no package of what it needs is missing.
begun=()
begin() { step "$@" & begun+=($!); }

begin_what_can() {
    if [ -n "$jars_lack" ] && [ -z "$(packages_of missing java maven python)" ]; then
        jars_lack=
        echo "setup: Hadoop's jars come by Maven, once, into $jars_folder"
        begin "Hadoop's jars" hadoop_jars
    fi
    if [ -n "$python_lacks" ] && [ -z "$(packages_of missing python $([ "$what" = up ] || echo compiler headers))" ]; then
        python_lacks=
        mapfile -t pinned < <(sed -nE 's/^([a-z0-9.-]+)==.*/\1/p' "$lock" | sort -u)
        echo "setup: ${#pinned[@]} Python packages of $lock come into .venv: ${pinned[*]}"
        begin "Python packages" python_packages
    fi
}

jars_lack=$([ -d "$jars_folder" ] || echo yes)
python_lacks=yes
if sha256sum --check --status "$stamp" 2>/dev/null; then
    python_lacks=
elif [ "$what" = up ] && grep -s requirements.lock .venv/.heddle-installed | sha256sum --check --status 2>/dev/null; then
    python_lacks= # what tests need is enough to run
fi
mapfile -t missing < <(packages_of missing "${wanted[@]}")
if [ ${#missing[@]} -gt 0 ] && { [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; }; then
    echo "setup: missing on this machine: ${missing[*]}" >&2
    echo "setup: as root on Debian or Ubuntu: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
begin_what_can
if [ ${#missing[@]} -gt 0 ]; then
    install_debian_packages
    find_python
    begin_what_can
fi
for each in $extras; do
    if [[ " ${wanted[*]} " == *" $each "* ]]; then
        step "$each" "$each" || echo "setup: tests that need the $each are skipped without it" >&2
    fi
done
failed=
for each in "${begun[@]}"; do wait "$each" || failed=yes; done
[ -z "$failed" ]
