//! Tests of the memory of a host while the peer is at another host.

use tfrc::Ecn;
use tfrc::sent_packets::{PacketStatus, ReportHeader};
use tfrc::time::Duration;
use tfrc::units::Bytes;

use super::super::reception::tests::block;
use super::*;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtcp::TfrcFeedback;
use crate::session::config::SendConfig;
use crate::session::random::Random;

const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns a sender that has sent a packet.
fn begun(feedback: FeedbackMode) -> Outbound {
    let config = SendConfig {
        feedback,
        leave_out_sequence_numbers: true,
        ..SendConfig::new(96)
    };
    let mut outbound = Outbound::new(at(0), config, true, true, &mut Random::new(1, "a"));
    send(&mut outbound, at(1_000));
    outbound
}

/// Returns a sender that has received a report of this p.
fn with_reported_loss(p: f64) -> Outbound {
    let mut outbound = begun(FeedbackMode::Tfrc);
    report_loss(&mut outbound, at(1_000), p);
    outbound
}

fn send(outbound: &mut Outbound, now: Instant) -> Ecn {
    outbound.handle_sent(now, 1_200, 1_100, true)
}

/// Reports that packets of these numbers arrived half a round trip before now without a mark, and that others did
/// not.
fn report(outbound: &mut Outbound, now: Instant, first: u32, arrived: &[u32]) {
    let made_at = now - RTT / 2;
    let header = ReportHeader {
        first: first as u16,
        made_at,
        resolution: Duration::ZERO,
    };
    let last = arrived.iter().copied().max().unwrap_or(first);
    let statuses = (first..=last).map(|seq| {
        if arrived.contains(&seq) {
            PacketStatus::Arrived {
                at: Some(made_at),
                ecn: Ecn::Ect0,
            }
        } else {
            PacketStatus::Missing
        }
    });
    let _distrusted = outbound.ingest_arrivals(now, |departures| {
        departures.ingest_report(now, &header, statuses);
        true
    });
    let _stale = outbound.settle_arrivals(now);
}

/// Reports the arrival of a packet that is still to be sent.
fn claim_unsent(outbound: &mut Outbound, now: Instant) {
    let next = outbound.numbering.transport();
    report(outbound, now, next - 1, &[next]);
}

/// Reports arrivals without marks until this many of the sender's marks are lost.
fn lose_marks(outbound: &mut Outbound, now: Instant, marks: usize) {
    let (first, mut sent, mut lost) = (outbound.numbering.transport(), Vec::new(), 0);
    while lost < marks {
        sent.push(outbound.numbering.transport());
        lost += usize::from(send(outbound, now) == Ecn::Ce);
    }
    report(outbound, now + RTT, first, &sent);
}

/// Reports thousands of times the sent rate until this many claims were cut.
fn claim_excess(outbound: &mut Outbound, mut now: Instant, cut: u64) {
    while outbound.capped() < cut {
        send(outbound, now);
        let rate = Rate::from_bits_per_sec(1e10);
        let timestamp = now.as_micros() as u32;
        let feedback = TfrcFeedback::new(timestamp, Duration::ZERO, rate, LossEventRate::new(0.01));
        now += RTT;
        let _cut = outbound.handle_feedback(now, now, feedback);
    }
}

/// Reports a round trip of 1 ms in a reception report, and returns the resulting rate in bits a second.
fn report_short_trip(outbound: &mut Outbound, now: Instant) -> f64 {
    let block = block(outbound.numbering.sequence().wrapping_sub(1), 0, 0);
    outbound.handle_block(now, &block, Some(Duration::from_millis(1)), true);
    outbound.path().allowed_rate.bits_per_sec()
}

fn report_loss(outbound: &mut Outbound, sent_at: Instant, p: f64) {
    let rate = Rate::from_bits_per_sec(1e6);
    let timestamp = sent_at.as_micros() as u32;
    let feedback = TfrcFeedback::new(timestamp, Duration::ZERO, rate, LossEventRate::new(p));
    let now = sent_at + RTT;
    outbound
        .handle_feedback(now, now, feedback)
        .expect("it is believed");
}

#[test]
fn another_host_begins_clean_and_the_first_finds_what_it_left() {
    let mut outbound = with_reported_loss(0.01);
    outbound.replace_receiver(at(2_000), A, B);
    assert!(!outbound.host.has_past());
    outbound.replace_receiver(at(3_000), B, A);
    let p = outbound.inherited().get();
    assert!((p / 0.01 - 1.0).abs() < 1e-3, "{p}");
}

#[test]
fn a_receiver_that_computes_p_is_believed_no_less_than_was_known_before_it() {
    let mut outbound = with_reported_loss(0.01);
    outbound.replace_receiver(at(2_000), A, A);
    send(&mut outbound, at(2_000));
    report_loss(&mut outbound, at(2_000), 0.0);
    let p = outbound.path().loss_event_rate.get();
    assert!((p / 0.01 - 1.0).abs() < 1e-3, "{p}");
    send(&mut outbound, at(2_200));
    report_loss(&mut outbound, at(2_200), 0.02);
    assert!(outbound.path().loss_event_rate.get() > 0.019);
}

/// The path bore a megabit a second when a receiver left that had reported no loss.
#[test]
fn who_left_without_a_loss_comes_back_to_the_rate_that_it_had() {
    let mut outbound = with_reported_loss(0.0);
    outbound.replace_receiver(at(2_000), A, A);
    let p = outbound.inherited();
    let rate = equation::rate(Bytes::new(1_200), RTT, p).bits_per_sec();
    assert!((rate / 1e6 - 1.0).abs() < 1e-3, "{rate}");
}

#[test]
fn nobody_inherits_from_one_that_never_reported() {
    let mut outbound = with_reported_loss(0.0);
    for ms in [2_000, 3_000, 4_000] {
        outbound.replace_receiver(at(ms), A, A);
    }
    assert_eq!(outbound.host.known.past.and(1), {
        let mut once = with_reported_loss(0.0);
        once.replace_receiver(at(2_000), A, A);
        once.host.known.past.and(1)
    });
}

#[test]
fn a_sender_that_believes_inherits_nothing() {
    let mut outbound = with_reported_loss(0.01);
    outbound.config.verify = false;
    outbound.replace_receiver(at(2_000), A, A);
    assert!(!outbound.host.has_past());
}

/// Returns a sender whose receiver misbehaves at two hosts, at the first twice, below what proves a lie.
fn is_counted_on(
    feedback: FeedbackMode,
    misbehave: impl Fn(&mut Outbound, u64, usize),
) -> Outbound {
    let mut outbound = begun(feedback);
    misbehave(&mut outbound, 10, 0);
    outbound.replace_receiver(at(20_000), A, B);
    misbehave(&mut outbound, 30, 1);
    outbound.replace_receiver(at(40_000), B, A);
    assert!(outbound.lie().is_none() && outbound.uses_ecn());
    misbehave(&mut outbound, 50, 2);
    outbound
}

#[test]
fn lies_are_counted_whoever_comes_between() {
    let mut outbound = is_counted_on(FeedbackMode::Ccfb, |outbound, secs, _| {
        let now = Instant::from_secs(secs);
        send(outbound, now);
        claim_unsent(outbound, now + RTT);
    });
    assert!(outbound.lie().is_some());
    outbound.replace_receiver(at(60_000), A, B);
    assert!(!outbound.sent.suspicions().are_on_probation());
    // The lie dies with the receiver, and the next one is put to the test.
    outbound.replace_receiver(at(70_000), B, A);
    assert!(outbound.lie().is_none() && outbound.sent.suspicions().are_on_probation());
}

#[test]
fn marks_are_counted_whoever_comes_between_and_end_ecn_at_one_host() {
    let mut outbound = is_counted_on(FeedbackMode::Ccfb, |outbound, secs, stay| {
        lose_marks(outbound, Instant::from_secs(secs), [2, 2, 1][stay]);
    });
    assert!(!outbound.uses_ecn());
    outbound.replace_receiver(at(60_000), A, B);
    assert!(outbound.uses_ecn());
    outbound.replace_receiver(at(70_000), B, A);
    assert!(!outbound.uses_ecn());
}

#[test]
fn excesses_are_counted_whoever_comes_between() {
    let outbound = is_counted_on(FeedbackMode::Tfrc, |outbound, secs, stay| {
        claim_excess(outbound, Instant::from_secs(secs), [2, 2, 1][stay]);
    });
    assert!(outbound.lie().is_some());
}

/// Replaces the last receiver, which leaves with or without a BYE, by one at another host.
fn replace(outbound: &mut Outbound, says_bye: bool, now: Instant, from: IpAddr, to: IpAddr) {
    if says_bye {
        outbound.restart(now);
    }
    outbound.replace_receiver(now, from, to);
    send(outbound, now);
}

#[test]
fn a_round_trip_that_cannot_be_checked_begins_one_flight_a_host_whoever_comes_between() {
    for says_bye in [false, true] {
        let mut outbound = begun(FeedbackMode::Ccfb);
        assert!(report_short_trip(&mut outbound, at(1_100)) > 3e6);
        replace(&mut outbound, says_bye, at(2_000), A, B);
        assert!(report_short_trip(&mut outbound, at(2_100)) > 3e6);
        replace(&mut outbound, says_bye, at(3_000), B, A);
        let rate = report_short_trip(&mut outbound, at(3_100));
        assert!(rate < 1e4, "{rate}");
    }
}

#[test]
fn none_is_shorter_than_the_one_that_feedback_showed_at_the_host() {
    for says_bye in [false, true] {
        let mut outbound = begun(FeedbackMode::Ccfb);
        let first = outbound.numbering.transport().wrapping_sub(1);
        report(&mut outbound, at(1_100), first, &[first]);
        replace(&mut outbound, says_bye, at(2_000), A, B);
        replace(&mut outbound, says_bye, at(3_000), B, A);
        let rate = report_short_trip(&mut outbound, at(3_100));
        // The expected rate is an initial window (RFC 5348 §4.2) a round trip.
        assert_eq!(rate, 4_380.0 * 8.0 / RTT.as_secs_f64());
    }
}
