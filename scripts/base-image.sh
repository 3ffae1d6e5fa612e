#!/usr/bin/env bash
# Makes the base image that the Dockerfiles name, where no image registry can be reached: a minimal Debian by debootstrap.
# Does nothing if the image is there, whoever made it.
set -euo pipefail

image=${1:-debian:bookworm-slim}
suite=${image#*:}
suite=${suite%%-*}

if docker image inspect "$image" >/dev/null 2>&1; then
    exit 0
fi
if docker pull --quiet "$image" >/dev/null 2>&1; then
    echo "base image: pulled $image"
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "base image: $image cannot be pulled, and only root can make it by debootstrap" >&2
    exit 1
fi
echo "base image: making $image by debootstrap (about a minute, once)"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mirror=$(sed -nE 's/^(deb|URIs:) *(\[[^]]*\] *)?(https?:[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -v security | head -n 1 || true)
PATH="$PATH:/usr/sbin:/sbin" debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || {
    tail -n 15 "$root.log" >&2
    exit 1
}
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/* "$root.log"
# the post-install script of a JRE wants this folder
mkdir -p "$root/usr/share/man/man1"
tar -C "$root" -c . | docker import - "$image" >/dev/null
