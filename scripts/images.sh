#!/usr/bin/env bash
# Builds the images of docker/: heddle-hadoop:VERSION, heddle-postgres, heddle-prometheus, heddle. What has not changed
# comes from the cache.
#   images.sh [hadoop|postgres|prometheus|heddle]...    default: all
#   HADOOP_VERSION=3.4.2 BASE_IMAGE=debian:bookworm-slim
# Jars and Python packages are fetched on this machine, with its registries and certificates, and copied in.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE_IMAGE:-debian:bookworm-slim}
version=${HADOOP_VERSION:-3.4.2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # image context
    echo "image: $1"
    docker build --quiet --label heddle=image --build-arg "BASE_IMAGE=$base" --tag "$1" "$2" >/dev/null
}

hadoop() {
    local jars
    jars=$(.venv/bin/python -c "from shim.lab.jars import ensure_jars; print(ensure_jars('$version', lambda text: None))")
    mkdir "$work/hadoop"
    cp -r docker/hadoop/{Dockerfile,hadoop-node,conf} "$work/hadoop/"
    cp -r "$jars" "$work/hadoop/jars"
    # the builder compares times too: without this every build would copy the jars again
    find "$work/hadoop" -exec touch --no-dereference --date=@0 {} +
    build "heddle-hadoop:$version" "$work/hadoop"
}

postgres() {
    build heddle-postgres docker/postgres
}

prometheus() {
    mkdir "$work/prometheus"
    cp docker/prometheus/{Dockerfile,prometheus.yaml} docs/operators/monitoring/alerts.yaml "$work/prometheus/"
    find "$work/prometheus" -exec touch --no-dereference --date=@0 {} +
    build heddle-prometheus "$work/prometheus"
}

heddle() {
    local packages=.heddle/image/packages stamp
    stamp=$(sha256sum docker/heddle/requirements.lock)
    if [ "$(cat "$packages/.stamp" 2>/dev/null)" != "$stamp" ]; then
        rm -rf "$packages"
        # for the image's Python, whatever this machine's is
        .venv/bin/python -m pip install --quiet --no-compile --no-deps --target "$packages" \
            --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 --implementation cp --python-version 3.11 \
            --only-binary=:all: --require-hashes -r docker/heddle/requirements.lock
        echo "$stamp" >"$packages/.stamp"
    fi
    mkdir "$work/heddle"
    cp docker/heddle/{Dockerfile,heddle,heddle.toml} "$work/heddle/"
    cp -r "$packages" "$work/heddle/site"
    .venv/bin/python -m build --wheel --no-isolation --outdir "$work/wheel" . >"$work/wheel.log" 2>&1 || {
        cat "$work/wheel.log" >&2
        exit 1
    }
    .venv/bin/python -m zipfile -e "$work"/wheel/*.whl "$work/heddle/site"
    .venv/bin/python -m scripts.sbom "$work/heddle/site" "$work/heddle/site/sbom.cdx.json"
    find "$work/heddle" -exec touch --no-dereference --date=@0 {} +
    build heddle "$work/heddle"
}

[ $# -gt 0 ] || set -- hadoop postgres prometheus heddle
scripts/base-image.sh "$base"
for image in "$@"; do "$image"; done
# what a build has replaced is nobody's any more
docker image prune --force --filter label=heddle=image >/dev/null
