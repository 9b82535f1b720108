//! TFRC flows: with bytes and without them the same, and the same on every run.

use evenkeel_link::{Discipline, GilbertElliott, LinkConfig, Loss, QueueLimit, Random, RedConfig};
use evenkeel_rtp::session::ReceiveConfig;
use evenkeel_sim::{
    Access, Agent, Body, End, FeedbackMode, FlowId, Law, Observer, Outcome, Packet, Pattern,
    RapReceiver, RapSender, Rtcp, SessionEnd, Shape, Simulation, Sink, Source, TearReceiver,
    TearSender, TfrcConfig, TfrcReceiver, TfrcSender, Traffic,
};
use tfrc::ReceiverConfig;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

const PACKET: Bytes = Bytes::new(1_000);
const PAYLOAD_TYPE: u8 = 96;

/// When media left and arrived.
#[derive(Debug, Default, PartialEq)]
struct Media(Vec<(Instant, End)>);

impl Observer<Traffic> for Media {
    fn sent(&mut self, now: Instant, _: FlowId, end: End, packet: &Packet<Body>) {
        if packet.size == PACKET {
            self.0.push((now, end));
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        self.sent(now, flow, end, packet);
    }
}

fn config() -> TfrcConfig {
    TfrcConfig {
        packet_size: PACKET,
        ..TfrcConfig::default()
    }
}

/// How a session computes p.
fn estimator() -> ReceiverConfig {
    ReceiveConfig::new(PAYLOAD_TYPE).tfrc
}

/// Two sessions that exchange bytes.
fn sessions(feedback: FeedbackMode) -> [Traffic; 2] {
    SessionEnd::pair(&config(), &estimator(), feedback, Rtcp::default(), 1).map(Traffic::from)
}

/// The same flow without bytes.
fn sizes() -> [Traffic; 2] {
    [
        TfrcSender::new(config()).into(),
        TfrcReceiver::new(estimator()).into(),
    ]
}

fn path() -> Shape {
    let link = LinkConfig {
        rate: Rate::from_bits_per_sec(2e6),
        delay: Duration::from_millis(25),
        queue: QueueLimit::Packets(20),
        ..LinkConfig::default()
    };
    Shape::dumbbell([link; 2], [Access::even(LinkConfig::default())]).expect("valid")
}

/// The times of all media, and X at the end.
fn run([sender, receiver]: [Traffic; 2], loss: Loss) -> (Media, Rate) {
    let shape = path();
    let mut sim = Simulation::new(&shape.topology, 7);
    let place = &shape.places[0];
    let flow = sim.add_flow(&place.forward, &place.reverse, sender, receiver);
    let mut media = Media::default();
    // Not before the first RTCP compound, which only one of the two has, is through.
    sim.run_observed(Instant::from_secs(1), &mut media);
    sim.set_loss(shape.bottlenecks[0][0], loss);
    let outcome = sim.run_observed(Instant::from_secs(60), &mut media);
    assert_eq!(outcome, Outcome::Reached);
    let allowed = match sim.agent(flow, End::Sender) {
        Traffic::SessionEnd(end) => end.session().path().expect("it sends").allowed_rate,
        Traffic::TfrcSender(sender) => sender.sender().allowed_rate(),
        other => panic!("{other:?}"),
    };
    (media, allowed)
}

#[test]
fn a_flow_without_bytes_is_that_of_two_sessions() {
    let bursts = GilbertElliott {
        to_bad: 0.005,
        to_good: 0.5,
        good_loss: 0.0,
        bad_loss: 1.0,
    };
    for loss in [
        Loss::None,
        Loss::Bernoulli(0.01),
        Loss::GilbertElliott(bursts),
    ] {
        let (bytes, sizes) = (run(sessions(FeedbackMode::Tfrc), loss), run(sizes(), loss));
        assert!(bytes.0.0.len() > 5_000, "{}", bytes.0.0.len());
        let differs = bytes.0.0.iter().zip(&sizes.0.0).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{loss:?}");
        assert_eq!(bytes, sizes, "{loss:?}");
    }
}

/// What p is computed from, and where, changes the rate little.
#[test]
fn a_flow_that_computes_p_at_the_sender_is_as_fast() {
    for loss in [Loss::None, Loss::Bernoulli(0.01)] {
        let packets = |feedback| run(sessions(feedback), loss).0.0.len() as f64;
        let by_receiver = packets(FeedbackMode::Tfrc);
        for feedback in FeedbackMode::ALL {
            let ratio = packets(feedback) / by_receiver;
            assert!(
                (0.95..1.05).contains(&ratio),
                "{loss:?} {feedback:?}: {ratio}"
            );
        }
    }
}

/// All that happens, as text.
#[derive(Default)]
struct Transcript(String);

impl Observer<Traffic> for Transcript {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        use std::fmt::Write;
        writeln!(self.0, "{now} {flow:?} {end:?} {packet:?}").expect("text has room");
    }
}

fn transcript(seed: u64) -> String {
    let bottleneck = LinkConfig {
        rate: Rate::from_bits_per_sec(3e6),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Packets(40),
        discipline: Discipline::Red(RedConfig::between(5.0, 20.0)),
        loss: Loss::Bernoulli(0.002),
        ..LinkConfig::default()
    };
    let access = Access::even(LinkConfig {
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    });
    let shape = Shape::dumbbell([bottleneck; 2], [access; 3]).expect("valid");
    let mut sim = Simulation::new(&shape.topology, seed);
    let pattern = Pattern::OnOff {
        size: Bytes::new(500),
        rate: Rate::from_bits_per_sec(1e6),
        on: Law::Pareto {
            mean: 1.0,
            shape: 1.5,
        },
        off: Law::Exponential { mean: 0.5 },
    };
    let random = Random::new(seed, 100);
    let cross = Source::new(pattern, Instant::ZERO, Instant::MAX, random).expect("valid");
    let flows = [
        sessions(FeedbackMode::Tfrc),
        sizes(),
        [cross.into(), Sink::default().into()],
    ];
    for ([sender, receiver], place) in flows.into_iter().zip(&shape.places) {
        sim.add_flow(&place.forward, &place.reverse, sender, receiver);
    }
    let mut transcript = Transcript::default();
    sim.run_observed(Instant::from_secs(5), &mut transcript);
    transcript.0
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = transcript(1);
    assert!(first.len() > 100_000);
    assert!(first == transcript(1));
    assert!(first != transcript(2));
}

#[test]
fn a_run_that_nothing_can_happen_in_says_so() {
    let shape = path();
    let mut sim = Simulation::new(&shape.topology, 1);
    let pattern = Pattern::Constant {
        size: PACKET,
        rate: Rate::from_bits_per_sec(8e4),
    };
    let stop = Instant::from_secs(1);
    let source = Source::new(pattern, Instant::ZERO, stop, Random::new(1, 1)).expect("valid");
    let place = &shape.places[0];
    let flow = sim.add_flow(
        &place.forward,
        &place.reverse,
        source.into(),
        Sink::default().into(),
    );
    let outcome = sim.run_until(Instant::from_secs(60));
    // The tenth packet leaves at 0.9 s, is on the wire for 4 ms and under way for 25.
    let at = Instant::from_millis(929);
    assert_eq!(outcome, Outcome::NothingLeft { at });
    match sim.agent(flow, End::Receiver) {
        Traffic::Sink(sink) => {
            assert_eq!((sink.packets(), sink.missing()), (10, 0));
            assert_eq!(sink.max_delay(), Duration::from_millis(29));
        }
        other => panic!("{other:?}"),
    }
}

/// An agent that never lets time pass.
#[derive(Debug)]
struct Restless;

impl Agent for Restless {
    type Body = ();

    fn handle_packet(&mut self, _: Instant, _: &Packet<()>) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<()>> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(Instant::from_secs(1))
    }
}

#[test]
fn an_agent_that_holds_time_up_is_named() {
    let shape = path();
    let mut sim = Simulation::new(&shape.topology, 1);
    let place = &shape.places[0];
    let flow = sim.add_flow(&place.forward, &place.reverse, Restless, Restless);
    let at = Instant::from_secs(1);
    let outcome = sim.run_until(Instant::from_secs(2));
    assert_eq!(outcome, Outcome::TimeStandsStill { at, flow });
}

#[test]
fn a_report_after_a_flow_has_stopped_does_not_hold_time_up() {
    let shape = path();
    for stop in (1..40).map(|n| Instant::from_millis(n * 10)) {
        let config = TfrcConfig {
            stop: Some(stop),
            ..config()
        };
        let header = Bytes::new(40);
        let pair = |feedback| {
            let ends = SessionEnd::pair(&config, &estimator(), feedback, Rtcp::default(), 1);
            ends.map(Traffic::from)
        };
        let flows: [[Traffic; 2]; 5] = [
            pair(FeedbackMode::Tfrc),
            pair(FeedbackMode::Sack),
            [
                TfrcSender::new(config).into(),
                TfrcReceiver::new(estimator()).into(),
            ],
            [
                RapSender::new(PACKET, Instant::ZERO, stop).into(),
                RapReceiver::new(header).into(),
            ],
            [
                TearSender::new(PACKET, Instant::ZERO, stop).into(),
                TearReceiver::new(header).into(),
            ],
        ];
        for [sender, receiver] in flows {
            let mut sim = Simulation::new(&shape.topology, 7);
            let place = &shape.places[0];
            sim.add_flow(&place.forward, &place.reverse, sender, receiver);
            let outcome = sim.run_until(Instant::from_secs(3));
            let held_up = matches!(outcome, Outcome::TimeStandsStill { .. });
            assert!(!held_up, "{outcome:?}, stopped at {stop:?}");
        }
    }
}
