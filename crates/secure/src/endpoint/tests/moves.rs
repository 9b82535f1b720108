//! Where packets go when the peer moves, or somebody else says that it did.

use super::*;

fn is_request(datagram: &[u8]) -> bool {
    datagram.starts_with(&[0, 1])
}

/// Returns how many packets each end hears in the next second.
fn heard_in_a_second(world: &mut World) -> [usize; 2] {
    let before = [0, 1].map(|end| world.heard(end).len());
    world.run(Duration::from_secs(1), pass);
    [0, 1].map(|end| world.heard(end).len() - before[end])
}

fn is_talking(world: &mut World) -> bool {
    heard_in_a_second(world).iter().all(|packets| *packets > 45)
}

fn secured() -> World {
    let mut world = World::new(None);
    world.run(Duration::from_secs(2), pass);
    assert!(is_talking(&mut world));
    world
}

/// The peer's socket has another address from one packet to the next, as when a phone leaves its Wi-Fi. Nobody says so, and the
/// next check may be three seconds away.
#[test]
fn call_goes_on_within_a_second_of_a_move() {
    for mover in 0..2 {
        for steps in 0..6 {
            let mut world = secured();
            world.run(steps * Duration::from_millis(500), pass);
            world.addresses[mover] = address("192.0.2.200:7000");
            world.run(Duration::from_secs(1), pass);
            assert!(is_talking(&mut world), "end {mover}, {steps}");
        }
    }
}

#[test]
fn call_goes_on_after_twenty_seconds_of_suspension() {
    for mover in 0..2 {
        let mut world = secured();
        world.run(Duration::from_secs(20), |_| Vec::new());
        world.addresses[mover] = address("192.0.2.200:7000");
        world.run(Duration::from_secs(4), pass);
        assert!(is_talking(&mut world), "end {mover}");
    }
}

/// An end that learns of its new address asks from there, and keeps its keys.
#[test]
fn changed_address_is_announced_by_checks() {
    for mover in 0..2 {
        let mut world = secured();
        let moved = address("192.0.2.200:7000");
        world.addresses[mover] = moved;
        let now = world.now;
        world.ends[mover].change_addresses(now, vec![host(moved)]);
        world.run(Duration::from_secs(2), pass);
        assert!(is_talking(&mut world), "end {mover}");
        let secured = |event: &&SecureEvent| matches!(event, SecureEvent::Secured(_));
        assert_eq!(world.events[mover].iter().filter(secured).count(), 1);
    }
}

/// Whoever has the credentials can nominate a pair, and has no keys.
#[test]
fn nominated_pair_draws_no_media_without_keys() {
    let mut world = secured();
    let thief = address("192.0.2.77:7777");
    let own = world.addresses[1];
    let path = IcePath {
        source: own,
        destination: thief,
    };
    let now = world.now;
    assert!(!world.ends[1].path.propose(now, path));
    world.run(Duration::from_secs(10), pass);
    assert!(is_talking(&mut world));
    // Probes of 36 bytes, 10 a second at first.
    assert!(
        (20..50).contains(&world.strayed.len()),
        "{}",
        world.strayed.len()
    );
    for (destination, probe) in &world.strayed {
        assert!(*destination == thief && probe.len() <= 40 && is_rtcp(probe));
    }
    let moved = |event: &SecureEvent| *event == SecureEvent::PeerAddress(thief);
    assert!(!world.events[1].iter().any(moved));
}

/// A check that is repeated from elsewhere is authentic, and proves nothing.
#[test]
fn repeated_checks_keep_no_new_address_out() {
    let mut world = World::new(None);
    let mut checks = Vec::new();
    world.run(Duration::from_secs(2), |datagram| {
        checks.extend(Some(datagram.to_vec()).filter(|datagram| is_request(datagram)));
        pass(datagram)
    });
    for port in 1..1_000 {
        for payload in &checks {
            let datagram = Datagram {
                source: SocketAddr::new([198, 18, 0, 1].into(), port),
                arrival: world.now,
                ecn: Ecn::NotEct,
                payload,
            };
            let now = world.now;
            world
                .ends
                .iter_mut()
                .for_each(|end| end.handle_datagram(now, datagram));
        }
    }
    for end in &world.ends {
        assert!(end.ice.remote_candidates().count() <= 100);
    }
    world.run(Duration::from_secs(10), pass);
    assert!(is_talking(&mut world));
    world.addresses[0] = address("192.0.2.200:7000");
    world.run(Duration::from_secs(8), pass);
    assert!(is_talking(&mut world));
}

/// Checks of the peer pass and its answers do not: nothing shows that the peer still wants packets (RFC 7675 §5.1).
#[test]
fn media_stop_thirty_seconds_after_the_last_answer() {
    let mut world = secured();
    let mut media = [0; 2];
    let mut deaf = |world: &mut World, secs, count: usize| {
        world.run(Duration::from_secs(secs), |datagram| {
            media[count] += usize::from(is_media(datagram));
            if datagram.starts_with(&[1, 1]) {
                return Vec::new();
            }
            pass(datagram)
        });
    };
    deaf(&mut world, 34, 0);
    deaf(&mut world, 20, 1);
    assert!(media[0] > 2_000, "{media:?}");
    assert_eq!(media[1], 0);
    let gone = |event: &SecureEvent| *event == SecureEvent::Disconnected;
    assert!(world.events.iter().all(|events| events.iter().any(gone)));
    world.run(Duration::from_secs(5), pass);
    assert!(is_talking(&mut world));
}
