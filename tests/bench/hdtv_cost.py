#!/usr/bin/env python3
"""`hdtv-cost`: the share of one core that TFRC takes at full-rate 720p60 in 4:2:2, by real runs. The paper's receiver
spent 14 % of a core.

    cargo build --release
    chrt -r 10 python3 tests/bench/hdtv_cost.py       # needs perf(1) and addr2line, and nothing else running

A client sends 885 Mb/s in packets of 1,448 bytes over the loopback interface; the server's threads are sampled. Then a
call sends such video, pictures and all, and both of its ends are sampled.
A sample counts for TFRC if it lies in the `tfrc` crate, code inlined from it included: the arrivals that it
takes in and the reports that it makes, not the session that carries them. The kernel's part is the rest of the
same packets' way. Prints JSON; the status is 1 where TFRC takes more than one per cent of a core, at a rate that is more
than one per cent off, and without samples.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
import time

from hdtv_call import FULL_BPS, WARMUP, call

PORT = "5299"
RATE_BPS = 885e6
RATE = ["-b", f"{RATE_BPS:.0f}", "-l", "1448"]
TARGET_PERCENT = 1.0
# A receiver that gets less has less to do.
RATE_PERCENT = 1.0


def record(process, data):
    """Samples a process until it ends."""
    return subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "9000", "-p", str(process), "-o", data])


def sampled(binary, seconds, data):
    """What the client says at the end, and the server's share of a core in per cent."""
    with tempfile.NamedTemporaryFile("r") as log:
        server = subprocess.Popen([binary, "perf", "server", "-1", "-B", "127.0.0.1", "-p", PORT, "--logfile", log.name])
        time.sleep(0.5)
        recorder = record(server.pid, data)
        time.sleep(0.5)
        client = [binary, "perf", "client", "127.0.0.1", "-p", PORT, "-J", "-t", str(seconds), *RATE]
        results = json.loads(subprocess.check_output(client, timeout=seconds + 60))["end"]
        server.wait(timeout=30)
        recorder.wait(timeout=30)
        shares = [line for line in log.read().splitlines() if "processor" in line]
    return results, float(shares[-1].split()[1])


def addresses(binary, data):
    """Of each sample the address in the program's own file, or None where it lies elsewhere."""
    script = ["perf", "script", "-i", data, "-F", "ip,dso", "--show-mmap-events"]
    text = subprocess.run(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    program = re.escape(binary)
    base, found = None, []
    for line in text.splitlines():
        mapped = re.search(rf"\[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (0x[0-9a-f]+|0) .*r-xp.*{program}$", line)
        sample = re.match(r"\s*([0-9a-f]+) \((.*)\)$", line)
        if mapped:
            base = int(mapped[1], 16) - int(mapped[2], 16)
        elif sample:
            ours = base is not None and sample[2].endswith(binary)
            found.append(int(sample[1], 16) - base if ours else None)
    return found


def code_shift(binary):
    """From an offset in the file to the address that its debugging information uses."""
    headers = subprocess.check_output(["readelf", "-lW", binary], text=True)
    code = re.search(r"LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+).* R E ", headers)
    return int(code[2], 16) - int(code[1], 16)


def crates(binary, offsets):
    """How many of the samples each crate has: that of the innermost of our lines, or `other`."""
    shift, counts = code_shift(binary), collections.Counter()
    wanted = "".join(f"0x{offset + shift:x}\n" for offset in offsets)
    lines = subprocess.run(["addr2line", "-a", "-i", "-e", binary], input=wanted, stdout=subprocess.PIPE, text=True, check=True).stdout
    for block in re.split(r"^0x[0-9a-f]+\n", lines, flags=re.M)[1:]:
        crate = re.search(r"crates/(\w+)/src", block)
        counts[crate[1] if crate else "other"] += 1
    return counts


def shares(binary, data, percent):
    """What each crate takes of a core in per cent, where a process took `percent`, and the number of samples."""
    samples = addresses(binary, data)
    ours = [offset for offset in samples if offset is not None]
    counts = crates(binary, ours)
    # No share is known of what was not sampled: one of nothing would look like a target met.
    if counts["tfrc"] == 0:
        sys.exit(f"{len(samples)} samples, {len(ours)} in the program, none in tfrc: is perf(1) permitted, and {binary} built with line tables?")
    counts["kernel and libraries"] = len(samples) - len(ours)
    return {name: round(percent * count / len(samples), 3) for name, count in counts.most_common()}, len(samples)


def of_call(binary, seconds):
    """What each crate takes at the two ends of a call, and what its receiver gets, in bit/s."""
    with tempfile.NamedTemporaryFile() as sender_data, tempfile.NamedTemporaryFile() as receiver_data:
        recorders = []

        def watch(sender, receiver):
            recorders.extend([record(sender, sender_data.name), record(receiver, receiver_data.name)])

        receiver, sender = call(binary, seconds, None, watch)
        for recorder in recorders:
            recorder.wait(timeout=30)
        ends = {
            name: {"percent_of_a_core": 100 * end.core, "of_which": shares(binary, data.name, 100 * end.core)[0]}
            for name, end, data in [("sender", sender, sender_data), ("receiver", receiver, receiver_data)]
        }
    return ends, receiver.summary["throughput_bps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--bin", default="target/release/evenkeel")
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile() as data:
        results, server_percent = sampled(options.bin, options.seconds, data.name)
        share, samples = shares(options.bin, data.name, server_percent)
    received = results["sum_received"]
    ends, call_bps = of_call(options.bin, options.seconds + WARMUP)
    print(json.dumps({
        "id": "hdtv-cost",
        "packets_per_second": received["packets"] / received["seconds"],
        "received_bits_per_second": received["bits_per_second"],
        "lost_percent": received["lost_percent"],
        "server_percent_of_a_core": server_percent,
        "samples": samples,
        "percent_of_a_core": share,
        "tfrc_percent_of_a_core": share["tfrc"],
        "call_bits_per_second": call_bps,
        "call": ends,
        "paper_percent_of_a_core": 14,
    }, indent=2))
    off_percent = abs(received["bits_per_second"] / RATE_BPS - 1) * 100
    most = max(share["tfrc"], *(end["of_which"]["tfrc"] for end in ends.values()))
    sys.exit(0 if most <= TARGET_PERCENT and off_percent <= RATE_PERCENT and call_bps >= FULL_BPS else 1)


if __name__ == "__main__":
    main()
