#!/usr/bin/env python3
"""What encryption costs: processor time of both ends for a packet of uncompressed 720p60, in the clear and encrypted.

    cargo build --release
    python3 tests/bench/encryption_cost.py            # nothing else running

Calls in the clear and encrypted calls take turns over the loopback interface. Each is watched once its warm-up is over:
the time that the scheduler gave the threads of both processes, user and system, over the packets of 1,200 bytes that
arrived. Two ends of this project agree on AEAD_AES_256_GCM. The status is 1 if the median of the encrypted calls is more
than 1.25 times that of the others.
"""

import argparse
import glob
import os
import statistics
import sys
import time

from hdtv_call import FULL_BPS, WARMUP, call

#: An RTP packet with its header, before it is encrypted.
PACKET_BYTES = 1200
TARGET_RATIO = 1.25


def processor_ns(process):
    """The time that the threads of a process ran, in ns."""
    total = 0
    for path in glob.glob(f"/proc/{process}/task/*/schedstat"):
        with open(path) as file:
            total += int(file.read().split()[0])
    return total


def packet_cost(binary, seconds, encrypted):
    """What a packet took at the sender and at the receiver, in us, and the rate of arrival in bit/s."""
    taken = []

    def watch(sender, receiver):
        time.sleep(WARMUP)
        before = time.monotonic(), processor_ns(sender), processor_ns(receiver)
        time.sleep(seconds)
        after = time.monotonic(), processor_ns(sender), processor_ns(receiver)
        taken.extend(last - first for first, last in zip(before, after))

    # The receiver runs on for a second: no thread ends before it is read.
    receiver, _ = call(binary, WARMUP + seconds + 1, None, watch, encrypted)
    bps = receiver.summary["throughput_bps"]
    elapsed, *ends = taken
    packets = bps / 8 / PACKET_BYTES * elapsed
    return [end / packets / 1e3 for end in ends], bps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release/evenkeel")
    parser.add_argument("--seconds", type=int, default=6, help="time that each call is watched")
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    costs = {False: [], True: []}
    print("| call | sender, us | receiver, us | both, us | bit/s | load |\n" + "|---" * 6 + "|")
    for _ in range(options.pairs):
        for encrypted, both in costs.items():
            ends, bps = packet_cost(options.bin, options.seconds, encrypted)
            both.append(sum(ends))
            name, load = "encrypted" if encrypted else "in the clear", os.getloadavg()[0]
            print(f"| {name} | {ends[0]:.2f} | {ends[1]:.2f} | {both[-1]:.2f} | {bps:.4g} | {load:.1f} |", flush=True)
            if bps < FULL_BPS:
                print("not all pixels arrived: a packet then costs more", file=sys.stderr)
    plain, encrypted = (statistics.median(both) for both in costs.values())
    ratio = encrypted / plain
    print(f"\n{plain:.2f} us a packet in the clear, {encrypted:.2f} us encrypted: {ratio:.2f} times, wanted {TARGET_RATIO}")
    sys.exit(ratio > TARGET_RATIO)


if __name__ == "__main__":
    main()
