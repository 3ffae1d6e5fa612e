#!/usr/bin/env bash
# Starts and stops a Docker daemon of our own where none runs (no systemd needed), known by its pid file.
#   docker-daemon.sh start    prints what it did; success means that `docker info` answers
#   docker-daemon.sh stop     ends the daemon that `start` started; does nothing to any other
set -euo pipefail

home=${XDG_STATE_HOME:-$HOME/.local/state}/heddle/docker
pid_file=$home/dockerd.pid

start() {
    if docker info >/dev/null 2>&1; then
        echo "docker: a daemon answers"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "docker: no daemon answers, and only root can start one" >&2
        return 1
    fi
    if ! PATH="$PATH:/usr/sbin" command -v dockerd >/dev/null; then
        echo "docker: dockerd is not installed (Debian: apt-get install docker.io iptables)" >&2
        return 1
    fi
    mkdir -p "$home"
    rm -f "$pid_file"
    PATH="$PATH:/usr/sbin:/sbin" setsid dockerd --data-root "$home/data" --exec-root "$home/exec" --pidfile "$pid_file" \
        >"$home/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 300); do
        if docker info >/dev/null 2>&1; then
            echo "docker: started a daemon (pid $(cat "$pid_file"))"
            return
        fi
        sleep 0.1
    done
    echo "docker: the daemon does not answer; last lines of $home/dockerd.log:" >&2
    tail -n 15 "$home/dockerd.log" >&2
    return 1
}

stop() {
    local pid
    pid=$(cat "$pid_file" 2>/dev/null) || return 0
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
        kill "$pid"
        for _ in $(seq 300); do
            [ -d "/proc/$pid" ] || break
            sleep 0.1
        done
        echo "docker: ended the daemon (pid $pid)"
    fi
    rm -f "$pid_file"
}

case ${1:-} in
    start) start ;;
    stop) stop ;;
    *)
        echo "usage: $0 start|stop" >&2
        exit 2
        ;;
esac
