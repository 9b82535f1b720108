#!/usr/bin/env python3
"""How many pictures a second each codec makes on one core, to a size each, beside what it has to make.

    cargo build --release -p evenkeel-codec --example encode_pictures
    python3 tests/bench/encode_rate.py

Time is the processor's, of all threads, so that what else runs takes none of it; caches and a clock that heat slows down
are shared all the same. A row is the median of `--runs`, less what it takes to draw the pictures. The status is 1 if a
row missed its target.
"""

import argparse
import os
import statistics
import subprocess
import sys

#: The codec, the size of its pictures, and how many a second it has to make.
ROWS = [
    ("mjpeg", "352x288", 400),
    ("mjpeg", "1280x720", 100),
    ("h264", "352x288", 150),
    ("h264", "1280x720", 30),
]
#: Of pictures. H.264 tries strips of the first ten, which are a third of one second's.
SECONDS = 3.0


def processor(program, codec, size, count):
    """The processor's time of a run, in seconds."""
    process = subprocess.Popen([program, codec, size, str(count)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{program} {codec} {size} {count} failed: run it by hand to see why")
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release", help="the folder of the program")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    program = os.path.join(options.bin, "examples", "encode_pictures")
    met_all = True
    print("| codec | picture | target, a second | measured, least to most | met |\n|---|---|---|---|---|")
    for codec, size, target in ROWS:
        # As many as the target has in that time.
        count = int(target * SECONDS)
        rates = []
        for _ in range(options.runs):
            drawing = processor(program, codec, size, 0)
            rates.append(count / (processor(program, codec, size, count) - drawing))
        rate = statistics.median(rates)
        met = rate >= target
        met_all &= met
        print(
            f"| {codec} | {size} | {target} | {rate:.0f} ({min(rates):.0f} to {max(rates):.0f}) | {'yes' if met else 'NO'} |",
            flush=True,
        )
    sys.exit(not met_all)


if __name__ == "__main__":
    main()
