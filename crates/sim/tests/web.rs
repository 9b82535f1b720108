//! Short connections in a network.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_link::{LinkConfig, Loss, QueueLimit, Random};
use evenkeel_sim::{
    Access, End, Fetches, GapFrom, Outcome, Shape, Simulation, Traffic, WebConfig, WebReceiver,
    WebSender,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What `config` fetches until it ends, over 10 Mb/s and a round trip of 40 ms.
fn run(config: &WebConfig, loss: Loss) -> Fetches {
    let link = LinkConfig {
        rate: Rate::from_bits_per_sec(10e6),
        delay: Duration::from_millis(20),
        queue: QueueLimit::Packets(100),
        loss,
        ..LinkConfig::default()
    };
    let access = LinkConfig {
        rate: Rate::from_bits_per_sec(1e9),
        ..LinkConfig::default()
    };
    let shape = Shape::dumbbell([link; 2], [Access::even(access)]).unwrap();
    let mut sim = Simulation::new(&shape.topology, 1);
    let flow = sim.add_flow(
        &shape.places[0].forward,
        &shape.places[0].reverse,
        Traffic::from(WebSender::new(config.clone(), Random::new(1, 0)).unwrap()),
        Traffic::from(WebReceiver::new(config).unwrap()),
    );
    let outcome = sim.run_until(config.stop + Duration::from_secs(10_000));
    assert!(
        matches!(outcome, Outcome::NothingLeft { .. }),
        "{outcome:?}"
    );
    match sim.agent(flow, End::Sender) {
        Traffic::WebSender(sender) => sender.fetches(),
        other => panic!("no server: {other:?}"),
    }
}

#[test]
fn a_reader_fetches_a_file_every_ten_seconds_and_the_time_it_takes() {
    let config = WebConfig {
        stop: Instant::from_secs(20_000),
        ..WebConfig::default()
    };
    let fetches = run(&config, Loss::None);
    assert_eq!(fetches.finished, fetches.started);
    // Windows of 4, 6, 9 and 13 packets and so on: four or five round trips for 30 to 50 packets.
    let mean = fetches.time_sum / fetches.finished as u32;
    assert!(
        mean > Duration::from_millis(160) && mean < Duration::from_millis(320),
        "{mean:?}"
    );
    let expected = 20_000.0 / (10.0 + mean.as_secs_f64());
    let ratio = fetches.finished as f64 / expected;
    assert!((0.95..1.05).contains(&ratio), "{fetches:?}");
    let file = fetches.data.as_f64() / fetches.finished as f64;
    assert!((39_500.0..40_500.0).contains(&file), "{file}");
}

#[test]
fn files_arrive_at_random_times_with_the_load_that_was_asked_for() {
    // 20 % of 10 Mb/s in files of 40 KB.
    let config = WebConfig {
        gap: Duration::from_millis(160),
        gap_from: GapFrom::Start,
        stop: Instant::from_secs(1_000),
        ..WebConfig::default()
    };
    let fetches = run(&config, Loss::None);
    assert_eq!((fetches.finished, fetches.refused), (fetches.started, 0));
    let load = fetches.data.as_f64() * 8.0 / 1_000.0 / 10e6;
    assert!((0.19..0.21).contains(&load), "{load}");
}

#[test]
fn thirty_files_at_a_time_arrive_whole_over_a_bad_path() {
    let config = WebConfig {
        burst: 30,
        file: [Bytes::new(40_000); 2],
        stop: Instant::from_secs(300),
        ..WebConfig::default()
    };
    let fetches = run(&config, Loss::Bernoulli(0.05));
    assert_eq!(fetches.started % 30, 0);
    assert!(fetches.started > 300, "{fetches:?}");
    assert_eq!(fetches.finished, fetches.started);
    assert_eq!(fetches.data.get(), 40_000 * fetches.finished);
}
