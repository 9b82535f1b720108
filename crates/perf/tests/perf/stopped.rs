//! A receiver that is stopped for a part of each second costs no rate.

use std::time::Duration;

use evenkeel_link::{LinkConfig, QueueLimit};
use evenkeel_perf::{Limits, Terms};

use crate::world::{World, mbps, terms};

#[test]
fn a_receiver_without_its_processor_for_200_ms_a_second_costs_no_rate() {
    // The thesis (§4.1.5) saw the rate fall to a few kB/s.
    let terms = Terms {
        rate: Some(mbps(10.0)),
        duration: Duration::from_secs(20),
        ..terms()
    };
    let mut world = World::with(terms);
    world.run_for(Duration::from_secs(2));
    let mut sent = Vec::new();
    for _ in 0..15 {
        let before = world
            .client
            .flows()
            .map(|flow| flow.count.bytes_sent)
            .sum::<u64>();
        world.server_is_stopped = true;
        world.run_for(Duration::from_millis(200));
        world.server_is_stopped = false;
        world.run_for(Duration::from_millis(800));
        let after = world
            .client
            .flows()
            .map(|flow| flow.count.bytes_sent)
            .sum::<u64>();
        sent.push((after - before) as f64 * 8.0);
    }
    assert!(sent.iter().all(|rate| *rate > 9e6), "{sent:?}");
}

/// Where TFRC itself sets the rate, what the nofeedback timer does shows: reports are missing for 200 ms and up to a
/// round trip more, longer than four of 52 ms, and X is halved until the next one. A floor outlasts that.
#[test]
fn a_floor_under_the_timer_keeps_x_on_a_full_link_while_its_receiver_is_stopped() {
    let link = LinkConfig {
        rate: mbps(10.0),
        delay: Duration::from_millis(25),
        queue: QueueLimit::Time(Duration::from_millis(10)),
        ..LinkConfig::default()
    };
    let deepest_dip = |floor| {
        let terms = Terms {
            rate: None,
            min_nofeedback: Duration::from_millis(floor),
            duration: Duration::from_secs(40),
            ..terms()
        };
        let mut world = World::new(terms, Limits::default(), link);
        world.run_for(Duration::from_secs(15));
        let allowed = |world: &World| {
            let paths = world.client.flows().filter_map(|flow| flow.path);
            let rates = paths.map(|path| path.allowed_rate.bits_per_sec());
            rates.sum::<f64>()
        };
        let mut dip = 0.0_f64;
        for _ in 0..20 {
            world.server_is_stopped = true;
            // A report that is under way still comes, and says what it says.
            world.run_for(Duration::from_millis(30));
            let before = allowed(&world);
            world.run_for(Duration::from_millis(170));
            world.server_is_stopped = false;
            // Just before its next report is here.
            world.run_for(Duration::from_millis(24));
            dip = dip.max(1.0 - allowed(&world) / before);
            world.run_for(Duration::from_millis(776));
        }
        dip
    };
    assert_eq!(deepest_dip(300), 0.0);
    let dip = deepest_dip(20);
    assert!((0.4..=0.5).contains(&dip), "{dip}");
}
