//! How a connection ends, and what may not end it.

use super::*;

fn is_dtls(datagram: &[u8]) -> bool {
    matches!(datagram[0], 20..=63)
}

fn is_secured(event: &SecureEvent) -> bool {
    matches!(event, SecureEvent::Secured(_))
}

fn has_failed(event: &SecureEvent) -> bool {
    matches!(event, SecureEvent::Failed(_))
}

/// A joiner that stops within its handshake, again and again, keeps nobody else from joining.
#[test]
fn forgotten_peer_makes_room_for_the_next() {
    let mut world = World::new(None);
    for _ in 0..3 {
        world.run(Duration::from_secs(40), |datagram| {
            let passes = !is_dtls(datagram);
            passes.then(|| datagram.to_vec()).into_iter().collect()
        });
        assert!(world.events[1].drain(..).any(|event| has_failed(&event)));
        let now = world.now;
        world.ends[1].forget_peer(now);
        world.restart(0);
    }
    world.run(Duration::from_secs(5), pass);
    assert!(
        world
            .events
            .iter()
            .all(|events| events.iter().any(is_secured))
    );
    assert!((0..2).all(|end| world.heard(end).len() > 100));
}

#[test]
fn end_that_leaves_tells_its_peer() {
    for own in 0..2 {
        let mut world = World::new(None);
        world.run(Duration::from_secs(2), pass);
        let now = world.now;
        world.ends[own].close(now);
        world.run(Duration::from_secs(1), pass);
        let closed = world.events[1 - own].iter();
        let closed = closed.filter(|event| **event == SecureEvent::Closed);
        assert_eq!(closed.count(), 1, "{:?}", world.events[1 - own]);
    }
}

/// Anyone can send records of DTLS in the peer's name.
#[test]
fn forged_records_end_no_secured_connection() {
    let mut world = World::new(None);
    let mut flights = Vec::new();
    world.run(Duration::from_secs(2), |datagram| {
        flights.extend(Some(datagram.to_vec()).filter(|datagram| is_dtls(datagram)));
        pass(datagram)
    });
    let alert = |level, description| {
        vec![
            21,
            254,
            253,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            9,
            0,
            2,
            level,
            description,
        ]
    };
    flights.extend([
        alert(1, 0),
        alert(2, 40),
        vec![22; 40],
        vec![63; 3],
        vec![20],
    ]);
    for n in 0..flights.len() {
        let mut damaged = flights[n].clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        flights.push(damaged);
    }
    for payload in &flights {
        for own in 0..2 {
            let datagram = Datagram {
                source: world.addresses[1 - own],
                arrival: world.now,
                ecn: Ecn::NotEct,
                payload,
            };
            let now = world.now;
            world.ends[own].handle_datagram(now, datagram);
        }
    }
    world.run(Duration::from_secs(2), pass);
    for events in &world.events {
        let ended = |event: &SecureEvent| *event == SecureEvent::Closed || has_failed(event);
        assert!(!events.iter().any(ended), "{events:?}");
    }
    assert!((0..2).all(|end| world.heard(end).len() > 170));
}

/// The joiner's next process has the same secret, as anyone has who reads the line later.
#[test]
fn joiner_that_begins_again_finds_the_invitation_used() {
    let mut world = World::new(None);
    world.run(Duration::from_secs(2), pass);
    let heard = world.heard(1).len();
    world.restart(0);
    world.events[0].clear();
    world.run(Duration::from_secs(60), pass);
    assert!(!world.events[0].iter().any(is_secured));
    assert!(world.events[0].iter().any(has_failed));
    let secured = world.events[1].iter().filter(|event| is_secured(event));
    assert_eq!(secured.count(), 1);
    // What was under way arrives.
    assert!(world.heard(1).len() <= heard + 2);
}
