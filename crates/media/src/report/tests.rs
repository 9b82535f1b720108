//! Tests of a run's figures.

use super::*;
use crate::event::{self, NotShown};
use crate::policy::PolicyConfig;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn report_from(ms: u64) -> CallReport {
    CallReport::new(at(ms), PolicyConfig::DEADLINE)
}

fn shown(ms: u64, delay: u64, psnr: f64) -> ShownFrame {
    ShownFrame {
        codec: Codec::Mjpeg,
        at: at(ms),
        delay: Some(Duration::from_millis(delay)),
        psnr: Some(psnr),
        damaged: false,
        concealed: 0,
    }
}

#[test]
fn what_happens_before_the_start_does_not_count() {
    let mut report = report_from(1_000);
    report.handle_shown(&shown(500, 900, 5.0));
    report.handle_shown(&shown(1_100, 80, 30.0));
    report.handle_shown(&shown(1_200, 90, 40.0));
    let summary = report.summary();
    assert_eq!(summary.frames_shown, 2);
    assert_eq!(summary.psnr_mean_db, Some(35.0));
    assert!((summary.frame_delay_p50_ms.unwrap() - 80.05).abs() < 1e-9);
    assert!((summary.frame_delay_p95_ms.unwrap() - 90.05).abs() < 1e-9);
}

#[test]
fn rates_are_means_over_time() {
    let mut report = report_from(0);
    let state = |x: f64, sent: u64, received: u64, lost: u64| State {
        allowed_rate: Some(Rate::from_bits_per_sec(x)),
        loss_event_rate: Some(0.01),
        link_rate: Some(Rate::from_bits_per_sec(4e6)),
        sent: Some(Bytes::new(sent)),
        received: Some(Bytes::new(received)),
        filler_sent: Some(Bytes::new(sent / 10)),
        packets_received: received / 1_000,
        packets_lost: lost,
        packets_recovered: lost / 2,
    };
    // X is 2 Mb/s for three seconds and 4 Mb/s for one.
    report.handle_state(at(0), &state(2e6, 0, 0, 0));
    report.handle_state(at(3_000), &state(4e6, 700_000, 0, 0));
    report.handle_state(at(4_000), &state(1e6, 1_000_000, 990_000, 10));
    let summary = report.summary();
    assert_eq!(summary.x_mean, Some(Rate::from_bits_per_sec(2.5e6)));
    assert_eq!(summary.x_over_link, Some(0.625));
    assert_eq!(summary.media_over_x, Some(0.8));
    assert_eq!(summary.throughput, Some(Rate::from_bits_per_sec(1.98e6)));
    assert_eq!(summary.packet_loss_pct, Some(1.0));
    assert_eq!(summary.filler, Some(Rate::from_bits_per_sec(2e5)));
    assert_eq!(summary.packets_recovered, Some(5));
    assert!((summary.loss_event_rate.unwrap() - 0.01).abs() < 1e-12);
}

#[test]
fn timely_frames_are_counted_and_silence_is_gap() {
    let mut report = report_from(1_000);
    assert_eq!(report.longest_gap(at(1_500)), Duration::from_millis(500));
    for (ms, delay) in [(1_100, 149), (1_200, 149), (1_300, 151)] {
        report.handle_shown(&shown(ms, delay, 30.0));
    }
    assert_eq!(report.summary().frames_in_time, 2);
    assert_eq!(report.longest_gap(at(1_350)), Duration::from_millis(100));
}

#[test]
fn frames_in_time_follow_the_configured_deadline() {
    struct Row {
        deadline_ms: u64,
        in_time: u64,
    }
    let rows = [
        Row {
            deadline_ms: 100,
            in_time: 1,
        },
        Row {
            deadline_ms: 300,
            in_time: 2,
        },
        Row {
            deadline_ms: 2_000,
            in_time: 3,
        },
    ];
    for row in rows {
        let mut report = CallReport::new(at(0), Duration::from_millis(row.deadline_ms));
        for delay in [99, 299, 1_999] {
            report.handle_shown(&shown(2_000, delay, 30.0));
        }
        let counted = report.summary().frames_in_time;
        assert_eq!(counted, row.in_time, "{} ms", row.deadline_ms);
    }
}

#[test]
fn longest_gap_includes_silence_at_the_end() {
    let mut report = report_from(0);
    for ms in [40, 80, 300, 340] {
        report.handle_shown(&shown(ms, 50, 30.0));
    }
    report.handle_state(at(341), &State::default());
    assert_eq!(report.summary().longest_gap_ms, Some(220.0));
    report.handle_state(at(900), &State::default());
    assert_eq!(report.summary().longest_gap_ms, Some(560.0));
}

#[test]
fn a_peer_that_has_left_leaves_no_gap() {
    let session = |ms, kind| {
        let at = at(ms);
        CallEvent::Session(evenkeel_rtp::session::Event { at, kind })
    };
    let mut report = report_from(0);
    report.handle_shown(&shown(100, 50, 30.0));
    report.handle_event(&session(300, SessionEvent::PeerLeft));
    // One frame was still in flight.
    report.handle_shown(&shown(340, 50, 30.0));
    report.handle_state(at(9_000), &State::default());
    assert_eq!(report.summary().longest_gap_ms, Some(200.0));
    let address = ([192, 0, 2, 7], 5_004).into();
    let next = SessionEvent::PeerChanged { address, ssrc: 1 };
    report.handle_event(&session(9_000, next));
    report.handle_shown(&shown(9_240, 50, 30.0));
    report.handle_state(at(9_300), &State::default());
    assert_eq!(report.summary().longest_gap_ms, Some(240.0));
    // This peer vanishes, and another replaces it.
    report.handle_event(&session(
        12_000,
        SessionEvent::PeerChanged { address, ssrc: 2 },
    ));
    report.handle_shown(&shown(12_240, 50, 30.0));
    assert_eq!(report.summary().longest_gap_ms, Some(3_000.0));
}

#[test]
fn frames_are_counted_from_events() {
    let mut report = report_from(0);
    let media = |kind| CallEvent::Media(event::Event { at: at(10), kind });
    report.handle_event(&media(MediaEvent::Sent {
        timestamp: 1,
        age: Duration::ZERO,
    }));
    report.handle_event(&media(MediaEvent::Completed {
        timestamp: 1,
        late: true,
    }));
    report.handle_event(&media(MediaEvent::Completed {
        timestamp: 2,
        late: false,
    }));
    report.handle_event(&media(MediaEvent::Discarded {
        timestamp: None,
        reason: event::Discard::Busy,
    }));
    report.handle_event(&media(MediaEvent::Target {
        size: Bytes::new(1_000),
        queued: Bytes::ZERO,
        deadline: PolicyConfig::DEADLINE,
    }));
    report.handle_event(&media(MediaEvent::Discarded {
        timestamp: None,
        reason: event::Discard::LeftOut,
    }));
    report.handle_event(&media(MediaEvent::Missed { pictures: 3 }));
    for reason in NotShown::ALL {
        report.handle_event(&media(MediaEvent::Dropped {
            timestamp: 3,
            reason,
        }));
    }
    let summary = report.summary();
    assert_eq!(
        (
            summary.frames_captured,
            summary.frames_missed,
            summary.frames_sent,
            summary.frames_late,
            summary.frames_discarded,
            summary.frames_frozen
        ),
        // Another frame was shown instead of the superseded one.
        (2, 3, 1, 1, 2, NotShown::ALL.len() as u64 - 1)
    );
}

#[test]
fn damaged_and_concealed_frames_are_counted_apart() {
    let mut report = report_from(0);
    for (ms, damaged, concealed) in [(40, false, 0), (80, true, 2), (120, false, 1)] {
        report.handle_shown(&ShownFrame {
            damaged,
            concealed,
            ..shown(ms, 50, 30.0)
        });
    }
    let summary = report.summary();
    let counts = (summary.frames_damaged, summary.frames_concealed);
    assert_eq!(counts, (1, 2));
    assert_eq!((summary.frames_shown, summary.frames_frozen), (3, 0));
}

#[test]
fn identical_pictures_have_infinite_psnr() {
    let mut report = report_from(0);
    for ms in [40, 80, 120] {
        report.handle_shown(&shown(ms, 50, f64::INFINITY));
    }
    assert_eq!(report.summary().psnr_p5_db, Some(f64::INFINITY));
    report.handle_shown(&shown(160, 50, 30.0));
    let worst = report.summary().psnr_p5_db.unwrap();
    assert!((worst - 30.005).abs() < 1e-9, "{worst}");
}
