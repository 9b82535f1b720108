#!/usr/bin/env python3
"""What `evenkeel link router` does with a kernel's own traffic on this machine, against a measurement of its own:
not the emulator's counters, but what two hosts see of each other through it.

    cargo build --release
    sudo chrt -r 10 python3 tests/bench/link_router.py        # needs root, iproute2, iperf3; nothing else running

Two hosts and the emulator between them are network namespaces without names, gone with the script. Prints a line a
row: what was asked for, what was measured, and whether it was met. The status is 1 if one was not. `--weak` asks for
what any machine does, busy or not: for a test of whether it works at all.

- TCP: `iperf3` through links without a limit; its receiver's rate.
- Rate: 130 Mb/s of UDP into a link of 100 Mb/s; bytes from the first arrival to the last, kernel receive times.
- Delay: 80 Mb/s of UDP through the same link with 10 ms of delay. Each arrival, by the kernel's receive time, is held
  against what the sender's times, the rate and the delay make it: the time of the call before the packet left,
  so that the hosts' own way through the kernel counts as the emulator's error. With `--weak` the delay is 100 ms: a busy
  machine makes packets late, by less than that, but none early.
"""

import argparse
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

LEFT, RIGHT, PORT = "198.51.100.1", "198.51.100.2", 5299
# UDP payload, and with its headers, as the link counts it.
PAYLOAD, SIZE = 1400, 1428
RATE = 100e6
# In <asm-generic/socket.h>; Python does not name them.
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33


class Bed:
    """Two hosts, each with an interface to the emulator's, in the middle."""

    def __enter__(self):
        self.hosts = {name: subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for name in ("left", "middle", "right")}
        own = os.readlink("/proc/self/ns/net")
        while any(os.readlink(f"/proc/{host.pid}/ns/net") == own for host in self.hosts.values()):
            if any(host.poll() is not None for host in self.hosts.values()):
                sys.exit("no network namespace: it needs root")
            time.sleep(0.01)
        for name, address in (("left", LEFT), ("right", RIGHT)):
            self.ip("middle", f"link add {name} type veth peer name eth0 netns {self.hosts[name].pid}")
            self.ip("middle", f"link set {name} up")
            self.ip(name, f"addr add {address}/24 dev eth0")
            self.ip(name, "link set eth0 up")
        return self

    def __exit__(self, *_):
        for host in self.hosts.values():
            host.kill()
            host.wait()

    def on(self, name, command):
        return ["nsenter", "--net", "--target", str(self.hosts[name].pid), *command]

    def ip(self, name, arguments):
        subprocess.run(self.on(name, ["ip", *arguments.split()]), check=True)


class Emulator:
    """The router between both, with what it says at the end as `summary`."""

    def __init__(self, bed, binary, *arguments):
        command = [binary, "link", "router", "left", "right", "--json", *arguments]
        self.process = subprocess.Popen(bed.on("middle", command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "ready" not in self.process.stderr.readline():
            sys.exit(f"{' '.join(command)} did not start: {self.process.communicate()[1]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.summary = json.loads(self.process.communicate(timeout=10)[0])


def send(rate, seconds):
    """Packets at `rate`, each with the time at which it was handed over."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    gap = int(SIZE * 8e9 / rate)
    padding = bytes(PAYLOAD - 8)
    begin = time.time_ns()
    for number in range(int(seconds * 1e9 / gap)):
        while time.time_ns() < begin + number * gap:
            pass
        out.sendto(struct.pack("!q", time.time_ns()) + padding, (RIGHT, PORT))


def receive():
    """Prints when each packet was sent and when the kernel took it in, until a second is silent."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sink.bind((RIGHT, PORT))
    print("ready", flush=True)
    seen = []
    sink.settimeout(10)
    while True:
        try:
            data, control, _, _ = sink.recvmsg(2048, 64)
        except TimeoutError:
            break
        sink.settimeout(1)
        seconds, nanos = struct.unpack("qq", control[0][2])
        seen.append((struct.unpack_from("!q", data)[0], seconds * 1_000_000_000 + nanos))
    json.dump(seen, sys.stdout)


def through(bed, rate, seconds):
    """Times of departure and arrival, in ns, of the packets that came through."""
    role = lambda *role: [sys.executable, os.path.abspath(__file__), "--role", *role]
    receiver = subprocess.Popen(bed.on("right", role("receive")), stdout=subprocess.PIPE, text=True)
    receiver.stdout.readline()
    subprocess.run(bed.on("left", role("send", "--rate", str(rate), "--seconds", str(seconds))), check=True)
    seen = json.loads(receiver.communicate(timeout=60)[0])
    if not seen:
        sys.exit("nothing came through the emulator")
    return seen


def errors(seen, delay):
    """How far each arrival is behind what the sender's times make of a link of RATE and this delay, in seconds."""
    took, free = SIZE * 8 / RATE, 0.0
    for sent, arrived in seen:
        free = max(sent / 1e9, free) + took
        yield arrived / 1e9 - (free + delay)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


met_all = True


def row(what, target, measured, met):
    global met_all
    met_all &= met
    print(f"| {what} | {target} | {measured} | {'yes' if met else 'NO'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--bin", default="target/release/evenkeel")
    parser.add_argument("--weak", action="store_true")
    parser.add_argument("--role", choices=["send", "receive"], help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "send":
        return send(options.rate, options.seconds)
    if options.role == "receive":
        return receive()
    # Gb/s of TCP, share of the rate; seconds of delay, and by how many microseconds it may be longer or shorter.
    least, off_most = (0.05, 0.05) if options.weak else (1.0, 0.005)
    delay, late_most, early_most = (100e-3, 50_000, 1_000) if options.weak else (10e-3, 200, 200)
    limit = ["--rate", "100M", "--queue", "50ms"]
    print("| what | target | measured | met |\n|---|---|---|---|")
    with Bed() as bed:
        with Emulator(bed, options.bin, "--queue", "10000p"):
            server = subprocess.Popen(bed.on("right", ["iperf3", "-s", "-1"]), stdout=subprocess.DEVNULL)
            time.sleep(0.5)
            output = subprocess.check_output(bed.on("left", ["iperf3", "-c", RIGHT, "-J", "-t", f"{options.seconds:.0f}"]), timeout=120)
            server.wait(timeout=30)
        rate = json.loads(output)["end"]["sum_received"]["bits_per_second"] / 1e9
        row("kernel TCP through the router", f"{least} Gb/s", f"{rate:.2f} Gb/s", rate >= least)

        with Emulator(bed, options.bin, *limit):
            seen = through(bed, 1.3 * RATE, options.seconds)
        span = (seen[-1][1] - seen[0][1]) / 1e9
        rate = (len(seen) - 1) * SIZE * 8 / span
        off = abs(rate / RATE - 1)
        row("a link of 100 Mb/s", f"rate within {off_most:.1%}", f"{rate / 1e6:.3f} Mb/s, off by {off:.3%}", off <= off_most)

        with Emulator(bed, options.bin, *limit, "--delay", f"{delay * 1e3:.0f}ms") as emulator:
            seen = through(bed, 0.8 * RATE, options.seconds)
        error = [error * 1e6 for error in errors(seen, delay)]
        late = [abs(error) for error in error]
        p50, p99, early = quantile(late, 0.5), quantile(late, 0.99), quantile(error, 0.01)
        own = emulator.summary["late_us"]["p99"]
        row(
            f"{delay * 1e3:.0f} ms of delay of 80 Mb/s through it",
            f"error p99 {late_most} us, no more than {early_most} us early",
            f"p50 {p50:.0f} us, p99 {p99:.0f} us, p1 of the signed {early:.0f} us of {len(late)} packets; the emulator says of itself p99 {own:.0f} us",
            p99 <= late_most and early >= -early_most,
        )
    sys.exit(0 if met_all else 1)


if __name__ == "__main__":
    main()
