//! Receivers that say BYE and begin again under another name.

mod world;

use std::time::Duration;

use crate::pair::PAYLOAD_TYPE;
use evenkeel_rtp::session::{Lie, SendConfig};
use world::World;

const FIRST: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(3);
/// More than any receiver's report can speak of that has come.
const UNSENT: u64 = 50;

#[test]
fn an_honest_receiver_that_begins_again_is_served_as_before() {
    let mut world = World::new();
    let before = world.run(7, FIRST);
    world.leave(7);
    let packets = world.run(8, FIRST);
    assert!(2 * packets > before, "{packets} packets after {before}");
    assert_eq!(world.accused, []);
}

#[test]
fn honest_successor_of_a_liar_is_served() {
    let mut world = World::new();
    let before = world.run(7, FIRST);
    world.report(7, UNSENT);
    world.report(7, UNSENT + 1);
    assert_eq!(world.accused, [(7, Lie::NeverSent, false)]);
    world.leave(7);
    // The test of the newcomer slows its start.
    let packets = world.run(8, LATER);
    assert!(2 * packets > before, "{packets} packets after {before}");
    assert_eq!(world.accused.len(), 1);
}

#[test]
fn liar_under_another_name_is_caught_by_its_first_reports() {
    let mut world = World::lossy(true, 1);
    world.run(7, FIRST);
    world.report(7, UNSENT);
    world.report(7, UNSENT + 1);
    for ssrc in 8..12 {
        world.leave(ssrc - 1);
        world.told_from = u64::from(world.session.next_sequence());
        let packets = world.run_hiding(ssrc, 4 * LATER);
        println!("{packets} packets to receiver {ssrc}");
        assert!(packets < 60, "{packets} packets to receiver {ssrc}");
        assert_eq!(world.accused.last(), Some(&(ssrc, Lie::NeverSent, true)));
    }
}

#[test]
fn lies_are_counted_over_all_names() {
    let mut world = World::new();
    world.run(7, FIRST);
    world.report(7, UNSENT);
    assert_eq!(world.accused, []);
    world.leave(7);
    world.run(8, FIRST);
    world.report(8, UNSENT);
    assert_eq!(world.accused, [(8, Lie::NeverSent, false)]);
}

#[test]
fn a_round_trip_that_cannot_be_checked_begins_no_second_flight() {
    let mut world = World::new();
    let first = world.claim_no_way(7, FIRST);
    assert!(first > 20, "{first} packets");
    world.leave(7);
    // RFC 5348 begins with one in a second.
    let second = world.claim_no_way(8, FIRST);
    assert!(second <= 2, "{second} packets after {first}");
}

const LONG: Duration = Duration::from_secs(60);

/// One packet in a hundred is lost and the round trip is 100 ms: X is about 110 packets a second.
#[test]
fn who_leaves_before_each_loss_is_told_gets_no_slow_start_after_another() {
    for verify in [false, true] {
        let honest = World::lossy(verify, 1).run(7, LONG);
        let leaving = World::lossy(verify, 1).run_leaving(7, LONG);
        let gain = leaving as f64 / honest as f64 - 1.0;
        println!("{honest} packets, {leaving} to who leaves");
        assert!(gain <= 0.05, "verify: {verify}, {gain}");
    }
}

/// What an honest receiver loses that is restarted: a loss event, and the time that X takes to double.
#[test]
fn a_receiver_that_is_restarted_once_has_the_rate_of_one_that_stayed() {
    for seed in 1..=2 {
        let stayed = World::lossy(true, seed).run(7, LONG * 2);
        let mut world = World::lossy(true, seed);
        world.run(7, LONG);
        let before = world.sent.len();
        world.leave(7);
        world.told_from = u64::from(world.session.next_sequence());
        world.run(8, LONG);
        let share = world.sent.len() as f64 / stayed as f64;
        println!("{share} of {stayed} packets, {before} before");
        assert!((0.98..1.01).contains(&share), "{share}");
    }
}

#[test]
fn what_a_path_bore_is_forgotten_after_five_minutes() {
    let after = |pause: Duration| {
        let mut world = World::lossy(true, 1);
        world.run(7, LONG);
        world.leave(7);
        world.now += pause;
        world.send();
        world.report_reception(8);
        world.is_lossy = false;
        world.told_from = u64::from(world.session.next_sequence());
        world.run(8, LATER)
    };
    let (soon, late) = (
        after(Duration::from_secs(290)),
        after(Duration::from_secs(310)),
    );
    println!("{soon} packets soon, {late} late");
    assert!(late > 2 * soon, "{late} packets after {soon}");
}

/// A receiver that sends no feedback is served by its reception reports, which then count for nothing.
#[test]
fn a_receiver_that_is_caught_without_feedback_is_not_served_by_its_reception_reports() {
    let packets = |lies| {
        let send = SendConfig {
            fallback: true,
            ..SendConfig::new(PAYLOAD_TYPE)
        };
        let mut world = World::of(send, 1);
        world.claim_no_way(7, LATER);
        if lies {
            world.claim_unsent(7, 1);
            world.claim_unsent(7, 2);
        }
        let accused = [(7, Lie::NeverSent, false)];
        assert_eq!(world.accused, accused[..usize::from(lies)]);
        world.claim_no_way(7, LATER)
    };
    let (honest, caught) = (packets(false), packets(true));
    println!("{honest} packets, {caught} when caught");
    assert!(
        honest > 30 && caught < 10,
        "{honest} packets, {caught} when caught"
    );
}
