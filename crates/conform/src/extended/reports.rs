//! §6: when a report leaves and what X_recv it tells, by the round-trip time that the sender tells; and the
//! synthetic interval before the first loss event.

use std::time::Duration;

use tfrc::Ecn;
use tfrc::equation;
use tfrc::units::{Bytes, LossEventRate};

use crate::check::{Check, Outcome, Run, at_ms, between, close, ms, packets_of, within};
use crate::interposer::{Fate, Script};
use crate::log::{Log, Record};
use crate::packet::{Packet, TfrcReport};
use crate::scripts::steer;

use super::path::{FIRST, RATE, ROUND_TRIP, SIZE, at_once, first_loss, on_data, run};
use super::receiver;

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    receiver("E.6.2-31")
        .title("R told changes from 100 to 50 ms: the gap between reports farthest from it, ms")
        .section("RFC 5348 §6.2: \"Restart the feedback timer to expire after R_m seconds\"")
        .on(&[&R_HALVES], |e| {
            let from = e.log().data.get(CHANGE + 5).map(|record| record.at);
            let gaps = gaps(e.log(), from.unwrap_or(at_ms(u64::MAX)));
            let farthest = gaps.max_by(|a, b| (a - 50.0).abs().total_cmp(&(b - 50.0).abs()));
            within(farthest, 50.0, e.pick(0.001, 20.0))
        }),
    receiver("E.6-32")
        .title("fewer than one packet a round trip, R = 10 ms: reports a packet")
        .section("RFC 5348 §6: \"a feedback packet SHOULD be sent for every data packet received\"")
        .on(&[&R_TEN], |e| reports_a_packet(e.log())),
    receiver("E.6-33")
        .title("the same at R = 0.1 ms: reports a packet")
        .section("RFC 5348 §6")
        .on(&[&R_TENTH], |e| reports_a_packet(e.log())),
    receiver("E.6.2-34")
        .title("R = 16 s: reports in two seconds after the first")
        .section("RFC 5348 §6.2")
        .on(&[&R_SIXTEEN], |e| {
            let reports = e.log().reports.len().checked_sub(1);
            within(reports.map(|reports| reports as f64), 0.0, 0.0)
        }),
    receiver("E.6.3-35")
        .title("no R told: reports a packet")
        .section("RFC 5348 §6.3: \"sends a feedback packet for every arriving data packet until\"")
        .on(&[&R_UNKNOWN], |e| reports_a_packet(e.log())),
    receiver("E.6.1-36")
        .title("after a silence the first packet is reported at once, ms")
        .section(
            "RFC 5348 §6.1: \"if no feedback packet was sent when the feedback timer last \
             expired\"",
        )
        .on(&[&SILENCE], |e| {
            let back = after_silence(e.log());
            at_once(e, back.unwrap_or(usize::MAX), report_after(e.log(), back))
        }),
    receiver("E.6.2-37")
        .title("whose X_recv is a packet a round trip: X_recv·R/s")
        .section(
            "RFC 5348 §6.2: \"a minimum value for the measured receive rate X_recv of one \
             packet per round-trip time\"",
        )
        .on(&[&SILENCE], |e| {
            let report = report_after(e.log(), after_silence(e.log()));
            let packets = report.map(|report| {
                report.seen.receive_rate.bytes_per_sec() * ROUND_TRIP.as_secs_f64()
                    / f64::from(SIZE)
            });
            between(packets, e.pick(0.999, 0.9), e.pick(1.001, 2.1))
        }),
    receiver("E.6.2-38")
        .title("an expedited report measures a round trip at least: X_recv over the rate")
        .section(
            "RFC 5348 §6.2: \"based on the packets received within the previous R_(m-1) \
             seconds\"",
        )
        .on(&[&EXPEDITED], |e| {
            let rate = first_loss(e.log()).map(|report| report.seen.receive_rate.bytes_per_sec());
            close(rate.map(|rate| rate / RATE), 1.0, e.pick(1e-3, 0.3))
        }),
    receiver("E.6.2-39")
        .title("and restarts the timer: to the next report, ms")
        .section("RFC 5348 §6.2: \"Restart the feedback timer\"")
        .on(&[&EXPEDITED], |e| {
            let log = e.log();
            let gap = first_loss(log).and_then(|first| {
                let next = log.reports.iter().find(|report| report.at > first.at)?;
                Some(next.at.saturating_since(first.at).as_secs_f64() * 1e3)
            });
            within(gap, 100.0, e.pick(0.001, 20.0))
        }),
    receiver("E.6.2-40")
        .title("packets of two sizes: X_recv over the bytes a second")
        .section("RFC 5348 §6.2")
        .on(&[&TWO_SIZES], |e| {
            let rate = e.log().reports.last().map(|report| {
                let sent = e.log().data_between(report.at - ms(1_000), report.at);
                let bytes: usize = sent.iter().map(|record| record.seen.size).sum();
                report.seen.receive_rate.bytes_per_sec() / bytes as f64
            });
            // A packet more or less in a round trip of six or seven.
            close(rate, 1.0, e.pick(0.12, 0.25))
        }),
    receiver("E.6.3.1-41")
        .title("the first packet is marked: packets a round trip that the equation allows at p")
        .section("RFC 5348 §6.3.1: \"0.5 packets per RTT\"")
        .on(&[&FIRST_MARKED], |e| close(allowed(e.log()), 0.5, 0.05)),
    receiver("E.6.3.1-42")
        .title("the second is marked, with no X_recv yet: packets a round trip allowed at p")
        .section(
            "RFC 5348 §6.3.1: \"uses 0.5/R packets per second as the minimum value for \
             X_target\"",
        )
        .on(&[&SECOND_MARKED], |e| close(allowed(e.log()), 0.5, 0.05)),
    receiver("E.6.3.1-43")
        .title(
            "the first loss at a steady rate: the rate that the equation allows at p over \
             X_recv",
        )
        .section("RFC 5348 §6.3.1: \"within 5% of X_target\"")
        .on(&[&EXPEDITED], |e| {
            let largest =
                largest_receive_rate(e.log()) * ROUND_TRIP.as_secs_f64() / f64::from(SIZE);
            close(allowed(e.log()).map(|allowed| allowed / largest), 1.0, 0.05)
        }),
    receiver("E.6.3.1-44")
        .title("the first loss after the rate fell by half: that rate over the largest X_recv")
        .section("RFC 5348 §6.3.1: \"the maximum value of X_recv so far\"")
        .on(&[&FASTER_BEFORE], |e| {
            let largest =
                largest_receive_rate(e.log()) * ROUND_TRIP.as_secs_f64() / f64::from(SIZE);
            // The rate did fall.
            let fell = first_loss(e.log())
                .is_some_and(|report| report.seen.receive_rate.bytes_per_sec() < 1.5 * RATE);
            let ratio = allowed(e.log()).map(|allowed| allowed / largest);
            close(ratio.filter(|_| fell), 1.0, 0.05)
        }),
    receiver("E.3.2.1-45")
        .title(
            "the sequence number wraps in a hole of two packets: reported at once after the \
             third above, ms",
        )
        .section("RFC 5348 §3.2.1")
        .on(&[&WRAP_IN_HOLE], |e| {
            at_once(e, FIRST + 4, first_loss(e.log()))
        }),
    receiver("E.5.2-46")
        .title("and the event begins with the first of them: S_A")
        .section("RFC 5348 §5.2: \"To address sequence number wrapping\"")
        .on(&[&WRAP_IN_HOLE], |e| super::path::begins_at(e, FIRST)),
    receiver("E.3.2.2-47")
        .title(
            "the sender's clock jumps 3 s ahead: reports after it that echo no packet, tell \
             of loss or of another rate",
        )
        .section(
            "RFC 5348 §3.2.2: t_recvdata is \"the timestamp of the last data packet \
             received\"",
        )
        .on(&[&CLOCK_JUMP], |e| {
            let log = e.log();
            let jumped = log
                .data
                .get(CHANGE + 8)
                .map_or(at_ms(u64::MAX), |record| record.at);
            let after: Vec<_> = log
                .reports
                .iter()
                .filter(|report| report.at > jumped)
                .collect();
            let wrong = after.iter().filter(|report| {
                let echoes = |data: &&Record<crate::packet::Data>| {
                    data.passed.timestamp == report.seen.timestamp
                };
                let share = report.seen.receive_rate.bytes_per_sec() / RATE;
                let rate = e.pick(0.99..1.01, 0.7..1.3);
                !log.data.iter().any(|data| echoes(&data))
                    || !report.seen.p.is_zero()
                    || !rate.contains(&share)
            });
            let wrong = wrong.count() as f64;
            within((after.len() >= 5).then_some(wrong), 0.0, 0.0)
        }),
];

/// The packet from which something changes.
const CHANGE: usize = 30;

static R_HALVES: Run = run("r-halves", 70, || with_rtt(CHANGE, ms(50)));
static R_TEN: Run = run("r-10-ms", 40, || with_rtt(0, ms(10)));
static R_TENTH: Run = run("r-100-us", 40, || with_rtt(0, Duration::from_micros(100)));

/// Twenty large packets a second: a session may bound its reports to a share of what it receives.
static R_UNKNOWN: Run = Run::new("r-unknown", packets_of(4_500), ms(1_500), || {
    with_rtt(0, ms(0))
});

/// The sender gets one report, and keeps its rate for four of its own round trips.
static R_SIXTEEN: Run = Run::new("r-16-s", packets_of(SIZE), ms(2_100), || {
    with_rtt(0, ms(16_000))
});

/// Tells the receiver this R from a packet on.
fn with_rtt(from: usize, rtt: Duration) -> Script {
    on_data(move |index, data| {
        if index >= from {
            data.rtt_micros = rtt.as_micros() as u32;
        }
        Fate::NOW
    })
}

/// The path is silent from packet `FIRST` on, for a second and a half.
static SILENCE: Run = Run::new("data-outage", packets_of(SIZE), ms(3_500), || {
    let mut until = None;
    Box::new(move |mut passing| match passing.packet {
        Packet::Data(_) if passing.log.data.len() >= FIRST => {
            let until = *until.get_or_insert(passing.at + ms(1_500));
            Fate::lost_if(passing.at < until)
        }
        Packet::Data(_) => Fate::NOW,
        _ => steer(&mut passing, ROUND_TRIP, RATE, 0.0),
    })
});

/// A mark halfway between two reports.
static EXPEDITED: Run = run("expedited", 60, || mark(CHANGE + 2));

static TWO_SIZES: Run = Run::new(
    "two-sizes-received",
    crate::check::Setup {
        shortfall: 800,
        ..packets_of(SIZE)
    },
    ms(2_500),
    || on_data(|_, _| Fate::NOW),
);

/// The very first packet tells an R, and is marked.
static FIRST_MARKED: Run = run("first-packet-marked", 20, || {
    on_data(|index, data| {
        data.rtt_micros = ROUND_TRIP.as_micros() as u32;
        if index == 0 {
            data.ecn = Ecn::Ce;
        }
        Fate::NOW
    })
});

static SECOND_MARKED: Run = run("second-packet-marked", 20, || mark(1));

fn mark(marked: usize) -> Script {
    on_data(move |index, data| {
        if index == marked {
            data.ecn = Ecn::Ce;
        }
        Fate::NOW
    })
}

/// Twice the rate for a second and a half, then the usual one, and a loss another second later.
static FASTER_BEFORE: Run = Run::new("faster-before", packets_of(SIZE), ms(3_200), || {
    let mut lost = None;
    Box::new(move |mut passing| {
        let rate = if passing.at < at_ms(1_500) {
            2.0 * RATE
        } else {
            RATE
        };
        match passing.packet {
            Packet::Data(_) if passing.at >= at_ms(2_500) && lost.is_none() => {
                lost = Some(());
                Fate::Drop
            }
            _ => steer(&mut passing, ROUND_TRIP, rate, 0.0),
        }
    })
});

/// The receiver sees 65,535 and 0 missing.
static WRAP_IN_HOLE: Run = run("wrap-in-hole", 85, || {
    let mut offset = None;
    on_data(move |index, data| {
        let first = (u16::MAX).wrapping_sub(FIRST as u16);
        let offset = *offset.get_or_insert(data.seq.wrapping_sub(first));
        data.seq = data.seq.wrapping_sub(offset);
        Fate::lost_if(index == FIRST || index == FIRST + 1)
    })
});

/// Microseconds by which the sender's clock jumps, from packet `CHANGE` on.
const JUMP: u32 = 3_000_000;

static CLOCK_JUMP: Run = run("clock-jump", 80, || {
    let mut before_jump = 0;
    Box::new(move |mut passing| match passing.packet {
        Packet::Data(data) => {
            if passing.log.data.len() < CHANGE {
                before_jump = data.timestamp;
            } else {
                data.timestamp = data.timestamp.wrapping_add(JUMP);
            }
            Fate::NOW
        }
        Packet::Report(report) => {
            // The sender itself knows nothing of the jump.
            if report.timestamp.wrapping_sub(before_jump).cast_signed() > 0 {
                report.timestamp = report.timestamp.wrapping_sub(JUMP);
            }
            steer(&mut passing, ROUND_TRIP, RATE, 0.0)
        }
        Packet::Arrivals | Packet::Other => Fate::NOW,
    })
});

/// Times between reports from an instant on, ms.
fn gaps(log: &Log, from: tfrc::time::Instant) -> impl Iterator<Item = f64> {
    let reports = log.reports.iter().filter(move |report| report.at >= from);
    let times: Vec<_> = reports.map(|report| report.at).collect();
    let gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64() * 1e3)
        .collect();
    gaps.into_iter()
}

fn reports_a_packet(log: &Log) -> Outcome {
    let packets = log.data_to_receiver().len();
    let reports = log.reports.len() as f64 / packets as f64;
    // The run may end between the last packet and its report.
    let slack = 1.001 / packets as f64;
    between((packets >= 20).then_some(reports), 1.0 - slack, 1.0)
}

/// The first packet delivered after the silence.
fn after_silence(log: &Log) -> Option<usize> {
    let dropped = log
        .data
        .iter()
        .rposition(|record| record.delivered.is_none())?;
    (dropped >= FIRST).then_some(dropped + 1)
}

fn report_after(log: &Log, index: Option<usize>) -> Option<&Record<TfrcReport>> {
    let delivered = log.data.get(index?)?.delivered?;
    log.reports.iter().find(|report| report.at >= delivered)
}

fn largest_receive_rate(log: &Log) -> f64 {
    let until = first_loss(log).map_or(at_ms(0), |report| report.at);
    let reports = log.reports.iter().filter(|report| report.at <= until);
    let rates = reports.map(|report| report.seen.receive_rate.bytes_per_sec());
    rates.fold(0.0, f64::max)
}

/// Packets a round trip that the equation allows at the p of the first report of loss.
fn allowed(log: &Log) -> Option<f64> {
    let p = first_loss(log)?.seen.p.get();
    let one = Duration::from_secs(1);
    let rate = equation::rate(Bytes::new(1), one, LossEventRate::new(p));
    Some(rate.bytes_per_sec())
}
