#!/usr/bin/env python3
"""Uncompressed 720p60 between two processes: 885 Mb/s of pixels, 60 pictures a second, 75,000 packets a second.

    cargo build --release
    chrt -r 10 python3 tests/bench/hdtv_call.py       # nothing else running; the relay wants a third core

Rows: over the loopback interface; through `evenkeel link relay`; and through a relay that reorders as the `hdtv`
paper's path did. Each gives what came, the processor that each end took, and the loss event rate. The status is 1
if a row missed the targets: all pixels, none lost, 60 % of a core each.

    python3 tests/bench/hdtv_call.py --encrypted 5

compares an encrypted call with one in the clear, over the loopback interface, in five pairs of runs in turn: the processor
time of each end, user and system, over the packets of the same seconds, at a fixed rate. Target: the medians' ratio is 1.25 at most.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RELAY, RECEIVER = "127.0.0.1:5298", "127.0.0.1:5299"
WARMUP = 8
FPS = 60
#: Pixels alone; headers come on top.
FULL_BPS = 1280 * 720 * 16 * FPS
#: 1.3 % of the packets up to ten places late, at 13 us a packet.
#: Bytes of a packet, with the headers of RTP.
PACKET = 1200
MAX_RATIO = 1.25
REORDERED = '[forward]\nreordering = { probability = "1.3%", delay = "130us" }\n'


class Ended:
    """A process that has ended: its share of a core, and its summary."""

    def __init__(self, process, seconds):
        _, status, used = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(process.args)} failed: run it by hand to see why")
        self.core = (used.ru_utime + used.ru_stime) / seconds
        self.summary = json.loads(process.stdout.read()) if process.stdout else {}


def call(binary, seconds, relay, watch=lambda sender, receiver: None, encrypted=False, options=()):
    """The receiver and the sender of one call, as they ended; `watch` is told their processes when they have begun."""
    with tempfile.TemporaryDirectory() as folder:
        sdp = os.path.join(folder, "call.sdp")
        common = ["--headless", "--warmup", str(WARMUP), "--json", "-"]
        to = RECEIVER if relay is None else RELAY
        link = None
        if relay is not None:
            config = os.path.join(folder, "link.toml")
            with open(config, "w") as file:
                file.write(relay)
            command = [binary, "link", "relay", RELAY, RECEIVER, "--config", config]
            link = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        source = ["--codec", "raw", "--size", "1280x720", "--fps", str(FPS), "--sdp", sdp, *options]
        # The receiver ends first, so that nothing is sent to nobody.
        way = ["--bind", RECEIVER] if encrypted else [to, "--plain"]
        send = [binary, "send", *way, *source, "--seconds", str(seconds + 1), *common]
        errors = os.path.join(folder, "errors")
        with open(errors, "w") as said:
            sender = subprocess.Popen(send, stdout=subprocess.PIPE, stderr=said)
        invitation = None
        while not os.path.exists(sdp) or encrypted and invitation is None:
            time.sleep(0.05)
            with open(errors) as said:
                invitation = re.search(r"evenkeel:\S+(?=\s)", said.read())
        receive = [binary, "recv", invitation[0] if encrypted else RECEIVER, "--sdp", sdp, "--seconds", str(seconds), *common]
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        watch(sender.pid, receiver.pid)
        ends = Ended(receiver, seconds), Ended(sender, seconds)
        if link:
            link.send_signal(signal.SIGINT)
            link.wait(timeout=10)
        return ends


def processor_time(process):
    """The processor time that a process has taken, in seconds."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def microseconds_a_packet(binary, seconds, encrypted):
    """What a packet takes of a processor at the sender and at the receiver, and the bits a second."""
    taken, window = [], seconds - WARMUP - 2

    def watch(*ends):
        time.sleep(WARMUP + 1)
        before = [processor_time(end) for end in ends]
        time.sleep(window)
        taken.extend(processor_time(end) - earlier for end, earlier in zip(ends, before))

    receiver, _ = call(binary, seconds, None, watch, encrypted, ["--fixed-rate", "1G"])
    rate = receiver.summary["throughput_bps"]
    packets = window * rate / 8 / PACKET
    return [1e6 * seconds / packets for seconds in taken] + [rate]


def compare(binary, seconds, pairs):
    """Compares encrypted calls with calls in the clear; returns true if the ratios are within the target."""
    runs = [[microseconds_a_packet(binary, seconds, encrypted) for encrypted in [False, True]] for _ in range(pairs)]
    clear, encrypted = ([statistics.median(column) for column in zip(*kind)] for kind in zip(*runs))
    print("| end | clear, us a packet | encrypted | ratio | clear, bit/s | encrypted |\n" + "|---" * 6 + "|")
    for end, name in enumerate(["sender", "receiver"]):
        ratio = encrypted[end] / clear[end]
        print(f"| {name} | {clear[end]:.2f} | {encrypted[end]:.2f} | {ratio:.2f} | {clear[2]:.4g} | {encrypted[2]:.4g} |")
    return all(encrypted[end] <= MAX_RATIO * clear[end] for end in range(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release", help="the folder of the program")
    parser.add_argument("--seconds", type=int, default=30, help="length of each run")
    parser.add_argument("--encrypted", type=int, metavar="PAIRS", help="compare encrypted calls with calls in the clear")
    options = parser.parse_args()
    if options.encrypted:
        sys.exit(not compare(os.path.join(options.bin, "evenkeel"), options.seconds, options.encrypted))
    met_all = True
    print("| path | pictures a second | bit/s | lost, % | p, % | sender, cores | receiver, cores | met |\n" + "|---" * 8 + "|")
    for path, relay in [("loopback", None), ("relay", ""), ("relay, 1.3 % reordered", REORDERED)]:
        receiver, sender = call(os.path.join(options.bin, "evenkeel"), options.seconds, relay)
        seen = receiver.summary
        shown = seen["frames_shown"] / (options.seconds - WARMUP)
        lost, p = seen["packet_loss_pct"], 100 * sender.summary["loss_event_rate"]
        met = shown >= FPS - 0.1 and seen["throughput_bps"] >= FULL_BPS and lost == 0 and max(sender.core, receiver.core) <= 0.6
        met_all &= met
        verdict = "yes" if met else "NO"
        print(
            f"| {path} | {shown:.1f} | {seen['throughput_bps']:.4g} | {lost:.3g} | {p:.3g} "
            f"| {sender.core:.2f} | {receiver.core:.2f} | {verdict} |",
            flush=True,
        )
    sys.exit(not met_all)


if __name__ == "__main__":
    main()
