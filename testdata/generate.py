#!/usr/bin/env python3
"""Computes the test vectors that are too long to write by hand, each with its derivation.

    python3 testdata/generate.py           writes the files
    python3 testdata/generate.py --check   fails if a file is not what would be written

It shares nothing with the Rust code: the equation is computed with 60 digits, averages of intervals as
exact fractions, and the sender's decisions from the text of RFC 5348 section 4.
"""

import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 60
HERE = Path(__file__).parent


def digits(number):
    """The double nearest to it, with the 17 digits that tell doubles apart."""
    if isinstance(number, Fraction):
        number = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{float(number):.16e}"


def short(number):
    """For reading."""
    return f"{float(number):.7g}"


# RFC 5348 section 3.1, with b = 1 and t_RTO = 4R


def f(p):
    """R·X/s = 1/f(p)."""
    return (2 * p / 3).sqrt() + 12 * (3 * p / 8).sqrt() * p * (1 + 32 * p * p)


def x_bps(s, r, p):
    return Decimal(s) / (r * f(p))


def inverse(target):
    """The p at which f(p) is `target`, by bisection of the exponent."""
    low, high = Decimal(-40), Decimal(0)
    for _ in range(220):
        middle = (low + high) / 2
        if f(Decimal(10) ** middle) < target:
            low = middle
        else:
            high = middle
    return Decimal(10) ** ((low + high) / 2)


def equation():
    yield "# f(p) = √(2p/3) + 12·√(3p/8)·p·(1 + 32p²) (RFC 5348 §3.1, §8.1) over the whole range of p: what"
    yield "# X_Bps = s/(R·f(p)) is for s = 1 byte and R = 1 second. Written by generate.py, which computes"
    yield "# with 60 digits from the very double that p is."
    yield ""
    yield "# Relative. A double has 2.2e-16; the square root and nine operations add up to less than ten times that."
    yield "tolerance = 2e-15"
    yield ""
    yield "# [p, 1/f(p)]"
    yield "range = ["
    for step in range(-15 * 6, 1):
        p = float(f"{10 ** (step / 6):.6e}")
        yield f"    [{p!r}, {digits(1 / f(Decimal(p)))}],"
    yield "]"
    yield ""
    yield "# X_Bps in bytes per second, s in bytes, R in nanoseconds."
    for s in (1, 40, 1460, 65535):
        for r_ns in (100_000, 33_333_333, 20_000_000_000):
            for p in (1e-8, 0.01, 1.0):
                x = x_bps(s, Decimal(r_ns) / 10**9, Decimal(p))
                yield "[[rate]]"
                yield f"# {s} / ({short(Decimal(r_ns) / 10**9)} · f({p!r}) = {short(f(Decimal(p)))})"
                yield f"s = {s}"
                yield f"r_ns = {r_ns}"
                yield f"p = {p!r}"
                yield f"x = {digits(x)}"
                yield ""


def inverses():
    yield "# The loss event rate at which the equation allows X: the inverse that RFC 5348 §6.3.1 asks for within"
    yield "# 5 %. Written by generate.py, which bisects with 60 digits."
    yield ""
    yield "# Relative. Where p is small, f is √(2p/3) and p doubles the relative error of X."
    yield "tolerance = 1e-14"
    yield ""
    yield "# X in bytes per second, s in bytes, R in nanoseconds."
    one = f(Decimal(1))
    for s, r_ns, x in (
        (1460, 100_000_000, 1e3),
        (1460, 100_000_000, 7.3e3),
        (1460, 100_000_000, 1e5),
        (1460, 100_000_000, 1e7),
        (1460, 100_000_000, 1e12),
        (1460, 100_000, 1e6),
        (1460, 100_000, 1e9),
        (1460, 20_000_000_000, 1.0),
        (1460, 20_000_000_000, 1e6),
        (40, 60_000_000, 333.25),
        (65535, 1_000_000, 1.25e9),
        (1, 1_000_000_000, 0.5),
    ):
        target = Decimal(s) / (Decimal(r_ns) / 10**9 * Decimal(x))
        yield "[[case]]"
        if target >= one:
            yield f"# f(p) = {short(target)} is more than f(1) = {short(one)}: even p = 1 allows more."
            p = Decimal(1)
        else:
            p = inverse(target)
            yield f"# f({short(p)}) = {short(target)} = s/(R·X)"
        yield f"s = {s}"
        yield f"r_ns = {r_ns}"
        yield f"x = {x!r}"
        yield f"p = {digits(p)}"
        yield ""


# RFC 5348 sections 5.4 and 5.5

WEIGHTS = [Fraction(1)] * 4 + [Fraction(n, 5) for n in (4, 3, 2, 1)]
THRESHOLD = Fraction(1, 4)


class History:
    """Closed intervals, newest first, as [length, DF_i]."""

    def __init__(self, discounting):
        self.discounting = discounting
        self.closed = []

    def mean(self):
        total = sum(w * df * length for w, (length, df) in zip(WEIGHTS, self.closed))
        return total / sum(w * df for w, (_, df) in zip(WEIGHTS, self.closed))

    def discount(self, current):
        if not self.discounting or not self.closed or current <= 2 * self.mean():
            return Fraction(1)
        return max(2 * self.mean() / current, THRESHOLD)

    def close(self, length):
        df = self.discount(length)
        self.closed = [[length, Fraction(1)]] + [[old, df * own] for old, own in self.closed]
        del self.closed[8:]

    def p(self, current):
        df = self.discount(current)
        with_current = [(Fraction(1), Fraction(current))]
        with_current += [(w * own * df, old) for w, (old, own) in zip(WEIGHTS[1:], self.closed[:7])]
        if len(self.closed) < 8:
            # k = min(n, seen) intervals: the oldest has the last weight of the sum without I_0 only.
            with_current.pop()
        without = [(w * own, old) for w, (old, own) in zip(WEIGHTS, self.closed)]
        totals = []
        for weighted in (with_current, without):
            totals.append((sum(w for w, _ in weighted), sum(w * length for w, length in weighted)))
        p = min(w / total for w, total in totals)
        return df, totals, p


def intervals():
    yield "# p from loss intervals (RFC 5348 §5.4; §5.5 with discounting). `closed` are the lengths of the closed"
    yield "# intervals, oldest first, the first of them the synthetic one; `current` is I_0. Written by"
    yield "# generate.py, which computes with exact fractions."
    yield ""
    yield "# Relative."
    yield "tolerance = 1e-15"
    yield ""
    cases = (
        ("one event", [50], 1),
        ("the current interval outgrows the synthetic one", [50], 80),
        ("the current interval is discounting the synthetic one", [50], 400),
        ("two events", [50, 30], 10),
        ("steady loss", [100] * 8, 1),
        ("steady loss, the current interval as long as the others", [100] * 8, 100),
        ("the current interval raises the average, not yet discounting", [100] * 8, 200),
        ("one packet more than twice the average", [100] * 8, 201),
        ("DF is one half", [100] * 8, 400),
        ("DF is held at the threshold", [100] * 8, 1000),
        ("far beyond the threshold", [100] * 8, 5000),
        ("a discount stays with its intervals", [100] * 8 + [400], 1),
        ("two discounts multiply", [100] * 8 + [400, 1500], 1),
        ("a discounted history is discounted again", [100] * 8 + [400], 2000),
        ("what is discounted to the threshold is forgotten by shifting only", [100] * 8 + [1000] * 4, 5),
        ("after eight events the discounted intervals are gone", [100] * 8 + [1000] * 8, 1),
        ("growing intervals weigh by age", [10, 20, 30, 40, 50, 60, 70, 80], 5),
        ("shrinking intervals", [80, 70, 60, 50, 40, 30, 20, 10], 7),
        ("the ninth interval is forgotten", [9999, 10, 20, 30, 40, 50, 60, 70, 80], 5),
        ("discounting with few intervals", [40, 60, 50], 150),
        ("every packet a loss event", [1] * 8, 1),
    )
    for name, closed, current in cases:
        for discounting in (False, True):
            history = History(discounting)
            for length in closed:
                history.close(Fraction(length))
            df, totals, p = history.p(Fraction(current))
            yield "[[case]]"
            yield f'name = "{name}"'
            yield f"discounting = {str(discounting).lower()}"
            yield f"closed = {closed}"
            yield f"current = {current}"
            if discounting:
                own = ", ".join(str(own) for _, own in history.closed)
                yield f"# DF_1… = {own}; I_mean = {history.mean()}, so DF = {df}"
            for word, (weight, total) in zip(("with", "without"), totals):
                yield f"# {word} I_0: weight {weight}, intervals {total}: mean {short(total / weight)}"
            yield f"# p = {p}"
            yield f"p = {digits(p)}"
            yield ""


# RFC 5348 sections 4.2 to 4.5

S = 1000
FLOOR = Decimal(S) / 64


class Sender:
    def __init__(self):
        self.x = Decimal(S)
        self.r = None
        self.p = Decimal(0)
        self.set = [(Decimal("Infinity"), Decimal(0))]
        self.tld = None
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def initial_rate(self):
        return Decimal(min(4 * S, max(2 * S, 4380))) / self.r

    def largest(self):
        return max(rate for rate, _ in self.set)

    def show_set(self):
        return "{" + ", ".join(short(rate) for rate, _ in self.set) + "}"

    def congestion_avoidance(self, limit):
        equation = x_bps(S, self.r, self.p)
        self.x = max(min(equation, limit), FLOOR)
        self.note(f"X_Bps = {S}/({short(self.r)}·f({short(self.p)})) = {short(equation)}; "
                  f"X = max(min({short(equation)}, {short(limit)}), s/64) = {short(self.x)}")

    def report(self, now, sample, x_recv, p, limited):
        first = self.r is None
        if first:
            self.r, self.sqmean = sample, sample.sqrt()
            self.note(f"R = R_sample = {short(sample)}, R_sqmean = √R_sample = {short(self.sqmean)}")
        else:
            old, old_sqmean = self.r, self.sqmean
            self.r = old * 9 / 10 + sample / 10
            self.sqmean = old_sqmean * 9 / 10 + sample.sqrt() / 10
            self.note(f"R = 0.9·{short(old)} + 0.1·{short(sample)} = {short(self.r)}")
            self.note(f"R_sqmean = 0.9·{short(old_sqmean)} + 0.1·√{short(sample)} = {short(self.sqmean)}")
        rose = p > self.p
        self.p = p
        if first:
            self.set, self.tld = [(Decimal("Infinity"), now)], now
            self.x = self.initial_rate()
            self.note(f"X = W_init/R = 4000/{short(self.r)} = {short(self.x)} (§4.2 replaces step 4)")
        else:
            if limited:
                if rose:
                    self.set = [(rate / 2, at) for rate, at in self.set]
                    x_recv = x_recv * 85 / 100
                    self.note("data-limited and p rose: entries halved, X_recv·0.85, Maximize")
                else:
                    self.note("data-limited: Maximize")
                rates = [rate for rate, _ in self.set if rate.is_finite()] + [x_recv]
                self.set = [(max(rates), now)]
                limit = self.largest() * (1 if rose else 2)
            else:
                kept = [(rate, at) for rate, at in self.set if at >= now - 2 * self.r]
                self.set = ([(x_recv, now)] + kept)[:3]
                limit = self.largest() * 2
            self.note(f"X_recv_set = {self.show_set()}, recv_limit = {short(limit)}")
            if p > 0:
                self.congestion_avoidance(limit)
            elif now - self.tld >= self.r:
                self.note(f"X = max(min(2·{short(self.x)}, {short(limit)}), {short(self.initial_rate())})")
                self.x = max(min(2 * self.x, limit), self.initial_rate())
                self.tld = now
            else:
                self.note("doubled less than R ago: X stays")
        self.inst = max(self.x * self.sqmean / sample.sqrt(), FLOOR)
        self.root = sample.sqrt()
        self.note(f"X_inst = {short(self.x)}·{short(self.sqmean)}/√{short(sample)} = {short(self.inst)}")

    def expire(self, now, idle):
        x_recv = self.largest()
        if self.r is None:
            self.note("no R yet: X/2")
            self.x = max(self.x / 2, FLOOR)
            self.inst = self.x
            return "BeforeFirstReport"
        recover = self.initial_rate()
        if idle and (x_recv < recover if self.p > 0 else self.x < 2 * recover):
            self.note(f"idle and slow (recover_rate = {short(recover)}): nothing is done")
            return "Idle"
        if self.p == 0:
            self.note("p = 0: X/2")
            self.x = max(self.x / 2, FLOOR)
            branch = "WithoutLoss"
        else:
            equation = x_bps(S, self.r, self.p)
            if equation > 2 * x_recv:
                limit, branch = x_recv, "ReceiveRateHalved"
                self.note(f"X_Bps = {short(equation)} > 2·{short(x_recv)}: Update_Limits({short(limit)})")
            else:
                limit, branch = equation / 2, "EquationHalved"
                self.note(f"X_Bps = {short(equation)} ≤ 2·{short(x_recv)}: Update_Limits({short(limit)})")
            self.set = [(max(limit, FLOOR) / 2, now)]
            self.congestion_avoidance(2 * self.largest())
        self.inst = max(self.x * self.sqmean / self.root, FLOOR)
        return branch

    def timer(self, now):
        four = 4 * self.r if self.r else Decimal(0)
        interval = max(four, 2 * S / self.x)
        self.note(f"timer: max(4R = {short(four)}, 2s/X = {short(2 * S / self.x)})")
        return now + interval


def sender_trace():
    yield "# A sender's whole trace: s = 1000 bytes, oscillation reduction on, a whole round trip of credit, the"
    yield "# nofeedback timer without a floor of its own. Written by generate.py, which follows the text of"
    yield "# RFC 5348 §4.2 to §4.5 with 60 digits."
    yield "#"
    yield "# `at`: when the report comes or the timer is served, in milliseconds. Until then since the step before, the"
    yield "# sender sends \"all\" that it may, \"one\" packet right after that step, or \"none\". A report is about a packet"
    yield "# sent `sample_ms` before; the step before must lie at least 1.25 R earlier than that if the report is to be"
    yield "# data-limited."
    yield ""
    yield "# Relative, for the rates and for how long the timer runs: R, of 0.1 s, is kept to the nanosecond, and must"
    yield "# itself be right to one."
    yield "tolerance = 1e-8"
    yield ""
    sender = Sender()
    # (at, sends, sample, x_recv, p, data-limited) or (at, sends): a timer.
    steps = (
        (2000, "one"),
        (6000, "one"),
        (6100, "one", 100, 0, 0, False),
        (6200, "all", 100, 30000, 0, False),
        (6250, "all", 100, 38000, 0, False),
        (6320, "all", 120, 45000, 0, False),
        (6460, "all", 140, 60000, 0, False),
        (6600, "all", 120, 52000, "0.0025", False),
        (6720, "all", 110, 80000, "0.0025", False),
        (6830, "all", 110, 78000, "0.0024", False),
        (7260, "one", 110, 9000, "0.0024", True),
        (7690, "one", 110, 9000, "0.004", True),
        (8120, "one", 110, 9000, "0.004", True),
        (8240, "all", 105, 30000, "0.004", False),
        (8350, "all", 105, 41000, "0.02", False),
        (8460, "all", 105, 60000, "0.02", False),
        ("timer", "all"),
        ("timer", "all"),
        ("timer", "all"),
        (None, "all", 200, 9000, "0.02", False),
        (None, "all", 90, 14000, "0.02", False),
        ("timer", "none"),
        ("timer", "none"),
        (None, "one", 95, 10526, "0.02", True),
        (None, "all", 95, 2000000, "0.000001", False),
        (None, "all", 95, 2000000, "0.000001", False),
        ("timer", "none"),
        ("timer", "none"),
        ("timer", "none"),
        (None, "all", 95, 30, "1", False),
    )
    timer, now = Decimal(2), Decimal(0)
    for step in steps:
        at, sends, report = step[0], step[1], step[2:]
        sender.notes = []
        if at == "timer":
            # The first whole millisecond at which it has expired.
            now = (timer * 1000).to_integral_value(rounding="ROUND_CEILING") / 1000
        elif at is None:
            now += Decimal(120) / 1000
        else:
            now = Decimal(at) / 1000
        yield "[[step]]"
        yield f"at = {int(now * 1000)}"
        yield f'sends = "{sends}"'
        if report:
            sample, x_recv, p, limited = report
            assert now <= timer, f"the timer is served first at {now}, not {timer}"
            sender.report(now, Decimal(sample) / 1000, Decimal(x_recv), Decimal(float(p)), limited)
            yield f"report = {{ sample_ms = {sample}, x_recv = {x_recv}.0, p = {float(p)!r}, data_limited = {str(limited).lower()} }}"
        else:
            branch = sender.expire(now, sends == "none")
            yield f'expiry = "{branch}"'
        timer = sender.timer(now)
        yield from (f"# {note}" for note in sender.notes)
        if sender.r:
            yield f"r_ns = {int((sender.r * 10**9).to_integral_value())}"
        yield f"x = {digits(sender.x)}"
        yield f"x_inst = {digits(sender.inst)}"
        yield f"timer_ns = {int((timer * 10**9).to_integral_value())}"
        yield ""


FILES = {
    "equation.toml": equation,
    "inverse.toml": inverses,
    "intervals.toml": intervals,
    "sender_trace.toml": sender_trace,
}


def main():
    stale = []
    for name, lines in FILES.items():
        text = "\n".join(lines()).rstrip("\n") + "\n"
        path = HERE / name
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"not what generate.py writes: {', '.join(stale)}")


main()
