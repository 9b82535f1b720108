#!/bin/bash
# The simulator's speed and size beside its targets, and beside other simulators on the same network:
#
#   crates/sim/tests/speed.sh [rate] [ns2] [ns3] [growth] [size]
#
#   rate    link transmissions a second with 16 flows each of TCP and TFRC
#   ns2     16 and 64 flows each of TCP and TFRC; needs ns-2.35 (Debian's package ns2)
#   ns3     64 flows of TCP, as it has no TFRC; needs ns-3.37 (libns3-dev) and g++
#   growth  what a packet-hop costs with 10 flows and with 10,000
#   size    10,000 flows through 10 Gb/s within 2 GiB
#
# Without arguments, all of them, those beside ns-2 and ns-3 where these are installed. Times are of the processor,
# each the least of three runs in turn. Status 1 if a target is missed, 2 if something could not be measured.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "speed.sh: $1" >&2
    exit 2
}

# Counts a target that was missed: held COMMAND… ends well where it is met.
missed=0
held() {
    "$@" || missed=$((missed + 1))
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
        exit (theirs / sim < target)
    }'
}

rate() {
    local sim=''
    for _ in 1 2 3; do
        sim+="$(seconds "$ours" 16 15 150)"$'\n'
    done
    awk -v sim="$(least <<<"${sim%$'\n'}")" -v hops="$(transmissions 16 15 150)" 'BEGIN {
        printf "16 + 16 flows, 15 Mb/s, 150 s: %.1f M transmissions a second (target: 10)\n", hops / sim / 1e6
        exit (hops / sim < 10e6)
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
        exit (many / few >= 3)
    }'
}

size() {
    local time
    time=$(ulimit -v $((2 << 20)) && seconds "$ours" 5000 10000 10) || {
        echo '10,000 flows, 10 Gb/s, 10 s: did not end within 2 GiB (target)'
        return 1
    }
    echo "10,000 flows, 10 Gb/s, 10 s: within 2 GiB (target), $time s"
}

for what; do
    [[ $what =~ ^(rate|ns2|ns3|growth|size)$ ]] || fail 'usage: speed.sh [rate] [ns2] [ns3] [growth] [size]'
done
if [[ $# -eq 0 ]]; then
    set -- rate
    if command -v ns >/dev/null; then set -- "$@" ns2; else echo 'ns-2: not installed, not compared'; fi
    if compgen -G '/usr/include/ns3*' >/dev/null; then set -- "$@" ns3; else echo 'ns-3: not installed, not compared'; fi
    set -- "$@" growth size
fi
cargo build --quiet --release --example dumbbell
ours=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/examples/dumbbell
for what; do
    case $what in
    ns2)
        command -v ns >/dev/null || fail 'ns is not installed; apt-get install ns2'
        held compare 5 ns2 16 15 150
        held compare 5 ns2 64 100 60
        ;;
    ns3)
        folder=$(mktemp --directory)
        trap 'rm --recursive "$folder"' EXIT
        g++ -O2 -o "$folder/dumbbell" tests/ns3/dumbbell.cc \
            -lns3-{core,network,internet,point-to-point,applications,traffic-control,bridge,stats} ||
            fail 'the program for ns-3 did not compile; apt-get install libns3-dev g++'
        held compare 200 ns3 64 100 60 tcp
        ;;
    *) held "$what" ;;
    esac
done
if ((missed > 0)); then
    echo "speed.sh: targets missed: $missed" >&2
    exit 1
fi
