//! One media packet with any fields is forgotten within two seconds.

use std::time::Duration;

use evenkeel_rtp::session::FeedbackMode;

use super::{Draw, Fields, PATIENCE, RECOVERED_SHARE, last_media, received, running};
use crate::pair::{End, Pair, secs};

/// Hands one packet to B, and checks that the call is as before after two seconds.
fn assert_recovery(pair: &mut Pair, before: f64, bytes: &[u8], what: &str) {
    pair.inject(End::B, End::A.address(), bytes);
    pair.run(PATIENCE);
    let after = received(pair, secs(1));
    assert!(
        after >= RECOVERED_SHARE * before,
        "{what}: {after} of {before}"
    );
}

#[test]
fn one_packet_with_any_fields_is_forgotten() {
    let mut draw = Draw(1);
    for mode in FeedbackMode::ALL {
        for case in 0..24 {
            let mut pair = running(mode);
            let before = received(&mut pair, secs(1));
            let mut fields = Fields::next(&pair);
            // One bit for each field that is forged.
            let forged = if case < 6 {
                1 << case
            } else {
                draw.below(63) + 1
            };
            let near = draw.of(&[1, 10, 400, 999, 1_500, 2_999, 4_000, 30_000, 65_000]);
            if forged & 1 != 0 {
                fields.timing.rtt_micros = draw.of(&[0, 1, 1_000, 900_000, 0xff_ffff]);
            }
            if forged & 2 != 0 {
                let ahead = draw.of(&[9_900_000, 1_900_000, -1_900_000, -9_900_000, i32::MAX]);
                let time = fields.timing.send_time.wrapping_add_signed(ahead);
                fields.timing.send_time = time;
            }
            if forged & 4 != 0 {
                fields.header.sequence = fields.header.sequence.wrapping_add(near);
            }
            if forged & 8 != 0 {
                fields.header.timestamp = draw.next();
            }
            if forged & 16 != 0 {
                fields.header.ssrc = draw.next();
            }
            if forged & 32 != 0 {
                fields.transport = fields.transport.wrapping_add(near);
            }
            let bytes = fields.to_bytes(draw.of(&[0, 1, 1_000]));
            let what = format!("{mode:?}, case {case}, {forged:b}: {fields:?}");
            assert_recovery(&mut pair, before, &bytes, &what);
        }
    }
}

#[test]
fn one_damaged_byte_is_forgotten() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Tfrc] {
        // The fixed header and the extensions.
        for place in 0..28 {
            let mut pair = running(mode);
            let before = received(&mut pair, secs(1));
            let mut bytes = last_media(&pair);
            bytes[place] ^= 0x81;
            assert_recovery(
                &mut pair,
                before,
                &bytes,
                &format!("{mode:?}, byte {place}"),
            );
        }
    }
}

#[test]
fn timestamp_jump_is_believed_from_its_second_witness() {
    for jump in [1 << 31, 200_000, -200_000_i32 as u32, 90_000 * 3_600] {
        let mut pair = running(FeedbackMode::Ccfb);
        let next = Fields::next(&pair);
        let with = |number: u16, jump: u32| {
            let mut fields = next;
            fields.header.sequence = next.header.sequence.wrapping_add(number);
            fields.header.timestamp = next.header.timestamp.wrapping_add(jump);
            fields.to_bytes(10)
        };
        let b_gets = |pair: &mut Pair, bytes: &[u8]| {
            pair.run(Duration::from_micros(10));
            pair.inject(End::B, End::A.address(), bytes)
        };
        // The number of the first stays free for the packet that is the sender's.
        assert_eq!(b_gets(&mut pair, &with(0, jump)), "timestamp_jump");
        assert_eq!(b_gets(&mut pair, &with(0, 0)), "media");
        assert_eq!(b_gets(&mut pair, &with(1, jump)), "timestamp_jump");
        assert_eq!(b_gets(&mut pair, &with(2, jump)), "media");
    }
}
