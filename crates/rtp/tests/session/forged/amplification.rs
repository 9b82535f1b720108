//! A source without proof gets at most three times the bytes that arrived from it.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::session::{Config, FeedbackMode, MediaInfo};

use super::{Draw, Fields, one_way};
use crate::pair::{End, secs};
use crate::reports::with;

/// RFC 9000 §8.1.
const MAX_AMPLIFICATION: usize = 3;

/// Returns the bytes that `datagrams` copies of the start of a stream bring from a session, over a minute.
fn answered(config: Config, mode: FeedbackMode, datagrams: u16, payload: usize) -> (usize, usize) {
    let mut pair = one_way(mode, End::B.receiver(2));
    pair.run(secs(1));
    let fields = Fields::next(&pair);
    pair.restart(End::B, with(mode, config));
    let stranger = SocketAddr::from(([203, 0, 113, 9], 9));
    let mut sent = 0;
    let (mut received, start) = (0, pair.now);
    let session = pair.session_mut(End::B);
    let mut buf = [0; 2_048];
    for step in 0..6_000 {
        let now = start + Duration::from_millis(10) * step;
        if step < u32::from(datagrams) {
            let mut next = fields;
            next.header.sequence = next.header.sequence.wrapping_add(step as u16);
            next.timing.send_time = next.timing.send_time.wrapping_add(10_000 * step);
            let bytes = next.to_bytes(payload);
            sent += bytes.len();
            session.handle_datagram(
                now,
                evenkeel_rtp::endpoint::Datagram {
                    source: stranger,
                    arrival: now,
                    ecn: tfrc::Ecn::NotEct,
                    payload: &bytes,
                },
            );
        }
        session.handle_timeout(now);
        session.request_keyframe(now);
        while let Some(transmit) = session.poll_transmit(now, &mut buf) {
            assert_eq!(transmit.destination, stranger);
            received += transmit.len;
        }
        let info = MediaInfo {
            timestamp: 0,
            marker: true,
        };
        while session.next_departure(now).is_some_and(|at| at <= now) {
            let transmit = session.write_media(now, &info, &[0; 1_000], &mut buf);
            received += transmit.expect("a departure that was allowed").len;
        }
    }
    (received, sent)
}

#[test]
fn blind_datagrams_bring_three_times_their_bytes_at_most() {
    let mut draw = Draw(5);
    let caller = Config {
        peer: None,
        ..End::B.caller(2)
    };
    for mode in FeedbackMode::ALL {
        for datagrams in [1, 2, 3, 10] {
            for config in [End::B.receiver(2), caller.clone()] {
                let payload = draw.of(&[0, 100, 1_000]);
                let (received, sent) = answered(config, mode, datagrams, payload);
                assert!(
                    received <= MAX_AMPLIFICATION * sent,
                    "{mode:?}, {datagrams} datagrams: {received} for {sent}"
                );
            }
        }
    }
}
