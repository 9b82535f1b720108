//! Whole calls in a simulated network.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_codec::source::{Format, FrameRate, Scene};
use evenkeel_link::{LinkConfig, QueueLimit, Random};
use evenkeel_media::report::Summary;
use evenkeel_sim::{
    Access, End, MediaEnd, Outcome, Pictures, Shape, Shooting, Simulation, Traffic,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;
use tfrc::{SenderConfig, Standard};

const SECONDS: u64 = 40;

fn format() -> Format {
    Format {
        width: 176,
        height: 144,
        frame_rate: FrameRate::new(25, 1).unwrap(),
    }
}

fn coded() -> Pictures {
    Pictures::Coded(Box::new(Scene::new(format(), 1).unwrap()))
}

fn sizes() -> Pictures {
    Pictures::Sizes(format(), Random::new(1, 0))
}

fn shooting() -> Shooting {
    Shooting {
        start: Instant::from_secs(1),
        stop: Instant::from_secs(SECONDS),
        pause: None,
        most: Rate::from_bits_per_sec(1.5e6),
    }
}

/// What a call comes to over this path: mean rate of all that crossed, in Mb/s, and its figures.
fn call(pictures: Pictures, shooting: Shooting, megabits: f64) -> (f64, Summary) {
    let link = LinkConfig {
        rate: Rate::from_bits_per_sec(megabits * 1e6),
        delay: Duration::from_millis(50),
        queue: QueueLimit::Time(Duration::from_millis(300)),
        ..LinkConfig::default()
    };
    let shape = Shape::dumbbell([link; 2], [Access::even(LinkConfig::default())]).unwrap();
    let mut sim = Simulation::new(&shape.topology, 1);
    let receiver = MediaEnd::receiver(
        shooting.start,
        Instant::from_secs(10),
        Standard::default(),
        2,
    );
    let flow = sim.add_flow(
        &shape.places[0].forward,
        &shape.places[0].reverse,
        Traffic::from(MediaEnd::sender(
            pictures,
            shooting,
            SenderConfig::default(),
            false,
            1,
        )),
        Traffic::from(receiver),
    );
    let outcome = sim.run_until(Instant::from_secs(SECONDS));
    assert_eq!(outcome, Outcome::Reached);
    let carried = sim.link(shape.bottlenecks[0][0]).counters().delivered.bytes;
    let span = Duration::from_secs(SECONDS - 1);
    let Traffic::MediaEnd(end) = sim.agent(flow, End::Receiver) else {
        panic!("no receiver");
    };
    (
        (carried / span).bits_per_sec() / 1e6,
        end.report().summary(),
    )
}

#[test]
fn a_call_fills_its_path_and_no_picture_is_missed() {
    let (rate, figures) = call(coded(), shooting(), 1.0);
    assert!((0.9..=1.0).contains(&rate), "{rate} Mb/s");
    // 30 seconds of 25 pictures.
    assert!(figures.frames_shown >= 740, "{figures:?}");
    assert!(figures.frames_concealed <= 15, "{figures:?}");
}

/// Not at 0.4 Mb/s: there it hangs on single bytes whether the deadline holds a call (0.33 Mb/s) or the
/// queue (0.39 Mb/s).
#[test]
fn frames_without_pictures_take_what_coded_ones_take() {
    for megabits in [0.5, 0.7, 1.0, 3.0] {
        let coded = call(coded(), shooting(), megabits);
        let sizes = call(sizes(), shooting(), megabits);
        assert!(
            (sizes.0 / coded.0 - 1.0).abs() < 0.03,
            "{coded:?} {sizes:?}"
        );
        let delay = |figures: Summary| figures.frame_delay_p50_ms.unwrap();
        let apart = delay(sizes.1) / delay(coded.1);
        assert!((apart - 1.0).abs() < 0.2, "{coded:?} {sizes:?}");
    }
}

#[test]
fn no_frame_exceeds_what_the_source_may_send() {
    let (rate, figures) = call(coded(), shooting(), 10.0);
    // 1.5 Mb/s coded; with the headers of some seven packets a frame.
    assert!((1.45..1.65).contains(&rate), "{rate} Mb/s");
    // Half the round trip, coding, decoding, a frame's time on the wire and playout.
    let delay = figures.frame_delay_p95_ms.unwrap();
    assert!((55.0..120.0).contains(&delay), "{delay} ms");
}

#[test]
fn a_paused_camera_shows_nothing_and_goes_on_as_before() {
    let pause = [20, 30].map(Instant::from_secs);
    let paused = Shooting {
        pause: Some(pause),
        ..shooting()
    };
    let [through, paused] = [shooting(), paused].map(|shooting| call(coded(), shooting, 3.0).1);
    let missing = through.frames_shown - paused.frames_shown;
    assert!((250..=255).contains(&missing), "{missing} frames");
}

#[test]
fn the_same_seed_gives_the_same_call() {
    let [first, second] = [(), ()].map(|()| call(coded(), shooting(), 0.7));
    assert_eq!(first, second);
}
