//! Any datagrams, clocks and media in any order: a session neither panics nor spins.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pair::{End, Pair};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::session::{MediaInfo, Session};
use proptest::prelude::*;
use tfrc::Ecn;
use tfrc::time::Instant;

/// What may happen to a session.
#[derive(Clone, Debug)]
enum Step {
    Datagram(bool, Vec<u8>),
    /// A datagram that the other end really sent, with a byte changed.
    Mutant(usize, usize, u8),
    /// Time, possibly going back.
    Clock(i32),
    Media(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..80);
    prop_oneof![
        4 => (any::<bool>(), bytes).prop_map(|(known, mut bytes)| {
            if let Some(first) = bytes.first_mut() {
                *first = *first & 0x3f | 0x80;
            }
            Step::Datagram(known, bytes)
        }),
        8 => any::<(usize, usize, u8)>().prop_map(|(n, at, xor)| Step::Mutant(n, at, xor)),
        4 => (-1_000..2_000_000i32).prop_map(Step::Clock),
        4 => (0..1_300usize).prop_map(Step::Media),
        1 => Just(Step::Close),
    ]
}

/// Drains a session and checks that it comes to rest.
fn settle(session: &mut Session, now: Instant, buf: &mut [u8]) {
    session.handle_timeout(now);
    let mut sent = 0;
    while session.poll_transmit(now, buf).is_some() {
        sent += 1;
        assert!(sent < 10, "control never ends");
    }
    if let Some((at, reason)) = session.poll_timeout() {
        assert!(at > now, "{reason:?} is due again at {at}, it is {now}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn session_neither_panics_nor_spins_in_any_steps(
        steps in proptest::collection::vec(step(), 0..200), seed: u64, latch: bool,
    ) {
        let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
        pair.run(Duration::from_millis(1_300));
        let recording = pair.log.iter().filter(|sent| sent.from == End::A);
        let recording: Vec<_> = recording.map(|sent| sent.bytes.clone()).collect();
        let mut config = End::B.caller(seed);
        config.ssrc = Some(pair.session(End::B).ssrc());
        if latch {
            config.peer = None;
        }
        let mut now = Instant::from_secs(1);
        let mut latest = now;
        let mut session = Session::new(now, config);
        let mut buf = [0; 2_048];
        for step in steps {
            let (source, payload) = match step {
                Step::Datagram(known, bytes) => {
                    let stranger = SocketAddr::from(([203, 0, 113, 9], 9));
                    (if known { End::A.address() } else { stranger }, bytes)
                }
                Step::Mutant(n, at, xor) => {
                    let mut bytes = recording[n % recording.len()].clone();
                    let at = at % bytes.len();
                    bytes[at] ^= xor;
                    (End::A.address(), bytes)
                }
                Step::Clock(micros) => {
                    let step = Duration::from_micros(micros.unsigned_abs().into());
                    now = if micros < 0 { now - step } else { now + step };
                    latest = latest.max(now);
                    settle(&mut session, latest, &mut buf);
                    continue;
                }
                Step::Media(len) => {
                    let info = MediaInfo { timestamp: 0, marker: false };
                    let _result = session.write_media(now, &info, &vec![0; len], &mut buf);
                    continue;
                }
                Step::Close => {
                    session.close(now);
                    continue;
                }
            };
            let arrival = now - Duration::from_millis(1);
            let datagram = Datagram { source, arrival, ecn: Ecn::Ce, payload: &payload };
            session.handle_datagram(now, datagram);
            settle(&mut session, latest, &mut buf);
        }
        prop_assert!(std::iter::from_fn(|| session.poll_event()).count() <= 64);
    }
}
