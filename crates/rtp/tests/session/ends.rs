//! Ends of a call that fall silent, leave, return or start again.

use std::time::Duration;

use crate::pair::{End, Pair, secs};
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::session::EventKind;
use tfrc::units::Rate;

#[test]
fn silent_receiver_is_given_up_by_halves() {
    let mut pair = Pair::one_way();
    pair.run(secs(2));
    pair.kill(End::B);
    let killed = pair.now;
    pair.run(secs(8));
    let slow = pair.now;
    pair.run(secs(3));
    // Below one packet a second within 8 s.
    assert!(pair.media_since(End::A, slow) <= 3);
    pair.run(secs(40));
    let stopped = pair
        .events
        .iter()
        .find(|(_, event)| event.kind == EventKind::GaveUp)
        .expect("gave up")
        .1
        .at;
    let waited = stopped - killed;
    assert!((29.0..31.0).contains(&waited.as_secs_f64()), "{waited:?}");
    assert_eq!(pair.media_since(End::A, stopped), 0);
    assert_eq!(pair.session(End::A).next_departure(pair.now), None);
    assert!(pair.session(End::A).statistics().nofeedback_expiries > 3);
}

#[test]
fn sender_resumes_when_receiver_returns_with_another_source() {
    let mut pair = Pair::one_way();
    pair.run(secs(2));
    pair.kill(End::B);
    pair.run(secs(12));
    pair.restart(End::B, End::B.receiver(77));
    let returned = pair.now;
    pair.run(secs(15));
    assert!(
        pair.kinds(End::A)
            .any(|kind| matches!(kind, EventKind::PeerChanged { .. }))
    );
    assert!(pair.media_since(End::A, returned) > 1_000);
    assert!(!pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
}

#[test]
fn the_receiver_follows_a_sender_that_was_restarted() {
    let mut pair = Pair::one_way();
    pair.run(secs(2));
    pair.kill(End::A);
    pair.run(Duration::from_millis(2_100));
    pair.restart(End::A, End::A.sender(78));
    let before = pair.session(End::B).statistics().packets_received;
    pair.run(secs(2));
    assert!(pair.session(End::B).statistics().packets_received > before + 100);
    // The gap between the two random sequence numbers is no loss.
    assert!(pair.session(End::B).statistics().packets_lost < 100);
}

#[test]
fn bye_is_sent_once_and_makes_peer_probe() {
    let mut pair = Pair::one_way();
    pair.run(secs(2));
    let now = pair.now;
    pair.session_mut(End::B).close(now);
    pair.run(secs(1));
    assert_eq!(
        pair.kinds(End::A)
            .filter(|k| *k == EventKind::PeerLeft)
            .count(),
        1
    );
    let since = pair.now;
    pair.run(secs(10));
    assert!((1..=10).contains(&pair.media_since(End::A, since)));
    let last = pair.log.iter().rfind(|sent| sent.from == End::B).unwrap();
    assert!(
        Packets::parse(&last.bytes)
            .unwrap()
            .any(|packet| matches!(packet, Ok(Packet::Bye(_))))
    );
    // The receiver's other self takes over at once.
    pair.restart(End::B, End::B.receiver(79));
    pair.run(secs(30));
    assert!(pair.media_since(End::A, since) > 1_000);
}

#[test]
fn abandoned_call_resumes_when_the_peer_is_heard() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    pair.run(secs(2));
    let b = pair.sessions.remove(&End::B).unwrap();
    pair.run(secs(40));
    assert!(pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
    let returned = pair.now;
    pair.sessions.insert(End::B, b);
    pair.restart(End::B, End::B.caller(80));
    pair.run(secs(5));
    assert!(pair.kinds(End::A).any(|kind| kind == EventKind::Returned));
    assert!(pair.media_since(End::A, returned) > 500);
    assert!(pair.media_since(End::B, returned) > 500);
}

#[test]
fn lost_feedback_slows_sender_until_it_returns() {
    let mut pair = Pair::one_way();
    pair.run(secs(1));
    let fast = pair.session(End::A).path().unwrap().allowed_rate;
    pair.drops = Box::new(|sent| !sent.is_media);
    pair.run(secs(1));
    let slow = pair.session(End::A).path().unwrap().allowed_rate;
    assert!(slow / fast < 0.2, "{slow} {fast}");
    pair.drops = Box::new(|_| false);
    pair.run(secs(10));
    assert!(pair.session(End::A).path().unwrap().allowed_rate / fast > 0.5);
}

#[test]
fn fixed_rate_is_kept_without_feedback() {
    let mut config = End::A.sender(1);
    if let Some(send) = &mut config.send {
        send.fixed_rate = Some(Rate::from_bits_per_sec(960_000.0));
    }
    let mut pair = Pair::new(config, End::B.receiver(2));
    pair.kill(End::B);
    pair.run(secs(60));
    // 960 kb/s of 1,200 bytes: a hundred packets a second.
    let sent = pair.session(End::A).statistics().packets_sent;
    assert!((5_990..=6_002).contains(&sent), "{sent}");
    assert!(!pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
}
