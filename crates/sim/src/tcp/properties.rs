//! Properties of any variant, on any path, with any settings.

use super::*;
use evenkeel_link::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

#[derive(Clone, Copy)]
enum Parcel {
    Segment(Segment),
    Ack(Ack),
}

/// What a path does to packets, each with a probability, and the seed of its chances.
#[derive(Clone, Copy, Debug)]
struct Chances {
    loss: f64,
    reordering: f64,
    duplication: f64,
    marking: f64,
    seed: u64,
}

/// A sender, a path of 20 ms each way, and a receiver.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    now: Instant,
    chances: Chances,
    random: Random,
    /// By arrival, then by departure.
    travelling: BTreeMap<(Instant, u64), Parcel>,
    /// The lowest packet that the sender does not know to have arrived.
    first: u64,
    departures: u64,
}

impl Pair {
    fn new(config: &Config, chances: Chances) -> Self {
        Self {
            sender: Sender::new(config).unwrap(),
            receiver: Receiver::new(config).unwrap(),
            now: Instant::ZERO,
            random: Random::new(chances.seed, 0),
            chances,
            travelling: BTreeMap::new(),
            first: 0,
            departures: 0,
        }
    }

    fn carry(&mut self, parcel: Parcel) {
        let mut happens = |chance| self.random.unit() < chance;
        if happens(self.chances.loss) {
            return;
        }
        let copies = if happens(self.chances.duplication) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let mut parcel = parcel;
            if let Parcel::Segment(segment) = &mut parcel
                && segment.ecn == Ecn::Ect0
                && happens(self.chances.marking)
            {
                segment.ecn = Ecn::Ce;
            }
            let late = if happens(self.chances.reordering) {
                15
            } else {
                0
            };
            let arrival = self.now + Duration::from_millis(20 + late);
            self.travelling.insert((arrival, self.departures), parcel);
            self.departures += 1;
        }
    }

    /// Lets both ends send, after which nothing more may leave.
    fn drain(&mut self) {
        loop {
            let before = self.sender.clone();
            let Some(segment) = self.sender.poll_transmit(self.now) else {
                break;
            };
            // The first packet that is missing is sent again at once, whatever the window; and two
            // duplicate acknowledgements let a packet each leave beyond it (RFC 3042).
            let resent = self.sender.counters().resent > before.counters().resent;
            let full = before.in_flight() as f64 + 1.0 > before.cwnd() + 2.0;
            assert!(
                !full || resent && segment.number == self.first,
                "{before:?}"
            );
            self.carry(Parcel::Segment(segment));
        }
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            self.carry(Parcel::Ack(ack));
        }
    }

    /// Lets the next thing happen; false if nothing will.
    fn step(&mut self) -> bool {
        self.drain();
        let arrival = self.travelling.first_key_value().map(|(&(at, _), _)| at);
        let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
        let Some(next) = timers.into_iter().flatten().chain(arrival).min() else {
            return false;
        };
        assert!(next >= self.now, "time goes back");
        self.now = next;
        if arrival == Some(next) {
            match self.travelling.pop_first() {
                Some((_, Parcel::Segment(segment))) => self.receiver.handle_segment(next, segment),
                Some((_, Parcel::Ack(ack))) => {
                    self.first = self.first.max(ack.next);
                    self.sender.handle_ack(next, ack);
                }
                None => {}
            }
        } else {
            self.sender.handle_timeout(next);
            self.receiver.handle_timeout(next);
        }
        true
    }
}

fn variant() -> impl Strategy<Value = Variant> {
    prop::sample::select(vec![
        Variant::Tahoe,
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
        Variant::Cubic,
        Variant::Binomial(Binomial::SQRT),
        Variant::Binomial(Binomial::IIAD),
        Variant::Binomial(Binomial {
            alpha: f64::MAX,
            beta: f64::MAX,
            ..Binomial::IIAD
        }),
    ])
}

prop_compose! {
    fn config()(
        variant in variant(),
        length in 1u64..300_000,
        initial_window in 1u32..12,
        receive_window in prop_oneof![1u32..5, 5u32..200],
        delayed_ack in prop::option::of(0u64..300),
        min_rto in 0u64..1_000,
        granularity in prop_oneof![Just(0u64), 1u64..600],
        ecn: bool,
        limited_transmit: bool,
    ) -> Config {
        Config {
            variant,
            length: Some(Bytes::new(length)),
            initial_window: InitialWindow::Packets(initial_window),
            receive_window,
            delayed_ack: delayed_ack.map(Duration::from_millis),
            min_rto: Duration::from_millis(min_rto),
            clock_granularity: Duration::from_millis(granularity),
            ecn,
            limited_transmit,
            ..Config::default()
        }
    }
}

prop_compose! {
    fn chances()(
        loss in prop_oneof![Just(0.0), 0.0..0.6],
        reordering in prop_oneof![Just(0.0), 0.0..0.5],
        duplication in prop_oneof![Just(0.0), 0.0..0.3],
        marking in prop_oneof![Just(0.0), 0.0..1.0],
        seed: u64,
    ) -> Chances {
        Chances { loss, reordering, duplication, marking, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_flow_ends_with_every_byte_delivered_whatever_is_lost(
        config in config(),
        chances in chances(),
    ) {
        let mut pair = Pair::new(&config, chances);
        let packets = config.packets();
        let mut delivered = Bytes::ZERO;
        let mut steps = 0u64;
        while pair.step() {
            // In order and once: what is delivered only grows, and never beyond what was sent.
            prop_assert!(pair.receiver.delivered() >= delivered);
            delivered = pair.receiver.delivered();
            prop_assert!(pair.sender.acknowledged() <= delivered);
            prop_assert!(pair.sender.cwnd() >= 1.0 && pair.sender.ssthresh() >= 2.0);
            steps += 1;
            prop_assert!(steps < 2_000 * (packets + 10), "no end after {} steps", steps);
        }
        prop_assert!(pair.sender.is_done() && pair.receiver.is_complete());
        prop_assert_eq!(delivered, Bytes::new(config.length.unwrap().get()));
        prop_assert_eq!(pair.sender.in_flight(), 0);
        let counters = pair.sender.counters();
        prop_assert_eq!(counters.sent - counters.resent, packets);
        if chances.loss == 0.0 && chances.reordering == 0.0 && chances.duplication == 0.0
            && config.delayed_ack.is_none()
        {
            prop_assert_eq!(counters.fast_retransmits, 0);
        }
    }

    #[test]
    fn the_network_never_holds_more_than_the_receive_window(
        config in config(),
        chances in chances(),
    ) {
        let mut pair = Pair::new(&config, chances);
        for _ in 0..2_000 {
            if !pair.step() {
                break;
            }
            // New data only: what is sent again is within the window by its number.
            let counters = pair.sender.counters();
            prop_assert!(counters.sent - counters.resent <= pair.first + u64::from(config.receive_window));
        }
    }

    #[test]
    fn no_acknowledgement_causes_a_panic(
        config in config(),
        acks in prop::collection::vec(
            (0u64..40, prop::collection::vec((0u64..60, 0u64..60), 0..3), any::<bool>(), 0u64..3_000),
            1..120,
        ),
    ) {
        let mut sender = Sender::new(&config).unwrap();
        let mut now = Instant::ZERO;
        for (next, blocks, ece, wait) in acks {
            now += Duration::from_millis(wait);
            sender.handle_timeout(now);
            let mut ack = Ack::new(next);
            ack.ece = ece;
            for (start, end) in blocks {
                ack = ack.with_block(start..end);
            }
            sender.handle_ack(now, ack);
            let mut sent = 0u64;
            while sender.poll_transmit(now).is_some() {
                sent += 1;
                prop_assert!(sent <= u64::from(config.receive_window) + 1);
            }
        }
    }
}
