//! Tests of arbitrary calls of the model, with numbers, times and rates of any size.

use alloc::vec::Vec;
use proptest::prelude::*;
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use super::{assert_bounded, assert_sane};
use crate::{Params, PathModel, TransitReport};

/// One call of the model with arbitrary arguments.
#[derive(Clone, Debug)]
enum Input {
    Sent {
        number: u64,
        size: u64,
        ends: bool,
    },
    Report(Vec<(u64, u64)>),
    RoundTrip {
        sent_at: u64,
        round_trip: u64,
        rate: f64,
    },
    Transit {
        sent_at: u64,
        round_trip: u64,
        rate: f64,
        range: [u32; 2],
    },
    Bound(f64),
    Later(u64),
    Lost(u64),
}

/// Generates mostly small numbers, and the extremes.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..200u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..10_000_000_000u64,
        1 => Just(5_000_000_000),
        1 => any::<u64>(),
        1 => Just(u64::MAX)
    ]
}

fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 1e3..1e7, 1 => any::<f64>(), 1 => Just(f64::INFINITY), 1 => Just(0.0)]
}

fn input() -> impl Strategy<Value = Input> {
    let size = prop_oneof![8 => 0..1_500u64, 1 => any::<u64>()];
    prop_oneof![
        4 => (number(), size, any::<bool>()).prop_map(|(number, size, ends)| Input::Sent { number, size, ends }),
        4 => prop::collection::vec((number(), nanos()), 0..20).prop_map(Input::Report),
        1 => (nanos(), nanos(), rate()).prop_map(|(sent_at, round_trip, rate)| Input::RoundTrip { sent_at, round_trip, rate }),
        1 => (nanos(), nanos(), rate(), any::<[u32; 2]>()).prop_map(|(sent_at, round_trip, rate, range)| Input::Transit { sent_at, round_trip, rate, range }),
        1 => rate().prop_map(Input::Bound),
        1 => number().prop_map(Input::Lost),
        2 => prop_oneof![4 => 0..200_000_000u64, 1 => any::<u64>()].prop_map(Input::Later),
    ]
}

proptest! {
    #[test]
    fn arbitrary_input_leaves_rates_finite_and_bounded(
        interval in prop_oneof![Just(0), 1_000_000..10_000_000_000u64, any::<u64>()],
        initial in rate(),
        inputs in prop::collection::vec(input(), 1..200),
    ) {
        let initial = Rate::from_bytes_per_sec(initial);
        let model = PathModel::new(Params::CALL, Duration::from_nanos(interval), initial);
        let mut model = model.seeking_random_loss();
        let (mut now, mut bound) = (Instant::from_secs(1), Rate::INFINITY);
        for input in inputs {
            match input {
                Input::Sent { number, size, ends } => {
                    model.handle_sent(now, number, Bytes::new(size), ends);
                }
                Input::Report(deliveries) => model.handle_report(now, deliveries.into_iter().map(
                    |(number, at)| Delivery { number, arrived_at: Instant::from_nanos(at) }
                )),
                Input::RoundTrip { sent_at, round_trip, rate } => model.handle_round_trip(
                    now,
                    Instant::from_nanos(sent_at),
                    Duration::from_nanos(round_trip),
                    Rate::from_bytes_per_sec(rate),
                ),
                Input::Transit { sent_at, round_trip, rate, range: [least, largest] } => {
                    model.handle_transit_bounds(now, &TransitReport {
                        sent_at: Instant::from_nanos(sent_at),
                        round_trip: Duration::from_nanos(round_trip),
                        least,
                        largest,
                        receive_rate: Rate::from_bytes_per_sec(rate),
                    });
                }
                Input::Bound(rate) => {
                    let set = Rate::from_bytes_per_sec(rate);
                    model.set_bound(now, set);
                    bound = Rate::from_bytes_per_sec(model.law.bound);
                    let is_idle = model.sent.unreported_since().is_none();
                    prop_assert!(is_idle && bound >= set || bound == set);
                }
                Input::Lost(packets) => model.handle_losses(packets),
                Input::Later(nanos) => now += Duration::from_nanos(nanos),
            }
            assert_sane(&mut model, now, bound);
        }
        assert_bounded(&model);
    }
}
