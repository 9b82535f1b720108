//! Blind datagrams do not keep a call from starting, and a BYE beside media ends nothing.

use std::net::SocketAddr;

use evenkeel_rtp::packet::rtcp::Bye;
use evenkeel_rtp::session::{EventKind, FeedbackMode};

use super::{Fields, PATIENCE, RECOVERED_SHARE, one_way, received, running};
use crate::pair::{End, Pair, secs};

/// Returns a media packet of a source that nobody knows.
fn blind(number: u16) -> Vec<u8> {
    let mut fields = Fields::next(&running(FeedbackMode::Ccfb));
    fields.header.ssrc = 0xb11d;
    fields.header.sequence = number;
    fields.timing.rtt_micros = 0;
    fields.to_bytes(10)
}

#[test]
fn twelve_blind_datagrams_do_not_delay_a_call() {
    let stranger = SocketAddr::from(([203, 0, 113, 9], 9));
    for source in [stranger, End::A.address()] {
        let mut receiver = End::B.caller(2);
        if source == stranger {
            receiver.peer = None;
        }
        let mut pair = Pair::new(End::A.caller(1), receiver);
        pair.has_strangers = true;
        for number in 0..12 {
            let bytes = blind(number);
            pair.inject(End::B, source, &bytes);
            pair.run(secs(1));
        }
        let after = received(&mut pair, secs(1));
        assert!(after > 50.0, "from {source}: {after} packets");
    }
}

#[test]
fn blind_datagrams_do_not_delay_a_receiver() {
    let stranger = SocketAddr::from(([203, 0, 113, 9], 9));
    let mut pair = one_way(FeedbackMode::Ccfb, End::B.receiver(2));
    pair.has_strangers = true;
    for number in 0..12 {
        let bytes = blind(number);
        pair.inject(End::B, stranger, &bytes);
        pair.run(secs(1));
    }
    let after = received(&mut pair, secs(1));
    assert!(after > 50.0, "{after} packets");
}

#[test]
fn bye_beside_running_media_is_ignored() {
    for (to, author) in [(End::B, End::A), (End::A, End::B)] {
        let mut pair = running(FeedbackMode::Ccfb);
        let before = received(&mut pair, secs(1));
        let mut bye = [0; 8];
        Bye::emit(pair.session(author).ssrc(), &mut bye).expect("it fits");
        pair.inject(to, author.address(), &bye);
        let after = received(&mut pair, PATIENCE) / PATIENCE.as_secs_f64();
        assert!(after >= RECOVERED_SHARE * before, "{after} of {before}");
        assert!(!pair.kinds(to).any(|kind| kind == EventKind::PeerLeft));
    }
}
