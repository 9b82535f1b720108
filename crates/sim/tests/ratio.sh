#!/bin/bash
# How many times less processor time than ns-2 and ns-3 the simulator takes for the same network:
#
#   crates/sim/tests/ratio.sh ns2 [FLOWS MBPS SECONDS]
#   crates/sim/tests/ratio.sh ns3 [FLOWS MBPS SECONDS]
#
# FLOWS of TCP, and with ns-2 as many of TFRC; without numbers, what the simulator's targets are for.
# Needs ns-2.35 (Debian's package ns2), or ns-3.37 (libns3-dev) and g++. Each side's figure is the least
# of three runs in turn.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "ratio.sh: $1" >&2
    exit 2
}

# Seconds of processor time that a command takes.
seconds() {
    local TIMEFORMAT=%U
    { time "$@" >/dev/null; } 2>&1
}

least() {
    sort --general-numeric-sort | head --lines=1
}

compare() {
    local times='' sim=''
    for _ in 1 2 3; do
        times+="$(seconds "${other[@]}" "$@")"$'\n'
        sim+="$(seconds "$ours" "$@" ${tcp_alone:+tcp})"$'\n'
    done
    times=$(least <<<"${times%$'\n'}")
    sim=$(least <<<"${sim%$'\n'}")
    hops=$("$ours" "$@" ${tcp_alone:+tcp} | cut --delimiter=' ' --fields=3)
    awk -v other="$times" -v sim="$sim" -v hops="$hops" -v what="$what $*" 'BEGIN {
        printf "%s: %.2f s, evenkeel %.2f s, ratio %.1f; %.1f M transmissions a second\n", what, other, sim, other / sim, hops / sim / 1e6
    }'
}

what=${1:-}
tcp_alone=''
case $what in
ns2)
    command -v ns >/dev/null || fail 'ns is not installed; apt-get install ns2'
    other=(ns tests/ns2/dumbbell.tcl)
    ;;
ns3)
    folder=$(mktemp --directory)
    trap 'rm --recursive "$folder"' EXIT
    g++ -O2 -o "$folder/dumbbell" tests/ns3/dumbbell.cc \
        -lns3-{core,network,internet,point-to-point,applications,traffic-control,bridge,stats} ||
        fail 'the program for ns-3 did not compile; apt-get install libns3-dev g++'
    other=("$folder/dumbbell")
    tcp_alone=yes
    ;;
*) fail 'usage: ratio.sh ns2|ns3 [FLOWS MBPS SECONDS]' ;;
esac
shift
cargo build --quiet --release --example dumbbell
ours=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/examples/dumbbell

case $#,$what in
3,*) compare "$@" ;;
0,ns2)
    compare 16 15 150
    compare 64 100 60
    ;;
0,ns3) compare 64 100 60 ;;
*) fail 'usage: ratio.sh ns2|ns3 [FLOWS MBPS SECONDS]' ;;
esac
