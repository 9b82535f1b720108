//! B.2: the first packets, and numbers that count on.

use std::time::Duration;

use tfrc::units::Rate;

use super::{receiver, sender};
use crate::check::{
    Check, Evidence, Outcome, Run, Setup, at_ms, between, ms, packets_of, says, within,
};
use crate::interposer::{Fate, Script};
use crate::log::{Log, Record};
use crate::packet::{Data, Packet};
use crate::scripts::{set, steady};

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    sender("B.2.1-1")
        .title("the first packet bears the first sequence number: the next are 1, 2, 3 higher")
        .section("RFC 5348 §3.2.1")
        .on(&[&FIRST], |e| {
            let first = e.log().data.first().map(|record| record.seen.seq);
            let steps: Vec<f64> = (e.log().data.iter().take(4))
                .map(|record| f64::from(record.seen.seq.wrapping_sub(first.unwrap_or(0))))
                .collect();
            crate::check::sequence(steps, vec![0.0, 1.0, 2.0, 3.0], |_| 0.0)
        }),
    receiver("B.2.1-2")
        .title("the first packet is answered by a report at t1 + t_delay, s after t1")
        .section("RFC 5348 §6.3")
        .on(&[&FIRST], |e| {
            // The next packet leaves a second later: what comes after it answers that.
            between(
                first_answer(e.log()).map(|(waited, _)| waited),
                0.0,
                e.pick(1e-6, 0.2),
            )
        }),
    receiver("B.2.1-3")
        .title("t_delay is the time between them: the difference, s")
        .section("RFC 5348 §3.2.2")
        .on(&[&FIRST], |e| {
            let error = first_answer(e.log()).map(|(waited, stated)| waited - stated);
            within(error, 0.0, e.pick(1e-6, 0.02))
        }),
    receiver("B.2.1-4")
        .title("its X_recv is 0 (the thesis has s; both standards have 0), B/s")
        .section("RFC 5348 §6.3")
        .on(&[&FIRST], |e| {
            let first = e.log().reports.first();
            within(first.map(|r| r.seen.receive_rate.bytes_per_sec()), 0.0, 0.0)
        }),
    receiver("B.2.1-5")
        .title("its t_recvdata is that of the packet, 0")
        .section("RFC 5348 §3.2.2")
        .on(&[&FIRST], |e| {
            let first = e.log().reports.first();
            within(first.map(|r| f64::from(r.seen.timestamp)), 0.0, 0.0)
        }),
    receiver("B.2.1-6")
        .title("its p is 0")
        .section("RFC 5348 §6.3")
        .on(&[&FIRST], |e| {
            within(e.log().reports.first().map(|r| r.seen.p.get()), 0.0, 0.0)
        }),
    sender("B.2.1-7")
        .title("the sender receives it: the next packet tells R, ms")
        .section("RFC 5348 §4.3")
        .on(&[&FIRST], |e| {
            let got = e.log().reports_to_sender().first().map(|(at, _)| *at);
            let rtt = got.and_then(|at| e.log().rtt_after(at));
            let latest = e.pick(20.002, 200.0);
            between(rtt.map(|r| r.as_secs_f64() * 1e3), 19.99, latest)
        }),
    sender("B.2.2-8")
        .title("sequence numbers that are not one higher than the last")
        .section("RFC 5348 §3.2.1")
        .on(&[&STEADY], |e| count_bad(&e.log().data, is_next)),
    sender("B.2.2-9")
        .title("timestamps that are not later than the last (those of one burst may be equal)")
        .section("RFC 5348 §3.2.1")
        .on(&[&STEADY], |e| {
            count_bad(&e.log().data, |a, b| is_later(a, b, e.pick(ms(0), ms(20))))
        }),
    sender("B.2.2-10")
        .title("the sender goes on while its sequence number wraps: rate after over rate before")
        .section("RFC 5348 §3.2.1")
        .on(&[&SEQUENCE_WRAP], |e| {
            let wraps = |a: &Data, b: &Data| (a.seq, b.seq) == (u16::MAX, 0);
            goes_on(e, wraps, is_next)
        }),
    sender("B.2.2-11")
        .title("the sender goes on while its timestamp wraps: rate after over rate before")
        .section("RFC 5348 §3.2.1")
        .on(&[&CLOCK_WRAP], |e| {
            let rule = |a: &_, b: &_| is_later(a, b, e.pick(ms(0), ms(20)));
            goes_on(e, |a, b| b.timestamp < a.timestamp, rule)
        }),
    receiver("B.2.2-12")
        .title("the receiver goes on while the sequence number wraps")
        .section("RFC 5348 §3.2.1")
        .on(&[&RECEIVED_SEQUENCE_WRAP], |e| {
            reports_go_on(e, |a, b| b.seq < a.seq)
        }),
    receiver("B.2.2-13")
        .title("the receiver goes on while the timestamp wraps")
        .section("RFC 5348 §3.2.1")
        .on(&[&RECEIVED_CLOCK_WRAP], |e| {
            reports_go_on(e, |a, b| b.timestamp < a.timestamp)
        }),
];

/// The receiver sees sequence number 0 and timestamp 0 first; the path takes 10 ms each way.
static FIRST: Run = Run::new("first-packets", packets_of(1_000), ms(300), || {
    from_zero(0, 0)
});

static STEADY: Run = Run::new("steady", packets_of(1_000), ms(1_000), || {
    steady(ms(20), 400e3)
});

/// 20,000 packets a second: the number wraps within four seconds, wherever it began.
static SEQUENCE_WRAP: Run = Run::new("sequence-wrap", packets_of(200), ms(4_500), || {
    steady(ms(20), 4e6)
});

/// The sender's clock wraps after a second.
static CLOCK_WRAP: Run = Run::new(
    "clock-wrap",
    Setup {
        clock_ahead: Duration::from_micros((1 << 32) - 1_000_000),
        ..packets_of(1_000)
    },
    ms(2_000),
    || steady(ms(20), 400e3),
);

static RECEIVED_SEQUENCE_WRAP: Run =
    Run::new("received-sequence-wrap", packets_of(1_000), ms(800), || {
        from_zero(u16::MAX - 100, 0)
    });

static RECEIVED_CLOCK_WRAP: Run =
    Run::new("received-clock-wrap", packets_of(1_000), ms(800), || {
        from_zero(0, u32::MAX - 300_000)
    });

/// Renumbers what the sender sends, so that the receiver sees these first, and undoes it in reports.
fn from_zero(first_seq: u16, first_timestamp: u32) -> Script {
    let mut offset = None;
    Box::new(move |passing| {
        match passing.packet {
            Packet::Data(data) => {
                let (seq, timestamp) = *offset.get_or_insert((
                    data.seq.wrapping_sub(first_seq),
                    data.timestamp.wrapping_sub(first_timestamp),
                ));
                data.seq = data.seq.wrapping_sub(seq);
                data.timestamp = data.timestamp.wrapping_sub(timestamp);
            }
            Packet::Report(report) => {
                let (_, timestamp) = offset.unwrap_or_default();
                report.timestamp = report.timestamp.wrapping_add(timestamp);
                set(report, Rate::from_bytes_per_sec(200e3), 0.0);
            }
            Packet::Arrivals | Packet::Other => {}
        }
        Fate::After(ms(10))
    })
}

/// From the first packet's delivery to the report that answers it, and t_delay in it, seconds.
fn first_answer(log: &Log) -> Option<(f64, f64)> {
    let delivered = log.data.first()?.delivered?;
    let report = log.reports.first()?;
    let waited = report.at.saturating_since(delivered).as_secs_f64();
    Some((waited, report.seen.delay.as_secs_f64()))
}

fn is_next(a: &Record<Data>, b: &Record<Data>) -> bool {
    b.seen.seq == a.seen.seq.wrapping_add(1)
}

/// The standard leaves the resolution of timestamps open, so packets that came within `burst` of each
/// other may share one.
fn is_later(a: &Record<Data>, b: &Record<Data>, burst: Duration) -> bool {
    let step = b
        .seen
        .timestamp
        .wrapping_sub(a.seen.timestamp)
        .cast_signed();
    step > 0 || (step == 0 && b.at.saturating_since(a.at) <= burst)
}

/// How many neighbours break a rule, of at least a hundred.
fn count_bad(
    data: &[Record<Data>],
    rule: impl Fn(&Record<Data>, &Record<Data>) -> bool,
) -> Outcome {
    let bad = bad_pairs(data, rule);
    within((data.len() >= 100).then_some(bad as f64), 0.0, 0.0)
}

fn bad_pairs(data: &[Record<Data>], rule: impl Fn(&Record<Data>, &Record<Data>) -> bool) -> usize {
    let pairs = data.windows(2);
    pairs.filter(|pair| !rule(&pair[0], &pair[1])).count()
}

/// The sender keeps the rule and its rate through a wrap. A sender that took no report after it would
/// have halved its rate.
fn goes_on(
    e: &Evidence<'_>,
    wraps: impl Fn(&Data, &Data) -> bool,
    rule: impl Fn(&Record<Data>, &Record<Data>) -> bool,
) -> Outcome {
    let data = &e.log().data;
    let wrap = data
        .windows(2)
        .position(|pair| wraps(&pair[0].seen, &pair[1].seen));
    let rates = wrap.and_then(|wrap| {
        let at = data[wrap].at;
        let before = e.log().sending_rate(at - ms(300), at)?;
        let after = e.log().sending_rate(at + ms(200), at + ms(500))?;
        Some(after / before)
    });
    let rates = rates.filter(|_| bad_pairs(data, rule) == 0);
    within(rates, 1.0, e.pick(1e-4, 0.1))
}

/// After the wrap reports echo what was delivered, tell of no loss, and keep coming. In real time a report that
/// comes with it may have left before.
fn reports_go_on(e: &Evidence<'_>, wraps: impl Fn(&Data, &Data) -> bool) -> Outcome {
    let log = e.log();
    let surely_read = e.pick(ms(0), ms(20));
    let delivered = log.data_to_receiver();
    let wrap = delivered
        .windows(2)
        .find(|pair| wraps(&pair[0].1, &pair[1].1))
        .map_or(at_ms(u64::MAX), |pair| pair[1].0);
    let after: Vec<_> = log
        .reports
        .iter()
        .filter(|report| report.at.saturating_since(wrap) > surely_read)
        .collect();
    let right = after.iter().filter(|report| {
        let echoed = delivered
            .iter()
            .any(|(at, data)| *at > wrap && data.timestamp == report.seen.timestamp);
        echoed && report.seen.p.is_zero() && report.seen.receive_rate > Rate::ZERO
    });
    let right = right.count();
    says(
        format!("{right} of {} reports after it are right", after.len()),
        "all, and at least 5",
        right >= 5 && right == after.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interposer::{Passing, Side};

    #[test]
    fn renumbering_is_undone_in_reports() {
        let mut script = from_zero(10, 1_000);
        let log = Log::default();
        let mut data = Packet::Data(Data {
            seq: 5,
            timestamp: 400,
            rtt_micros: 0,
            ecn: tfrc::Ecn::NotEct,
            size: 100,
        });
        let mut pass = |packet: &mut Packet| {
            script(Passing {
                from: Side::Sender,
                at: at_ms(0),
                packet,
                log: &log,
            })
        };
        pass(&mut data);
        let Packet::Data(changed) = data else {
            panic!("no data")
        };
        assert_eq!((changed.seq, changed.timestamp), (10, 1_000));
        let mut report = Packet::Report(crate::packet::TfrcReport {
            timestamp: 1_000,
            delay: ms(0),
            receive_rate: Rate::ZERO,
            p: tfrc::units::LossEventRate::ZERO,
        });
        pass(&mut report);
        let Packet::Report(changed) = report else {
            panic!("no report")
        };
        assert_eq!(changed.timestamp, 400);
    }
}
