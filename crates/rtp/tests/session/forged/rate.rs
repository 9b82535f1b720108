//! Forged reports do not make a sender send more than twice what its link carries.

use std::time::Duration;

use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtcp::tfrc_app::{Reception, TfrcApp};
use evenkeel_rtp::packet::rtcp::{TfrcFeedback, ccfb, sack, twcc};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::Ecn;
use tfrc::sent_packets::AckVector;
use tfrc::units::{Bytes, Rate};

use super::{Fields, one_way};
use crate::pair::{End, Pair, secs};

/// Returns a report that everything of the last 100 ms has just arrived, as B would write it.
fn everything_arrived(pair: &Pair, mode: FeedbackMode) -> Vec<u8> {
    let (a, b) = (pair.session(End::A).ssrc(), pair.session(End::B).ssrc());
    let since = pair.now - Duration::from_millis(100);
    let recent = pair.log.iter().rev().take_while(|sent| sent.at >= since);
    // An attacker on the path sees which numbers are in use.
    let count = recent.filter(|sent| sent.is_media).count().clamp(1, 350);
    let last = Fields::next(pair);
    let number = match mode {
        FeedbackMode::Twcc => last.transport,
        _ => last.header.sequence,
    };
    let first = number.wrapping_sub(count as u16);
    let date = NtpTime::from_bits(0).at(pair.now);
    let last_sent = pair
        .log
        .iter()
        .rfind(|sent| sent.is_media)
        .expect("media left")
        .at;
    let rate = Rate::from_bits_per_sec(1e9);
    let mut buf = vec![0; 1_200];
    let len = match mode {
        FeedbackMode::Tfrc => TfrcFeedback {
            timestamp: last_sent.as_micros() as u32,
            delay_micros: 0,
            receive_rate: u32::MAX / 512,
            loss_event_rate: 0,
            transit: None,
        }
        .emit(2, b, a, &mut buf),
        FeedbackMode::Ccfb => {
            let arrived = vec![Some((date, Ecn::NotEct)); count];
            ccfb::emit((b, a), first, arrived.into_iter(), date, &mut buf)
        }
        FeedbackMode::Twcc => {
            let arrived = vec![Some(pair.now); count];
            twcc::emit((b, a), first, arrived.into_iter(), 0, &mut buf)
        }
        FeedbackMode::Sack => {
            let vector = AckVector {
                first,
                receive_rate: rate,
                delay: Duration::ZERO,
            };
            sack::emit(
                (b, a),
                &vector,
                count,
                vec![0xff; count.div_ceil(8)],
                &mut buf,
            )
        }
        FeedbackMode::App => TfrcApp::Reception(Reception {
            media_ssrc: a,
            delay_micros: 0,
            receive_rate: u32::MAX / 512,
            loss_event_rate: 0,
        })
        .emit(b, &mut buf),
    };
    buf.truncate(len.expect("it fits"));
    buf
}

#[test]
fn forged_reports_do_not_overfill_a_link() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode, End::B.receiver(2));
        let link = Rate::from_bits_per_sec(3e6);
        pair.rate = link;
        pair.run(secs(3));
        // No encoder fills more.
        pair.session_mut(End::A)
            .set_ceiling(Rate::from_bits_per_sec(25e6));
        let before = pair.session(End::A).statistics().bytes_sent;
        let time = secs(20);
        for _ in 0..1_000 {
            let bytes = everything_arrived(&pair, mode);
            pair.inject(End::A, End::B.address(), &bytes);
            pair.run(time / 1_000);
        }
        let sent = pair.session(End::A).statistics().bytes_sent - before;
        let share = (Bytes::new(sent) / time) / link;
        println!("{mode:?}: {share:.2} of the link");
        assert!(share <= 2.0, "{mode:?}: {share}");
    }
}
