//! Which pairs of NATs two ends get through, and by what means.

use std::time::Duration;

use crate::nat::{FULL_CONE, NatKind, PORT_RESTRICTED_CONE, RESTRICTED_CONE, SYMMETRIC};
use crate::world::{Place, World, behind};

/// Runs two ends for 10 s. Returns whether they talk, and the bytes that peers sent to the relay.
fn talk(nats: [NatKind; 2], has_account: bool) -> (bool, usize) {
    let mut places = nats.map(behind);
    places[0].has_account = has_account;
    let mut world = World::new(places);
    world.run(Duration::from_secs(10));
    (world.is_talking(), world.server.relayed)
}

#[test]
fn cones_need_no_relay() {
    let cones = [FULL_CONE, RESTRICTED_CONE, PORT_RESTRICTED_CONE];
    for first in cones {
        for second in cones {
            let (talks, _) = talk([first, second], false);
            assert!(talks, "{first:?} {second:?}");
        }
    }
}

/// The port that a symmetric NAT uses towards the peer is known to nobody before the first check arrives from it.
#[test]
fn symmetric_nat_reaches_a_cone_without_relay() {
    for cone in [FULL_CONE, RESTRICTED_CONE] {
        for nats in [[SYMMETRIC, cone], [cone, SYMMETRIC]] {
            let (talks, _) = talk(nats, false);
            assert!(talks, "{nats:?}");
        }
    }
}

#[test]
fn two_symmetric_nats_need_the_relay() {
    for second in [SYMMETRIC, PORT_RESTRICTED_CONE] {
        for nats in [[SYMMETRIC, second], [second, SYMMETRIC]] {
            assert_eq!(talk(nats, false), (false, 0), "{nats:?}");
            let (talks, relayed) = talk(nats, true);
            assert!(talks && relayed > 4_000, "{nats:?}: {relayed} bytes");
        }
    }
}

#[test]
fn relay_is_left_where_a_direct_path_exists() {
    let mut places = [behind(FULL_CONE), behind(FULL_CONE)];
    places[0].has_account = true;
    places[1].has_account = true;
    let mut world = World::new(places);
    world.run(Duration::from_secs(10));
    let before = world.heard(0) + world.heard(1);
    let relayed = world.server.relayed;
    world.run(Duration::from_secs(10));
    assert!(world.heard(0) + world.heard(1) - before > 380);
    // Checks of the pairs that are not used go on.
    let checks = world.server.relayed - relayed;
    assert!(checks < 5_000, "{checks} bytes");
}

/// Permission, channel and allocation live for 5, 10 and at most 30 minutes unless they are refreshed.
#[test]
fn relayed_call_outlives_what_the_relay_grants() {
    let mut places = [behind(SYMMETRIC), behind(SYMMETRIC)];
    places[0].has_account = true;
    let mut world = World::new(places);
    for minute in 1..=35 {
        world.run(Duration::from_secs(60));
        assert!(world.is_talking(), "after {minute} min");
    }
    // But for the first, the packets take four bytes more, not 36.
    assert!(world.server.in_channels > 34 * 60 * 20);
    let heard = world.heard(0).min(world.heard(1));
    assert!(heard > 34 * 60 * 20, "{heard} packets");
}

#[test]
fn relay_that_forgets_its_clients_is_asked_again() {
    let mut places = [behind(SYMMETRIC), behind(SYMMETRIC)];
    places[0].has_account = true;
    let mut world = World::new(places);
    world.run(Duration::from_secs(10));
    assert!(world.is_talking());
    world.server.restart();
    // A permission is refreshed after four minutes.
    world.run(Duration::from_secs(6 * 60));
    assert!(world.is_talking());
}

#[test]
fn end_without_nat_needs_no_server() {
    let place = Place {
        nat: None,
        has_account: false,
    };
    let mut world = World::new([place, behind(SYMMETRIC)]);
    world.run(Duration::from_secs(10));
    assert!(world.is_talking());
}
