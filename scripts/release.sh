#!/usr/bin/env bash
# Makes what a release consists of, and proves each part by installing it: `make release`.
#   .heddle/release/VERSION/   wheel, sdist, image (with Kerberos), chart, bill of materials, SHA256SUMS
# Needs Docker (scripts/docker-daemon.sh start) and helm (scripts/setup.sh slice shipped). Where things are tried, no
# Python package is fetched: what Heddle needs comes from its lock file, and is fetched here.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.heddle/tools:$PWD/.venv/bin:$PATH"

base=${BASE_IMAGE:-debian:bookworm-slim}
version=$(sed -nE 's/^version = "(.*)"/\1/p' pyproject.toml)
release=.heddle/release/$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refuse() {
    echo "release: $*" >&2
    exit 1
}

make_parts() {
    rm -rf "$release"
    mkdir -p "$release"
    uv build --quiet --out-dir "$release"
    rm -f "$release/.gitignore"
    scripts/images.sh heddle
    docker tag heddle "heddle:$version"
    docker run --rm --entrypoint cat "heddle:$version" /opt/heddle/sbom.cdx.json >"$release/heddle-$version.cdx.json"
    docker save "heddle:$version" | gzip --no-name >"$release/heddle-image-$version.tar.gz"
    helm package docker/helm/heddle --version "$version" --app-version "$version" --destination "$release" >/dev/null
    (cd "$release" && sha256sum -- * >SHA256SUMS)
}

fetch_wheels() { # of the oldest Python that is supported, which is the base image's
    pip download --quiet --no-deps --require-hashes --only-binary=:all: --implementation cp --python-version 3.11 \
        --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
        -r docker/heddle/requirements.lock --dest "$work/wheels"
    # what makes a wheel of the sdist
    pip download --quiet --only-binary=:all: --implementation cp --python-version 3.11 --platform manylinux2014_x86_64 \
        hatchling hatch-fancy-pypi-readme --dest "$work/wheels"
    # what the extra for tests needs besides
    pip download --quiet --only-binary=:all: --implementation cp --python-version 3.11 --platform manylinux2014_x86_64 \
        docker pytest testcontainers --dest "$work/wheels"
}

prove_package() { # file
    echo "release: $(basename "$1") in a bare container"
    docker run --rm --volume "$PWD/$release:/release:ro" --volume "$work/wheels:/wheels:ro" --volume "$work:/given:ro" \
        "$base" bash -euc "
            apt-get update -qq && apt-get install -qq -y --no-install-recommends python3-venv >/dev/null 2>&1
            python3 -m venv /venv
            /venv/bin/pip install --quiet --no-index --find-links /wheels /release/$(basename "$1")
            cd /tmp
            [ \"\$(/venv/bin/heddle --version)\" = 'heddle $version' ]
            /venv/bin/heddle serve -c /given/heddle.toml --check
            /venv/bin/python -c 'import heddle.client'
            [ \"\$(ls -d /venv/lib/python3*/site-packages/{shim,adapters,fairness,altruism} 2>/dev/null)\" = '' ]"
}

prove_fixture() { # a project of somebody's own, and one fixture: Java and Hadoop's jars are all that it is given
    echo "release: a project with yarn_federation in a bare container"
    local jars
    jars=$(python -m shim lab jars)
    printf '%s\n' 'def test_it(yarn_federation):' \
        '    command = {"commands": {"command": "true"}}' \
        '    job = yarn_federation.submit(' \
        '        {"application-name": "n", "am-container-spec": command, "resource": {"memory": 256, "vCores": 1},' \
        '         "unmanaged-AM": True})' \
        '    job.kill()' \
        '    job.wait(status="KILLED")' \
        '    assert job.cluster in yarn_federation.clusters' >"$work/test_own.py"
    docker run --rm --volume "$PWD/$release:/release:ro" --volume "$work/wheels:/wheels:ro" --volume "$work:/given:ro" \
        --volume "$jars:/jars:ro" "$base" bash -euc "
            mkdir -p /usr/share/man/man1 /project ~/.cache/heddle/hadoop
            apt-get update -qq
            apt-get install -qq -y --no-install-recommends python3-venv openjdk-17-jre-headless >/dev/null 2>&1
            python3 -m venv /venv
            /venv/bin/pip install --quiet --no-index --find-links /wheels '/release/$(basename "$1")[testing]'
            cp -r /jars ~/.cache/heddle/hadoop/$(basename "$jars")
            cp /given/test_own.py /project
            cd /project
            /venv/bin/python -m pytest -q"
}

prove_image() {
    echo "release: the image, as it comes out of its file"
    docker rmi --force heddle "heddle:$version" >/dev/null
    gzip --decompress --stdout "$release/heddle-image-$version.tar.gz" | docker load --quiet >/dev/null
    docker tag "heddle:$version" heddle
    local run=(docker run --rm --network none --read-only --cap-drop ALL --volume "$work:/given:ro")
    [ "$("${run[@]}" "heddle:$version" --version)" = "heddle $version" ]
    "${run[@]}" "heddle:$version" serve -c /given/heddle.toml --check
    "${run[@]}" --entrypoint python3 "heddle:$version" -c 'import gssapi'
}

prove_chart() {
    echo "release: the chart"
    { printf 'secretName: heddle\nconfiguration: |\n' && sed 's/^/  /' "$work/heddle.toml"; } >"$work/values.yaml"
    helm lint --quiet --kube-version 1.30 --values "$work/values.yaml" "$release/heddle-$version.tgz"
    helm template heddle "$release/heddle-$version.tgz" --kube-version 1.30 --values "$work/values.yaml" >"$work/chart"
    grep -q "image: .*heddle:$version" "$work/chart" || refuse "the chart does not name the image heddle:$version"
}

prove_sums() {
    (cd "$release" && sha256sum --check --quiet SHA256SUMS)
    python -c "
import json, sys
bill = json.load(open(sys.argv[1]))
assert bill['metadata']['component']['version'] == sys.argv[2], bill['metadata']
assert len(bill['components']) > 20, len(bill['components'])" "$release/heddle-$version.cdx.json" "$version"
}

docker info >/dev/null 2>&1 || refuse "no Docker daemon answers: scripts/docker-daemon.sh start"
command -v helm >/dev/null || refuse "there is no helm: scripts/setup.sh slice shipped"
scripts/base-image.sh "$base"
printf '[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:8"\n' >"$work/heddle.toml"
chmod 755 "$work" && chmod 644 "$work/heddle.toml"
make_parts
fetch_wheels
prove_package "$release"/heddle_yarn-*.whl
prove_package "$release"/heddle_yarn-*.tar.gz
prove_fixture "$release"/heddle_yarn-*.whl
prove_image
prove_chart
prove_sums
echo "release: $release"
ls -l "$release"
