//! `sender_trace.toml` (RFC 5348 §4.2 to §4.5).

use std::time::Duration;

use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Feedback, Sender, SenderConfig};

use super::{assert_close, read};

#[derive(Deserialize)]
struct Vectors {
    tolerance: f64,
    step: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: u64,
    sends: Sends,
    report: Option<ReportRow>,
    expiry: Option<String>,
    r_ns: Option<u128>,
    x: f64,
    x_inst: f64,
    timer_ns: u64,
}

/// What the sender sends from the step before to this one.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sends {
    All,
    One,
    None,
}

#[derive(Deserialize)]
struct ReportRow {
    sample_ms: u64,
    x_recv: f64,
    p: f64,
    data_limited: bool,
}

const S: Bytes = Bytes::new(1_000);

#[test]
fn a_senders_whole_trace_is_as_computed_elsewhere() {
    let vectors: Vectors = read("sender_trace.toml");
    let config = SenderConfig {
        segment_size: S,
        max_credit: Duration::MAX,
        min_nofeedback: Duration::ZERO,
        ..SenderConfig::default()
    };
    let mut sender = Sender::new(Instant::ZERO, config);
    let mut before = 0;
    for step in vectors.step {
        let what = format!("at {} ms", step.at);
        send(&mut sender, &step.sends, before, step.at);
        before = step.at;
        let now = Instant::from_millis(step.at);
        let trace = match &step.report {
            Some(report) => handle(&mut sender, now, report, &what),
            None => sender.handle_timeout(now).unwrap(),
        };
        let branch = match trace {
            Trace::NoFeedback { branch, .. } => Some(format!("{branch:?}")),
            _ => None,
        };
        assert_eq!(branch, step.expiry, "{what}");
        assert_eq!(sender.rtt().is_some(), step.r_ns.is_some(), "{what}");
        if let (Some(rtt), Some(expected)) = (sender.rtt(), step.r_ns) {
            let error = rtt.as_nanos().abs_diff(expected);
            assert!(error <= 1, "R {what}: {rtt:?}");
        }
        let interval = (sender.poll_timeout() - now).as_secs_f64();
        let expected = (Instant::from_nanos(step.timer_ns) - now).as_secs_f64();
        assert_close(
            interval,
            expected,
            vectors.tolerance,
            &format!("timer {what}"),
        );
        let x = sender.allowed_rate().bytes_per_sec();
        assert_close(x, step.x, vectors.tolerance, &format!("X {what}"));
        let x_inst = sender.instantaneous_rate().bytes_per_sec();
        assert_close(
            x_inst,
            step.x_inst,
            vectors.tolerance,
            &format!("X_inst {what}"),
        );
    }
}

fn send(sender: &mut Sender, sends: &Sends, from: u64, to: u64) {
    let mut left = match sends {
        Sends::All => u32::MAX,
        Sends::One => 1,
        Sends::None => 0,
    };
    for now in (from..to).map(Instant::from_millis) {
        while left > 0 && sender.next_departure(now) <= now {
            sender.handle_sent(now, S);
            left -= 1;
        }
    }
}

fn handle(sender: &mut Sender, now: Instant, report: &ReportRow, what: &str) -> Trace {
    let trace = sender.handle_feedback(
        now,
        &Feedback {
            sent_at: now - Duration::from_millis(report.sample_ms),
            delay: Duration::ZERO,
            receive_rate: Rate::from_bytes_per_sec(report.x_recv),
            loss_event_rate: LossEventRate::new(report.p),
        },
    );
    let Trace::Feedback { data_limited, .. } = trace else {
        panic!("{what}: {trace:?} is not about a report");
    };
    assert_eq!(data_limited, report.data_limited, "{what}");
    trace
}
