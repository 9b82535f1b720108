//! What a call must withstand: floods of what is garbage, forged or played again.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pair::{End, Pair, secs};
use evenkeel_rtp::packet::rtcp::{Packet, Packets, TfrcFeedback};
use evenkeel_rtp::session::{CONTROL_BUFFER, Config, EventKind, Ignored, Lie, MediaInfo};
use tfrc::time::Instant;
use tfrc::units::Rate;

/// Feedback to A that passes for B's.
fn forged(pair: &Pair, timestamp: Instant, delay_micros: u32) -> Vec<u8> {
    let feedback = TfrcFeedback {
        timestamp: timestamp.as_micros() as u32,
        delay_micros,
        receive_rate: u32::MAX,
        loss_event_rate: 0,
        transit: None,
    };
    let mut bytes = vec![0; TfrcFeedback::PACKET_LEN];
    let (a, b) = (pair.session(End::A).ssrc(), pair.session(End::B).ssrc());
    feedback
        .emit(2, b, a, &mut bytes)
        .expect("the buffer has its length");
    bytes
}

#[test]
fn feedback_about_packets_never_sent_is_stale() {
    let mut pair = Pair::one_way();
    pair.run(secs(20));
    let rate = pair.session(End::A).path().unwrap();
    let now = pair.now;
    let future = now + Duration::from_millis(1);
    let before_the_call = Instant::from_millis(900);
    let long_ago = now - Duration::from_millis(16_001);
    let sent = pair.log.iter().rfind(|sent| sent.is_media).unwrap().at;
    let too_patient = (now - sent).as_micros() as u32 + 2;
    // A round trip of nothing would be one of the clock's resolution, and its rate without bound.
    let no_time_at_all = (now.as_micros() - sent.as_micros()) as u32;
    for (timestamp, delay) in [
        (future, 0),
        (before_the_call, 0),
        (long_ago, 0),
        (sent, too_patient),
        (sent, no_time_at_all),
    ] {
        let bytes = forged(&pair, timestamp, delay);
        assert_eq!(
            pair.inject(End::A, End::B.address(), &bytes),
            Ignored::StaleFeedback.name()
        );
    }
    let other = forged(&pair, sent, 0);
    let stranger = "203.0.113.9:5004".parse().unwrap();
    assert_eq!(
        pair.inject(End::A, stranger, &other),
        Ignored::WrongSource.name()
    );
    let mut about_another = other.clone();
    about_another[8] ^= 1;
    assert_eq!(
        pair.inject(End::A, End::B.address(), &about_another),
        Ignored::WrongSsrc.name()
    );
    assert_eq!(pair.session(End::A).path().unwrap(), rate);
}

#[test]
fn receiver_of_impossible_receive_rates_is_named() {
    let mut pair = Pair::one_way();
    pair.run(secs(20));
    for _ in 0..3 {
        let sent = pair.log.iter().rfind(|sent| sent.is_media).unwrap().at;
        pair.run(Duration::from_millis(60));
        let bytes = forged(&pair, sent, 0);
        pair.inject(End::A, End::B.address(), &bytes);
    }
    pair.run(secs(1));
    let events = pair.events.iter().map(|(_, event)| event.kind);
    let accused: Vec<_> = events
        .filter(|kind| matches!(kind, EventKind::ReceiverLied { .. }))
        .collect();
    let caught = EventKind::ReceiverLied {
        address: End::B.address(),
        ssrc: pair.session(End::B).ssrc(),
        lie: Lie::ReceiveRate,
        again: false,
    };
    assert_eq!(accused, [caught]);
}

#[test]
fn packets_that_left_together_are_each_reportable_once() {
    let mut pair = Pair::one_way();
    pair.run(secs(20));
    let sent = pair.log.iter().rfind(|sent| sent.is_media).unwrap().at;
    let reports = [2, 0].map(|delay| forged(&pair, sent, delay));
    let mut inject = |bytes: &[u8]| pair.inject(End::A, End::B.address(), bytes);
    assert_eq!(inject(&reports[0]), "control");
    assert_eq!(inject(&reports[0]), Ignored::Replayed.name());
    assert_eq!(inject(&reports[1]), "control");
    assert_eq!(inject(&reports[1]), Ignored::Replayed.name());
}

#[test]
fn replayed_feedback_does_not_restart_the_nofeedback_timer() {
    let mut pair = Pair::one_way();
    pair.run(secs(3));
    let recording: Vec<_> = pair
        .log
        .iter()
        .filter(|sent| sent.from == End::B && sent.at + Duration::from_millis(200) < pair.now)
        .filter(|sent| {
            let mut packets = Packets::parse(&sent.bytes).unwrap();
            packets.any(|packet| matches!(packet, Ok(Packet::Feedback(_))))
        })
        .map(|sent| sent.bytes.clone())
        .collect();
    pair.kill(End::B);
    pair.run(Duration::from_millis(500));
    let before = pair.session(End::A).statistics().clone();
    for _ in 0..100 {
        for bytes in &recording {
            pair.inject(End::A, End::B.address(), bytes);
        }
        pair.run(Duration::from_millis(10));
    }
    let after = pair.session(End::A).statistics();
    assert_eq!(after.feedback_received, before.feedback_received);
    assert!(after.nofeedback_expiries > before.nofeedback_expiries);
    let replays = after.ignored(Ignored::Replayed) + after.ignored(Ignored::StaleFeedback);
    assert_eq!(replays, 100 * recording.len() as u64);
}

#[test]
fn replayed_media_adds_no_loss_and_is_dropped() {
    let mut pair = Pair::one_way();
    pair.run(secs(10));
    let recording: Vec<_> = pair
        .log
        .iter()
        .filter(|sent| sent.is_media && sent.at + Duration::from_millis(200) < pair.now)
        .map(|sent| sent.bytes.clone())
        .collect();
    let before = pair.session(End::B).statistics().clone();
    for bytes in &recording {
        let verdict = pair.inject(End::B, End::A.address(), bytes);
        assert_ne!(verdict, "media");
    }
    let after = pair.session(End::B).statistics();
    assert_eq!(after.packets_received, before.packets_received);
    assert_eq!(after.packets_lost, before.packets_lost);
    assert!(after.ignored(Ignored::Replayed) > 0);
    assert!(after.ignored(Ignored::Duplicate) > 0);
    let p = pair.session(End::A).path().unwrap().loss_event_rate.get();
    pair.run(secs(2));
    let now = pair.session(End::A).path().unwrap().loss_event_rate.get();
    assert!(now < 1.5 * p, "{p} {now}");
}

#[test]
fn a_call_outlives_fifty_thousand_forgeries_a_second() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    pair.run(secs(5));
    let model = pair.log.iter().rfind(|sent| sent.is_media).unwrap().clone();
    let received = pair.session(End::B).statistics().packets_received;
    let answered = pair.session(End::B).statistics().rtcp_sent;
    let mut n = 0u32;
    for _ in 0..100 {
        for _ in 0..500 {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut bytes = model.bytes.clone();
            let at = n as usize % 24;
            bytes[at] ^= (n >> 24) as u8 | 1;
            let source = SocketAddr::from(([203, 0, 113, (n >> 16) as u8], 5004));
            assert_ne!(pair.inject(End::B, source, &bytes), "media");
        }
        pair.run(Duration::from_millis(10));
    }
    let b = pair.session(End::B).statistics();
    assert!(b.ignored_total() >= 50_000);
    // 2 Mb/s are 208 packets a second; a flood that nobody answers costs nothing.
    assert!(b.packets_received - received > 100);
    assert!(b.rtcp_sent - answered < 60);
    let changed = |kind| matches!(kind, EventKind::PeerChanged { .. });
    assert!(!pair.kinds(End::B).any(changed));
}

#[test]
fn forged_first_packet_gets_at_most_three_times_its_bytes() {
    let mut pair = Pair::one_way();
    let mut buf = [0; 2_048];
    let now = pair.now;
    let info = MediaInfo {
        timestamp: 0,
        marker: true,
    };
    let media = pair
        .session_mut(End::A)
        .write_media(now, &info, &[0; 600], &mut buf)
        .unwrap();
    let stranger = "203.0.113.9:5004".parse().unwrap();
    assert_eq!(pair.inject(End::B, stranger, &buf[..media.len]), "media");
    // The first packet is answered at once, to where it came from.
    let b = pair.session_mut(End::B);
    let mut control = [0; CONTROL_BUFFER];
    let mut sent = 0;
    let mut first = None;
    for ms in 0..60_000 {
        let now = now + Duration::from_millis(ms);
        b.handle_timeout(now);
        while let Some(transmit) = b.poll_transmit(now, &mut control) {
            assert_eq!(transmit.destination, stranger);
            first.get_or_insert(ms);
            sent += transmit.len;
        }
    }
    assert_eq!(first, Some(0));
    assert!((28..=3 * media.len).contains(&sent), "{sent}");
}

#[test]
fn forged_source_gets_at_most_three_times_its_bytes() {
    // Both ways, to whoever calls.
    let mut answering = End::B.caller(2);
    answering.peer = None;
    let mut pair = Pair::new(End::A.caller(1), answering);
    let (now, info) = (
        pair.now,
        MediaInfo {
            timestamp: 0,
            marker: true,
        },
    );
    let mut buf = [0; 2_048];
    let a = pair.session_mut(End::A);
    let media = a.write_media(now, &info, &[0; 600], &mut buf).unwrap();
    let stranger = "203.0.113.9:5004".parse().unwrap();
    assert_eq!(pair.inject(End::B, stranger, &buf[..media.len]), "media");
    let b = pair.session_mut(End::B);
    let mut out = [0; 2_048];
    let mut sent = 0;
    for ms in 0..60_000 {
        let now = now + Duration::from_millis(ms);
        b.handle_timeout(now);
        while let Some(transmit) = b.poll_transmit(now, &mut out) {
            sent += transmit.len;
        }
        if b.next_departure(now).is_some_and(|at| at <= now)
            && let Ok(transmit) = b.write_media(now, &info, &[0; 1_000], &mut out)
        {
            sent += transmit.len;
        }
    }
    assert!((28..=3 * media.len).contains(&sent), "{sent}");
}

#[test]
fn stranger_is_answered_once_it_continues_to_send() {
    let mut answering = End::B.caller(2);
    answering.peer = None;
    let mut pair = Pair::new(End::A.caller(1), answering);
    pair.run(secs(10));
    for end in [End::A, End::B] {
        assert!(pair.session(end).statistics().packets_received > 100);
    }
}

#[test]
fn sender_without_round_trip_gets_the_rtcp_share() {
    let mut sender = End::A.sender(1);
    if let Some(send) = &mut sender.send {
        send.fixed_rate = Some(Rate::from_bits_per_sec(1e6));
    }
    let mut pair = Pair::new(sender, End::B.receiver(2));
    pair.run(secs(20));
    let b = pair.session(End::B).statistics();
    let answered = b.rtcp_bytes_sent + 28 * b.rtcp_sent;
    // The share, what is always granted, and the timer's own compounds.
    let granted = b.bytes_received / 20 + 20 * 560 + 100 * 200;
    assert!(answered <= granted, "{answered} of {granted}");
}

#[test]
fn configuration_out_of_range_is_limited() {
    for (id, format, payload_type) in [(0, 0, 64), (15, 32, 95), (255, 255, 200)] {
        let out_of_range = |mut config: Config| {
            (config.extension_id, config.feedback_format) = (Some(id), format);
            if let Some(send) = &mut config.send {
                send.payload_type = payload_type;
            }
            if let Some(receive) = &mut config.receive {
                receive.payload_type = payload_type;
            }
            config
        };
        let (a, b) = (End::A.sender(1), End::B.receiver(2));
        let mut pair = Pair::new(out_of_range(a), out_of_range(b));
        pair.run(secs(10));
        assert!(pair.session(End::B).statistics().packets_received > 100);
        assert!(pair.session(End::A).statistics().feedback_received > 10);
    }
}

#[test]
fn closed_session_neither_sends_nor_receives() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    let now = pair.now;
    // Who has said nothing says no BYE (RFC 3550 §6.3.7).
    pair.session_mut(End::A).close(now);
    let mut buf = [0; 2_048];
    assert_eq!(pair.session_mut(End::A).poll_transmit(now, &mut buf), None);
    assert_eq!(pair.session(End::A).next_departure(now), None);
    assert_eq!(pair.session(End::A).poll_timeout(), None);
    assert_eq!(pair.inject(End::A, End::B.address(), &[0x80; 12]), "closed");
}
