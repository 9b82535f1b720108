#!/usr/bin/env python3
"""What `evenkeel perf` does on this machine, beside its peer: the table of docs/notebook/2026-11-28-traffic-generator.md in one run.

    cargo build --release && cargo build --release -p evenkeel-net --examples
    chrt -r 10 python3 tests/bench/perf.py            # needs iperf3, and nothing else running

Prints a line a row: what was asked for, what was measured, and whether it was met. The status is 1 if one
was not. `--seconds` sets the length of each part; `--bin` the folder of the two programs.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PORT = "5299"
met_all = True


def row(what, target, measured, met):
    global met_all
    met_all &= met
    print(f"| {what} | {target} | {measured} | {'yes' if met else 'NO'} |", flush=True)


class Test:
    """A client's results, and what its server used of a processor."""

    def __init__(self, binary, *arguments, relay=None, stop_server=False):
        with tempfile.NamedTemporaryFile("r") as log:
            command = [binary, "perf", "server", "-1", "-p", PORT, "--logfile", log.name]
            server = subprocess.Popen(command + (["--spin"] if "--spin" in arguments else []))
            link = relay and subprocess.Popen([binary, "link", "relay", "127.0.0.1:5298", f"127.0.0.1:{PORT}", *relay], stdout=subprocess.DEVNULL)
            time.sleep(0.5)
            client = [binary, "perf", "client", "127.0.0.1", "-J", "-p", "5298" if relay else PORT, *arguments]
            running = subprocess.Popen(client, stdout=subprocess.PIPE)
            if stop_server:
                threading.Thread(target=stop_now_and_then, args=(server, running)).start()
            output, _ = running.communicate(timeout=120)
            try:
                server.wait(timeout=30)
            finally:
                server.kill()
                if link:
                    link.send_signal(signal.SIGINT)
                    link.wait(timeout=10)
            if running.returncode != 0:
                sys.exit(f"{' '.join(client)} failed")
            self.end = json.loads(output)["end"]
            self.rates = [i["sum"]["bits_per_second"] for i in json.loads(output)["intervals"]]
            shares = [line for line in log.read().splitlines() if "processor" in line]
            self.server_cpu = float(shares[-1].split()[1])
        self.client_cpu = self.end["cpu_utilization_percent"]["host_total"]
        self.received = self.end["sum_received"]["bits_per_second"]
        self.lost = self.end["sum_received"]["lost_percent"]
        self.departures = self.end["tfrc"]["departures"]


def stop_now_and_then(server, client):
    """A server without its processor for 200 ms of every second."""
    while client.poll() is None:
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(server.pid, signal.SIGCONT)
        time.sleep(0.8)


def iperf3(seconds):
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", PORT], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    command = ["iperf3", "-c", "127.0.0.1", "-p", PORT, "-u", "-b", "0", "-l", "1400", "-J"]
    output = subprocess.check_output([*command, "-t", str(seconds)], timeout=120)
    server.wait(timeout=30)
    end = json.loads(output)["end"]
    received = end.get("sum_received") or end["sum"]
    return received["bits_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--bin", default="target/release")
    options = parser.parse_args()
    binary, seconds = os.path.join(options.bin, "evenkeel"), str(options.seconds)
    test = lambda *arguments, **how: Test(binary, "-t", seconds, *arguments, **how)

    print("| what | target | measured | met |\n|---|---|---|---|")
    theirs = iperf3(options.seconds)
    example = lambda name, *arguments: json.loads(subprocess.check_output([os.path.join(options.bin, "examples", name), *arguments]))
    bare = example("blast", "1400", seconds)["received_bits_per_second"]
    ours = test("-l", "1400").received
    row(
        "loopback, no limit, 1400 B",
        "4 times iperf3, 0.4 of the blast",
        f"{ours / 1e9:.1f} Gb/s; iperf3 {theirs / 1e9:.1f}, blast {bare / 1e9:.1f}",
        ours >= 4 * theirs and ours >= 0.4 * bare,
    )
    paced = test("-b", "885M", "-l", "1448")
    row(
        "885 Mb/s paced",
        "no loss, rate within 1 %, 25 % of a core each",
        f"{paced.received / 1e6:.1f} Mb/s; {paced.lost:.3f} % lost; {paced.client_cpu:.0f} and {paced.server_cpu:.0f} %",
        paced.lost == 0 and abs(paced.received / 885e6 - 1) <= 0.01 and max(paced.client_cpu, paced.server_cpu) <= 25,
    )
    for interval in [200, 280, 1_000]:
        asked = 1_400 * 8e6 / interval
        slow = test("-b", f"{asked:.0f}", "-l", "1400")
        bare = example("metronome", str(interval), seconds)
        wait = example("metronome", str(interval), seconds, "wait")
        off = abs(slow.end["sum_sent"]["bits_per_second"] / asked - 1)
        p50, p99 = slow.departures["late_p50_us"], slow.departures["late_p99_us"]
        row(
            f"a packet every {interval} us",
            "p50 60 us, p99 200 us, rate within 0.1 %, 5 % of a core",
            f"{p50:.0f} us, {p99:.0f} us, {off:.3%}, {slow.client_cpu:.1f} %; a bare wait and send "
            f"{bare['late_p50_us']:.0f} us, {bare['late_p99_us']:.0f} us, {bare['processor_percent']:.1f} %; a bare wait {wait['processor_percent']:.1f} %",
            p50 <= 60 and p99 <= 200 and off <= 1e-3 and slow.client_cpu <= 5,
        )
    spun = test("-b", "40M", "-l", "1400", "--spin").departures
    bare = example("metronome", "280", seconds, "spin")
    both = lambda of: f"p50 {of['late_p50_us']:.1f} us, p99 {of['late_p99_us']:.1f} us"
    row("every 280 us with --spin", "p99 10 us", f"{both(spun)}; bare {both(bare)}", spun["late_p99_us"] <= 10)
    for what, direction in [("from", ["-R"]), ("to", [])]:
        many = test("-P", "1000", "-b", "1M", *direction)
        least = min(s["udp"]["bits_per_second"] for s in many.end["streams"])
        row(
            f"1,000 flows of 1 Mb/s {what} one server",
            "none below 0.9 of it, one core",
            f"least {least / 1e6:.3f} Mb/s; {many.server_cpu:.0f} % of a core",
            least >= 0.9e6 and many.server_cpu <= 100,
        )
    stopped = test("-b", "10M", relay=["--rate", "1G", "--delay", "25ms"], stop_server=True)
    least = min(stopped.rates[2:])
    row(
        "receiver stopped 200 ms a second, 50 ms, 10 Mb/s",
        "rate dips less than 10 %",
        f"least second {least / 1e6:.2f} Mb/s",
        least >= 9e6,
    )
    # Where TFRC sets the rate: the mean of the same without stops is what the link and its queue allow.
    full = ["--rate", "10M", "--delay", "25ms", "--queue", "50ms"]
    settled = lambda **how: Test(binary, "-t", "30", "--nofeedback-floor", "300ms", relay=full, **how).rates[10:]
    usual, least = statistics.mean(settled()), min(settled(stop_server=True))
    row(
        "the same on a full link of 10 Mb/s, TFRC setting the rate, --nofeedback-floor 300ms",
        "rate dips less than 10 %",
        f"least second {least / 1e6:.2f} Mb/s; mean without stops {usual / 1e6:.2f}",
        least >= 0.9 * usual,
    )
    # A rate that hardly varies is worth nothing where the link stands empty: the mean is held to it, too. The link
    # counts 28 bytes of headers with each 1,400.
    for rtt, rate, bits in [("0.1ms", "8M", 8e6), ("0.1ms", "1G", 1e9), ("3.5ms", "8M", 8e6), ("3.5ms", "1G", 1e9)]:
        half = f"{float(rtt[:-2]) / 2}ms"
        link = ["--rate", rate, "--delay", half, "--queue", "20ms"]
        rates = test(relay=link).rates[3:]
        mean = statistics.mean(rates)
        cov, off = statistics.pstdev(rates) / mean, abs(mean / (bits * 1_400 / 1_428) - 1)
        row(
            f"link of {rate}b/s, {rtt}",
            "CoV at 1 s 0.05, rate within 5 % of the link's",
            f"{cov:.3f}; {mean / 1e6:.1f} Mb/s",
            cov <= 0.05 and off <= 0.05,
        )
    sys.exit(0 if met_all else 1)


if __name__ == "__main__":
    main()
