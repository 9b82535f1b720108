//! What a call survives: another network, a suspended peer, and a peer whose process began again.

use std::time::Duration;

use evenkeel_secure::endpoint::SecureEvent;

use crate::nat::{FULL_CONE, Nat, PORT_RESTRICTED_CONE, SYMMETRIC};
use crate::server::PASSWORD;
use crate::world::{World, address, behind, identity};

#[test]
fn call_goes_on_in_another_network() {
    let cones = [FULL_CONE, PORT_RESTRICTED_CONE].map(|nat| (nat, None));
    for (nat, password) in cones.into_iter().chain([(SYMMETRIC, Some(PASSWORD))]) {
        let mut places = [behind(nat), behind(nat)];
        places[0].password = password;
        let mut world = World::new(places);
        world.run(Duration::from_secs(10));
        assert!(world.is_talking());
        let mobile = Nat::new(nat, address("198.51.100.99:0").ip());
        let moved = address("10.20.30.40:5000");
        world.restart_ice(0, moved, Some(mobile));
        world.run(Duration::from_secs(2));
        assert!(world.is_talking());
        for host in &world.hosts {
            let secured = host.events.iter();
            let secured = secured.filter(|event| matches!(event, SecureEvent::Secured(_)));
            assert_eq!(secured.count(), 1, "the keys stay");
        }
    }
}

/// Nobody says anything of the new address: the checks tell it, and the old one is given up after 21 s without an answer.
#[test]
fn address_that_changes_unsaid_is_found() {
    for mover in 0..2 {
        let mut world = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
        world.run(Duration::from_secs(10));
        let mobile = Nat::new(FULL_CONE, address("198.51.100.99:0").ip());
        world.hosts[mover].nat = Some(mobile);
        world.run(Duration::from_secs(30));
        assert!(world.is_talking(), "end {mover}");
    }
}

/// The end that moves goes on sending at once, so the peer hears it without a gap that a person notices.
#[test]
fn restart_in_the_same_network_loses_nothing() {
    let mut world = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
    world.run(Duration::from_secs(10));
    let before = [world.heard(0), world.heard(1)];
    let nat = world.hosts[0].nat.take();
    world.restart_ice(0, world.hosts[0].address, nat);
    world.run(Duration::from_secs(10));
    for (own, before) in before.iter().enumerate() {
        let heard = world.heard(own) - before;
        assert!(heard >= 199, "{heard} packets");
    }
}

#[test]
fn suspended_peer_is_found_when_it_wakes() {
    for secs in [20, 90, 600] {
        let mut world = World::new([behind(PORT_RESTRICTED_CONE), behind(FULL_CONE)]);
        world.run(Duration::from_secs(10));
        world.hosts[1].is_asleep = true;
        world.run(Duration::from_secs(secs));
        assert!(!world.is_talking());
        world.hosts[1].is_asleep = false;
        world.run(Duration::from_secs(5));
        assert!(world.is_talking(), "after {secs} s of suspension");
    }
}

/// Both ends give up all pairs of addresses meanwhile.
#[test]
fn call_goes_on_after_the_path_was_cut() {
    for secs in [20, 90, 600] {
        let mut world = World::new([behind(PORT_RESTRICTED_CONE), behind(FULL_CONE)]);
        world.run(Duration::from_secs(10));
        world.is_cut = true;
        world.run(Duration::from_secs(secs));
        world.is_cut = false;
        world.run(Duration::from_secs(5));
        assert!(world.is_talking(), "after {secs} s");
    }
}

#[test]
fn suspended_end_behind_the_relay_is_found() {
    let mut places = [behind(SYMMETRIC), behind(SYMMETRIC)];
    places[1].password = Some(PASSWORD);
    for sleeper in 0..2 {
        let mut world = World::new(places);
        world.run(Duration::from_secs(10));
        world.hosts[sleeper].is_asleep = true;
        world.run(Duration::from_secs(20));
        world.hosts[sleeper].is_asleep = false;
        world.run(Duration::from_secs(5));
        assert!(world.is_talking(), "end {sleeper}");
    }
}

/// An end sends nothing more to a peer that gives no sign of life: consent ends (RFC 7675 §5.1).
#[test]
fn packets_stop_when_the_peer_is_gone() {
    let mut world = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
    world.run(Duration::from_secs(10));
    world.hosts[1].is_asleep = true;
    world.run(Duration::from_secs(45));
    let events = &world.hosts[0].events;
    let gone = events.iter();
    let gone = gone.filter(|event| **event == SecureEvent::Disconnected);
    assert_eq!(gone.count(), 1, "{events:?}");
    let sent = world.hosts[0].sent;
    world.run(Duration::from_secs(60));
    assert_eq!(world.hosts[0].sent, sent);
}

#[test]
fn new_process_needs_the_application_to_agree() {
    let mut world = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
    world.run(Duration::from_secs(10));
    let mut other = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
    // The new process has the old place, but other keys and credentials.
    std::mem::swap(&mut world.hosts[1].end, &mut other.hosts[1].end);
    let before = world.heard(0);
    world.run(Duration::from_secs(60));
    // What was on its way still arrives.
    assert!(world.heard(0) - before <= 2);
    assert_eq!(world.heard(1), 0);
    let known = other.identities[1].fingerprint();
    world.hosts[0].end.renew_association(known);
    let known = world.identities[0].fingerprint();
    world.hosts[1].end.renew_association(known);
    let nat = world.hosts[0].nat.take();
    world.restart_ice(0, world.hosts[0].address, nat);
    world.run(Duration::from_secs(5));
    assert!(world.is_talking());
}

#[test]
fn renewed_association_demands_the_new_fingerprint() {
    let mut world = World::new([behind(FULL_CONE), behind(FULL_CONE)]);
    world.run(Duration::from_secs(10));
    let stranger = identity().fingerprint();
    world.hosts[0].end.renew_association(stranger);
    let known = world.identities[0].fingerprint();
    world.hosts[1].end.renew_association(known);
    let nat = world.hosts[0].nat.take();
    world.restart_ice(0, world.hosts[0].address, nat);
    world.run(Duration::from_secs(10));
    assert!(!world.is_talking());
    let failed = |event: &SecureEvent| matches!(event, SecureEvent::Failed(_));
    world.run(Duration::from_secs(30));
    assert!(world.hosts[0].events.iter().any(failed));
}
