#!/bin/bash
# The simulator's speed and size beside its targets, and beside other simulators on the same network:
#
#   crates/sim/tests/speed.sh [ns2] [ns3] [growth] [size]
#
#   ns2     16 and 64 flows each of TCP and TFRC; needs ns-2.35 (Debian's package ns2)
#   ns3     64 flows of TCP, as it has no TFRC; needs ns-3.37 (libns3-dev) and g++
#   growth  what a packet-hop costs with 10 flows and with 10,000
#   size    10,000 flows through 10 Gb/s within 2 GiB
#
# Without arguments, all of them. Times are of the processor, each the least of three runs in turn.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "speed.sh: $1" >&2
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

transmissions() {
    "$ours" "$@" | cut --delimiter=' ' --fields=3
}

# compare TARGET OTHER FLOWS MBPS SECONDS [tcp]: OTHER is the command of the other simulator.
compare() {
    local target=$1 other=$2 theirs='' sim=''
    shift 2
    for _ in 1 2 3; do
        theirs+="$(seconds "$other" "$1" "$2" "$3")"$'\n'
        sim+="$(seconds "$ours" "$@")"$'\n'
    done
    awk -v theirs="$(least <<<"${theirs%$'\n'}")" -v sim="$(least <<<"${sim%$'\n'}")" \
        -v hops="$(transmissions "$@")" -v what="$other: $*" -v target="$target" 'BEGIN {
        printf "%s: %.2f s, evenkeel %.2f s, ratio %.1f (target: %d)", what, theirs, sim, theirs / sim, target
        printf "; %.1f M transmissions a second\n", hops / sim / 1e6
    }'
}

ns2() {
    ns tests/ns2/dumbbell.tcl "$@"
}

ns3() {
    "$folder/dumbbell" "$@"
}

# Nanoseconds a transmission, of those from the second second on: cost FLOWS MBPS SECONDS
cost() {
    local short='' long=''
    for _ in 1 2 3; do
        short+="$(seconds "$ours" "$1" "$2" 2)"$'\n'
        long+="$(seconds "$ours" "$1" "$2" "$3")"$'\n'
    done
    awk -v short="$(least <<<"${short%$'\n'}")" -v long="$(least <<<"${long%$'\n'}")" \
        -v first="$(transmissions "$1" "$2" 2)" -v all="$(transmissions "$1" "$2" "$3")" 'BEGIN {
        printf "%.1f\n", (long - short) / (all - first) * 1e9
    }'
}

growth() {
    awk -v few="$(cost 5 10 400)" -v many="$(cost 5000 10000 4)" 'BEGIN {
        printf "a packet-hop: %.0f ns with 10 flows, %.0f ns with 10,000, ratio %.1f (target: below 3)\n", few, many, many / few
    }'
}

size() {
    local time
    time=$(ulimit -v $((2 << 20)) && seconds "$ours" 5000 10000 10) || fail '10,000 flows did not end within 2 GiB'
    echo "10,000 flows, 10 Gb/s, 10 s: within 2 GiB (target), $time s"
}

for what; do
    [[ $what =~ ^(ns2|ns3|growth|size)$ ]] || fail 'usage: speed.sh [ns2] [ns3] [growth] [size]'
done
[[ $# -gt 0 ]] || set -- ns2 ns3 growth size
cargo build --quiet --release --example dumbbell
ours=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/examples/dumbbell
for what; do
    case $what in
    ns2)
        command -v ns >/dev/null || fail 'ns is not installed; apt-get install ns2'
        compare 5 ns2 16 15 150
        compare 5 ns2 64 100 60
        ;;
    ns3)
        folder=$(mktemp --directory)
        trap 'rm --recursive "$folder"' EXIT
        g++ -O2 -o "$folder/dumbbell" tests/ns3/dumbbell.cc \
            -lns3-{core,network,internet,point-to-point,applications,traffic-control,bridge,stats} ||
            fail 'the program for ns-3 did not compile; apt-get install libns3-dev g++'
        compare 200 ns3 64 100 60 tcp
        ;;
    *) "$what" ;;
    esac
done
