//! A message is read as it was written, and no bytes make a reader panic.

use super::*;
use crate::terms::{Direction, Mode, ReportTiming};
use evenkeel_rtp::session::FeedbackMode;
use proptest::prelude::*;

fn terms() -> impl Strategy<Value = Terms> {
    let choices = (
        0..3usize,
        0..4usize,
        any::<bool>(),
        1..=Terms::MAX_FLOWS,
        0..4usize,
    );
    let sizes = (
        Terms::MIN_LENGTH..=Terms::MAX_LENGTH,
        1..=Terms::MAX_LENGTH,
        1..1u64 << 40,
        any::<u32>(),
    );
    let times = (0..=100_000u64, 0..=10_000_000u64);
    let reports = (
        1..=ReportTiming::MAX_QUARTERS,
        prop::option::of(1..1u64 << 40),
        any::<bool>(),
    );
    (choices, sizes, times, reports).prop_map(|(choices, sizes, times, reports)| {
        let modes = [
            Mode::Rfc5348,
            Mode::Rfc3448,
            Mode::SmallPackets,
            Mode::Fixed,
        ];
        Terms {
            direction: [Direction::Forward, Direction::Reverse, Direction::Both][choices.0],
            mode: modes[choices.1],
            ecn: choices.2,
            flows: choices.3,
            feedback: FeedbackMode::ALL[choices.4],
            length: sizes.0,
            segment_size: sizes.1,
            rate: Some(Rate::from_bits_per_sec(sizes.2 as f64)),
            duration: Duration::from_millis(sizes.3.into()),
            burst: Duration::from_micros(times.0),
            min_nofeedback: Duration::from_micros(times.1),
            reports: ReportTiming {
                quarters: reports.0,
                session_bandwidth: reports.1.map(|bits| Rate::from_bits_per_sec(bits as f64)),
                piggy_backed: reports.2,
            },
        }
    })
}

fn client_message() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        Just(ClientMessage::Hello),
        (any::<u64>(), terms()).prop_map(|(token, terms)| ClientMessage::Request { token, terms }),
        any::<(u16, u16)>().prop_map(|(test, flow)| ClientMessage::Finish { test, flow }),
        any::<u16>().prop_map(|test| ClientMessage::Goodbye { test }),
    ]
}

fn count() -> impl Strategy<Value = Count> {
    any::<([u64; 7], u32, u64)>().prop_map(|(n, jitter, span)| Count {
        packets_sent: n[0],
        bytes_sent: n[1],
        packets_received: n[2],
        bytes_received: n[3],
        packets_lost: n[4],
        out_of_order: n[5],
        packets_marked: n[6],
        jitter: Duration::from_micros(jitter.into()),
        received_over: Duration::from_micros(span),
    })
}

fn server_message() -> impl Strategy<Value = ServerMessage> {
    let refusal = prop_oneof![
        Just(Refusal::Token),
        Just(Refusal::OneOff),
        Just(Refusal::TooOften),
        any::<u16>().prop_map(Refusal::Flows),
        (0..1u64 << 50).prop_map(|bits| Refusal::Rate(Rate::from_bits_per_sec(bits as f64))),
        any::<u32>().prop_map(|ms| Refusal::Duration(Duration::from_millis(ms.into()))),
    ];
    prop_oneof![
        any::<u64>().prop_map(|token| ServerMessage::Token { token }),
        any::<u16>().prop_map(|test| ServerMessage::Accept { test }),
        refusal.prop_map(ServerMessage::Refuse),
        (
            any::<(u16, u16)>(),
            prop::collection::vec(count(), 0..=RESULTS)
        )
            .prop_map(|((test, flow), counts)| ServerMessage::Results {
                test,
                flow,
                counts
            }),
    ]
}

proptest! {
    #[test]
    fn what_a_client_writes_a_server_reads(nonce: u64, message in client_message()) {
        let message = Tagged { nonce, message };
        let mut buf = [0xff; MAX_LEN];
        let len = message.emit(&mut buf).unwrap();
        prop_assert_eq!(len, CLIENT_LEN);
        prop_assert!(is_control(&buf));
        prop_assert_eq!(Tagged::<ClientMessage>::parse(&buf[..len]), Ok(message));
    }

    #[test]
    fn what_a_server_writes_a_client_reads(nonce: u64, message in server_message()) {
        let is_results = matches!(message, ServerMessage::Results { .. });
        let message = Tagged { nonce, message };
        let mut buf = [0xff; MAX_LEN];
        let len = message.emit(&mut buf).unwrap();
        prop_assert!(is_results || len <= CLIENT_LEN);
        prop_assert_eq!(Tagged::<ServerMessage>::parse(&buf[..len]), Ok(message));
    }

    #[test]
    fn a_message_cut_short_or_too_long_is_refused(message in client_message(), len in 0..2 * CLIENT_LEN) {
        prop_assume!(len != CLIENT_LEN);
        let mut buf = [0; 2 * CLIENT_LEN];
        Tagged { nonce: 1, message }.emit(&mut buf).unwrap();
        prop_assert!(Tagged::<ClientMessage>::parse(&buf[..len]).is_err());
    }

    /// Whatever is read is written as it was, but for the padding: no two meanings.
    #[test]
    fn no_bytes_make_a_reader_panic(kind: u8, body in prop::collection::vec(any::<u8>(), 0..MAX_LEN)) {
        let mut bytes = MAGIC.to_vec();
        bytes.push(kind);
        bytes.extend(body);
        let mut buf = [0; MAX_LEN];
        if let Ok(message) = Tagged::<ServerMessage>::parse(&bytes) {
            let len = message.emit(&mut buf);
            prop_assert_eq!(len.map(|len| Tagged::<ServerMessage>::parse(&buf[..len])), Some(Ok(message)));
        }
        bytes.resize(CLIENT_LEN, 0);
        if let Ok(message) = Tagged::<ClientMessage>::parse(&bytes) {
            let len = message.emit(&mut buf);
            prop_assert_eq!(len.map(|len| Tagged::<ClientMessage>::parse(&buf[..len])), Some(Ok(message)));
        }
    }
}
