//! The rules for the peer and its successor, by one peer alone.

use super::*;

const A: &str = "192.0.2.1:5004";
const B: &str = "192.0.2.2:5004";

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

fn latched() -> Peer {
    let mut peer = Peer::new(None);
    peer.latch(Instant::ZERO, at(A), 1);
    peer.confirm();
    peer
}

#[test]
fn a_configured_peer_is_the_only_address() {
    let peer = Peer::new(Some(at(A)));
    assert_eq!(peer.origin(Instant::ZERO, at(A), 1), Origin::New);
    let mapped = at("[::ffff:192.0.2.1]:5004");
    assert_eq!(peer.origin(Instant::ZERO, mapped, 1), Origin::New);
    let stranger = Origin::Stranger(Ignored::WrongSource);
    assert_eq!(peer.origin(Instant::from_secs(60), at(B), 1), stranger);
}

#[test]
fn a_new_source_waits_for_the_old_one_to_fall_silent() {
    let peer = latched();
    let early = Instant::ZERO + SSRC_SILENCE - Duration::from_nanos(1);
    assert_eq!(
        peer.origin(early, at(A), 2),
        Origin::Stranger(Ignored::WrongSsrc)
    );
    assert_eq!(
        peer.origin(Instant::ZERO + SSRC_SILENCE, at(A), 2),
        Origin::Successor
    );
    assert_eq!(
        peer.origin(Instant::ZERO + SSRC_SILENCE, at(B), 1),
        Origin::Stranger(Ignored::WrongSource)
    );
    assert_eq!(
        peer.origin(Instant::ZERO + ADDRESS_SILENCE, at(B), 1),
        Origin::Successor
    );
}

#[test]
fn a_believed_bye_opens_the_door_to_others_and_to_itself_later() {
    let mut peer = latched();
    peer.handle_bye(Instant::ZERO);
    let believed = Instant::ZERO + RUNNING_GAP;
    assert!(!peer.check_bye(believed - Duration::from_nanos(1)));
    assert!(peer.check_bye(believed));
    assert_eq!(peer.origin(believed, at(A), 2), Origin::Successor);
    assert_eq!(peer.origin(believed, at(B), 2), Origin::Successor);
    assert_eq!(
        peer.origin(believed, at(A), 1),
        Origin::Stranger(Ignored::WrongSsrc)
    );
    assert_eq!(
        peer.origin(Instant::ZERO + SSRC_SILENCE, at(A), 1),
        Origin::Successor
    );
}

#[test]
fn another_port_is_the_same_host_and_another_address_is_not() {
    let host = |address| {
        let mut peer = latched();
        peer.latch(Instant::ZERO, at(address), 2);
        peer.host()
    };
    assert_eq!(host("192.0.2.1:6000"), latched().host());
    assert_eq!(host("[::ffff:192.0.2.1]:5004"), latched().host());
    assert_ne!(host(B), latched().host());
    assert_eq!(host("[2001:db8::1]:5004"), host("[2001:db8::f:2]:5004"));
    assert_ne!(host("[2001:db8::1]:5004"), host("[2001:db8:0:1::1]:5004"));
}

#[test]
fn a_bye_is_forgotten_if_its_source_goes_on() {
    for (heard, is_believed) in [(0, true), (1, true), (2, false)] {
        let mut peer = latched();
        peer.handle_bye(Instant::ZERO);
        for _ in 0..heard {
            peer.handle_heard(Instant::from_millis(10), 1, 100);
        }
        assert_eq!(peer.check_bye(Instant::ZERO + RUNNING_GAP), is_believed);
    }
}

#[test]
fn an_unproven_peer_gets_three_times_what_it_sent() {
    let mut peer = Peer::new(None);
    peer.latch(Instant::ZERO, at(A), 1);
    peer.handle_heard(Instant::ZERO, 1, 100);
    assert!(peer.allows(300) && !peer.allows(301));
    peer.handle_sent(260);
    peer.confirm();
    assert!(!peer.allows(60));
    peer.prove(1);
    assert!(peer.allows(60));
}

#[test]
fn an_unproven_peer_yields_to_proof_and_to_more_media() {
    let mut peer = latched();
    let ms = Instant::from_millis;
    assert!(!peer.yields_to_proof(ms(499), at(A), 2) && !peer.yields_to_proof(ms(500), at(B), 2));
    assert!(peer.yields_to_proof(ms(500), at(A), 2));
    assert!(!peer.yields_to_media(ms(0), at(B), (2, 7)));
    assert!(!peer.yields_to_media(ms(499), at(B), (2, 8)));
    assert!(peer.yields_to_media(ms(500), at(B), (2, 9)));
    for _ in 0..4 {
        peer.handle_source(ms(500), at(A), false);
    }
    assert!(!peer.yields_to_media(ms(501), at(B), (2, 10)));
    // A number out of order begins another run.
    assert!(!peer.yields_to_media(ms(502), at(B), (2, 12)));
    peer.prove(1);
    assert!(!peer.yields_to_media(ms(1_500), at(B), (2, 13)));
    // From its own address another source may be of the same endpoint, unless its media runs.
    assert!(!peer.yields_to_media(ms(1_500), at(A), (2, 14)));
    assert!(peer.yields_to_media(ms(2_000), at(A), (2, 15)));
    peer.handle_source(ms(2_000), at(A), false);
    assert!(!peer.yields_to_media(ms(2_001), at(A), (2, 16)));
    assert!(!peer.yields_to_proof(ms(1_500), at(A), 2));
}

#[test]
fn configured_peer_that_moved_proves_itself_anew() {
    let mut peer = Peer::new(Some(at(A)));
    peer.latch(Instant::ZERO, at(A), 1);
    assert!(peer.allows(10_000), "a configured address needs no proof");
    peer.follow(at(B));
    peer.handle_heard(Instant::ZERO, 1, 100);
    assert!(peer.allows(300) && !peer.allows(301));
    // Another author at the address shows that someone hears us there, and not who.
    peer.prove(2);
    assert!(peer.allows(10_000));
    assert!(peer.yields_to_proof(Instant::from_millis(500), at(B), 2));
}

#[test]
fn reports_in_the_name_of_a_source_keep_it_from_no_proof() {
    let mut peer = latched();
    for ms in [100, 200, 300] {
        peer.handle_heard(Instant::from_millis(ms), 2, 40);
        peer.handle_heard(Instant::from_millis(ms), 1, 40);
    }
    peer.handle_heard(Instant::from_millis(900), 2, 40);
    assert!(peer.yields_to_proof(Instant::from_millis(900), at(A), 2));
}
