//! Ten forged datagrams of any kind, from any address, hold no call for more than two seconds.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::session::FeedbackMode;

use super::control::{Kind, forge};
use super::{Draw, Fields, PATIENCE, RECOVERED_SHARE, received, running};
use crate::pair::{End, Pair, secs};

const COUNT: u32 = 10;

/// Injects ten datagrams by `inject`, `apart` from each other, and checks that media continues.
fn assert_media_continues(
    mode: FeedbackMode,
    apart: Duration,
    what: &str,
    mut inject: impl FnMut(&mut Pair, u32),
) {
    let mut pair = running(mode);
    pair.has_strangers = true;
    let before = received(&mut pair, secs(1));
    for n in 0..COUNT {
        inject(&mut pair, n);
        pair.run(apart);
    }
    let held = received(&mut pair, PATIENCE);
    let after = received(&mut pair, secs(1));
    assert!(
        held > 0.0,
        "{mode:?}, {what}, {apart:?}: nothing in two seconds"
    );
    assert!(
        after >= RECOVERED_SHARE * before,
        "{mode:?}, {what}, {apart:?}: {after} of {before}"
    );
}

const APART: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(7),
    Duration::from_millis(150),
];

#[test]
fn ten_forged_reports_of_a_kind_hold_no_call() {
    for mode in FeedbackMode::ALL {
        for kind in Kind::ALL {
            for (apart, to) in APART.into_iter().zip([End::A, End::B, End::A]) {
                let mut draw = Draw(3);
                assert_media_continues(mode, apart, &format!("{kind:?} to {to:?}"), |pair, _| {
                    let bytes = forge(pair, kind, to, &mut draw);
                    pair.inject(to, to.other().address(), &bytes);
                });
            }
        }
    }
}

#[test]
fn ten_forged_media_packets_hold_no_call() {
    // The numbers that the ten packets skip.
    for ahead in [1, 400, 1_500, 20_000] {
        for (mode, apart) in FeedbackMode::ALL.into_iter().zip(APART.into_iter().cycle()) {
            for (rtt, lead) in [(0xff_ffff, 0), (1, 0), (0, 9_900_000), (50_000, 0)] {
                let what = format!("{ahead} ahead, R of {rtt}, {lead} early");
                assert_media_continues(mode, apart, &what, |pair, n| {
                    let mut fields = Fields::next(pair);
                    let number = fields.header.sequence.wrapping_add(ahead + n as u16);
                    fields.header.sequence = number;
                    fields.timing.rtt_micros = rtt;
                    fields.timing.send_time = fields.timing.send_time.wrapping_add(lead);
                    let bytes = fields.to_bytes(100);
                    pair.inject(End::B, End::A.address(), &bytes);
                });
            }
        }
    }
}

#[test]
fn ten_forged_datagrams_of_all_kinds_hold_no_call() {
    let stranger = SocketAddr::from(([203, 0, 113, 9], 9));
    for seed in 0..24 {
        let mut draw = Draw(seed);
        let (mode, apart) = (draw.of(&FeedbackMode::ALL), draw.of(&APART));
        assert_media_continues(mode, apart, &format!("seed {seed}"), |pair, _| {
            let to = draw.of(&[End::A, End::B]);
            let source = draw.of(&[stranger, to.other().address()]);
            let bytes = if draw.below(3) == 0 {
                let mut fields = Fields::next(pair);
                fields.header.sequence = draw.next() as u16;
                fields.timing.rtt_micros = draw.next() >> 8;
                fields.to_bytes(draw.below(1_000) as usize)
            } else {
                forge(pair, draw.of(&Kind::ALL), to, &mut draw)
            };
            pair.inject(to, source, &bytes);
        });
    }
}
