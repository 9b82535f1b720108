#!/usr/bin/env python3
"""Uncompressed 720p60 between two processes: 885 Mb/s of pixels, 60 pictures a second, 75,000 packets a second.

    cargo build --release
    chrt -r 10 python3 tests/bench/hdtv_call.py       # nothing else running; the relay wants a third core

Rows: over the loopback interface; through `evenkeel link relay`; and through a relay that reorders as the `hdtv`
paper's path did. Each gives what came, the processor that each end took, and the loss event rate. The status is 1
if a row missed the targets: all pixels, none lost, 60 % of a core each.
"""

import argparse
import json
import os
import signal
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
REORDERED = '[forward]\nreordering = { probability = "1.3%", delay = "130us" }\n'


class Ended:
    """A process that has ended: its share of a core, and its summary."""

    def __init__(self, process, seconds):
        _, status, used = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(process.args)} failed: run it by hand to see why")
        self.core = (used.ru_utime + used.ru_stime) / seconds
        self.summary = json.loads(process.stdout.read()) if process.stdout else {}


def call(binary, seconds, relay, watch=lambda sender, receiver: None):
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
        source = ["--codec", "raw", "--size", "1280x720", "--fps", str(FPS), "--sdp", sdp]
        # The receiver ends first, so that nothing is sent to nobody.
        send = [binary, "send", to, "--plain", *source, "--seconds", str(seconds + 1), *common]
        sender = subprocess.Popen(send, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not os.path.exists(sdp):
            time.sleep(0.05)
        receive = [binary, "recv", RECEIVER, "--sdp", sdp, "--seconds", str(seconds), *common]
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        watch(sender.pid, receiver.pid)
        ends = Ended(receiver, seconds), Ended(sender, seconds)
        if link:
            link.send_signal(signal.SIGINT)
            link.wait(timeout=10)
        return ends


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release", help="the folder of the program")
    parser.add_argument("--seconds", type=int, default=30, help="length of each run")
    options = parser.parse_args()
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
