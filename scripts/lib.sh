# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that the scripts share. Sourced; sets strict mode, REEVE_ROOT and REEVE_CACHE.

set -euo pipefail

REEVE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The cache outlives builds and clones: Kafka's jars, the tests' Python packages.
REEVE_CACHE=${REEVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/reeve}
# Debian's own interpreter, which sees Debian's python3-* packages; the one in PATH may not.
REEVE_PYTHON=/usr/bin/python3

# say WORDS...: one progress line on stderr, prefixed with the name of the script.
say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# usage_of FILE: prints the comment at the head of a script, which is its help.
usage_of() {
    awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$1"
}

# have_package NAME[:ARCHITECTURE]: of this machine's architecture, or of none.
have_package() {
    local architecture=${1##*:}
    [ "$architecture" != "$1" ] || architecture=$(dpkg --print-architecture)
    dpkg-query -W -f '${db:Status-Status} ${Architecture}\n' "${1%%:*}" 2>/dev/null |
        grep -Eqx "installed ($architecture|all)"
}

# wait_until SECONDS COMMAND...: runs COMMAND until it succeeds; fails after SECONDS.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

# is_process PID TEXT: PID is running and its command line contains TEXT. While a process executes
# another program, its command line is empty for a moment, as that of one that has ended.
is_process() {
    local line='' tries=100
    [ -n "$1" ] || return 1
    while [ -z "$line" ] && [ $tries -gt 0 ]; do
        line=$(tr '\0' ' ' <"/proc/$1/cmdline") || return 1
        [ -n "$line" ] || ! grep -q '^State:.[ZX]' "/proc/$1/status" || return 1
        tries=$((tries - 1))
    done 2>/dev/null
    [[ $line == *"$2"* ]]
}

not_process() {
    ! is_process "$@"
}

# end_tree PID: with what it has started, which may be in process groups of its own. It is stopped
# meanwhile, so that it does not start more.
end_tree() {
    local child
    kill -STOP "$1" 2>/dev/null || return 0
    for child in $(pgrep -P "$1"); do end_tree "$child"; done
    kill "$1" 2>/dev/null || true
    kill -CONT "$1" 2>/dev/null || true
}

# free_ports COUNT: unused ports of 127.0.0.1, one per line, outside the kernel's ephemeral range,
# so that no outgoing connection takes one while its server restarts.
free_ports() {
    "$REEVE_PYTHON" - "$1" <<'PY'
import random
import socket
import sys

taken = []
while len(taken) < int(sys.argv[1]):
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", random.randrange(15000, 30000)))
    except OSError:
        continue
    taken.append(held)
for held in taken:
    print(held.getsockname()[1])
PY
}
