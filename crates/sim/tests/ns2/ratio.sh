#!/bin/bash
# How many times less processor time than ns-2 the simulator takes for the same network:
#
#   crates/sim/tests/ns2/ratio.sh [FLOWS MBPS SECONDS]
#
# FLOWS of TCP and as many of TFRC; without arguments, the two sizes that are to be five times faster.
# Needs ns-2.35 (Debian's package ns2). Each side's figure is the least of three runs in turn.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v ns >/dev/null || { echo "ratio.sh: ns is not installed; apt-get install ns2" >&2; exit 2; }
cargo build --quiet --release --example dumbbell
ours=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/examples/dumbbell

# Seconds of processor time that a command takes.
seconds() {
    local TIMEFORMAT=%U
    { time "$@" >/dev/null; } 2>&1
}

least() {
    sort --general-numeric-sort | head --lines=1
}

compare() {
    local run ns='' sim=''
    for run in 1 2 3; do
        ns+="$(seconds ns tests/ns2/dumbbell.tcl "$@")"$'\n'
        sim+="$(seconds "$ours" "$@")"$'\n'
    done
    ns=$(least <<<"${ns%$'\n'}")
    sim=$(least <<<"${sim%$'\n'}")
    hops=$("$ours" "$@" | cut --delimiter=' ' --fields=3)
    awk -v ns="$ns" -v sim="$sim" -v hops="$hops" -v what="$1 + $1 flows, $2 Mb/s, $3 s" 'BEGIN {
        printf "%s: ns-2 %.2f s, evenkeel %.2f s, ratio %.1f; %.1f M transmissions a second\n", what, ns, sim, ns / sim, hops / sim / 1e6
    }'
}

if [[ $# -eq 3 ]]; then
    compare "$@"
elif [[ $# -eq 0 ]]; then
    compare 16 15 150
    compare 64 100 60
else
    echo "usage: ratio.sh [FLOWS MBPS SECONDS]" >&2
    exit 2
fi
