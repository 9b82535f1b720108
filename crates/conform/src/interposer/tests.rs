//! Tests of the interface system: which datagrams it drops, delays and rewrites.

use evenkeel_rtp::packet::ext::{Element, RttSendTs};
use evenkeel_rtp::packet::rtcp::{Packet as Rtcp, Packets, TfrcFeedback};
use evenkeel_rtp::packet::rtp::RtpHeader;
use evenkeel_rtp::session::Config;
use tfrc::units::{LossEventRate, Rate};

use super::*;

const SENDER: &str = "192.0.2.1:5004";
const RECEIVER: &str = "192.0.2.3:5004";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn data(sequence: u16, sent_ms: u32) -> Vec<u8> {
    let header = RtpHeader {
        payload_type: 26,
        marker: false,
        sequence,
        timestamp: 0,
        ssrc: 1,
    };
    let timing = RttSendTs::new(None, sent_ms * 1_000).to_bytes();
    let element = Element {
        id: Config::EXTENSION_ID,
        data: &timing,
    };
    let mut buf = [0; 64];
    let len = header.emit(&[element], &mut buf).unwrap();
    buf[..len].to_vec()
}

fn report(echoed_ms: u32, delay: Duration) -> Vec<u8> {
    let mut buf = [0; 64];
    let len = TfrcFeedback::new(echoed_ms * 1_000, delay, Rate::ZERO, LossEventRate::ZERO)
        .emit(Config::FEEDBACK_FORMAT, 2, 1, &mut buf)
        .unwrap();
    buf[..len].to_vec()
}

fn hand_in(interposer: &mut Interposer, now: Instant, source: &str, payload: &[u8]) {
    let datagram = Datagram {
        source: address(source),
        arrival: now,
        ecn: Ecn::NotEct,
        payload,
    };
    interposer.handle_datagram(now, datagram);
}

/// All that leaves at `now`, and where to.
fn drain(interposer: &mut Interposer, now: Instant) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut buf = [0; 256];
    std::iter::from_fn(|| {
        let sent = interposer.poll_transmit(now, &mut buf)?;
        Some((sent.destination, buf[..sent.len].to_vec()))
    })
    .collect()
}

#[test]
fn what_is_delayed_less_overtakes_and_what_is_dropped_is_only_recorded() {
    let script: Script = Box::new(|passing| match passing.log.data.len() {
        0 => Fate::After(ms(30)),
        1 => Fate::Drop,
        _ => Fate::NOW,
    });
    let mut interposer = Interposer::new(address(RECEIVER), script);
    for sequence in 0..3 {
        let (now, packet) = (at(100 + u64::from(sequence) * 10), data(sequence, 0));
        hand_in(&mut interposer, now, SENDER, &packet);
    }
    assert_eq!(
        drain(&mut interposer, at(120)),
        [(address(RECEIVER), data(2, 0))]
    );
    assert_eq!(interposer.poll_timeout().map(|(at, _)| at), Some(at(130)));
    assert_eq!(
        drain(&mut interposer, at(130)),
        [(address(RECEIVER), data(0, 0))]
    );
    // Times count from the first data packet.
    let delivered: Vec<_> = interposer
        .log()
        .data
        .iter()
        .map(|record| record.delivered)
        .collect();
    assert_eq!(delivered, [Some(at(30)), None, Some(at(20))]);
}

#[test]
fn a_held_report_gives_the_sender_the_sample_it_is_held_for_however_late_it_leaves() {
    for late in [0, 7] {
        let script: Script = Box::new(|_| Fate::Held(ms(50)));
        let mut interposer = Interposer::new(address(RECEIVER), script);
        // The sender's clock is a second ahead.
        hand_in(&mut interposer, at(0), SENDER, &data(0, 1_000));
        drain(&mut interposer, at(0));
        hand_in(&mut interposer, at(12), RECEIVER, &report(1_000, ms(12)));
        assert_eq!(interposer.poll_timeout().map(|(at, _)| at), Some(at(62)));
        let sent = drain(&mut interposer, at(62 + late));
        let Packet::Report(report) = packet::read(&sent[0].1, Ecn::NotEct) else {
            panic!("no report");
        };
        // now - t_recvdata - t_delay, all on the sender's clock.
        assert_eq!(ms(1_062 + late) - ms(1_000) - report.delay, ms(50));
        assert_eq!(interposer.log().reports[0].passed.delay, report.delay);
    }
}

#[test]
fn a_goodbye_goes_to_each_side_in_the_name_of_the_other_and_ends_all() {
    let mut interposer = Interposer::new(address(RECEIVER), Box::new(|_| Fate::After(ms(1))));
    hand_in(&mut interposer, at(0), SENDER, &data(0, 0));
    hand_in(&mut interposer, at(0), RECEIVER, &report(0, ms(0)));
    interposer.say_goodbye(at(1));
    let mut statuses: Vec<_> = drain(&mut interposer, at(1))
        .into_iter()
        .map(|(to, datagram)| {
            let packets = Packets::parse(&datagram).unwrap();
            let leaving = packets.flatten().find_map(|packet| match packet {
                Rtcp::Bye(bye) => bye.sources().next(),
                _ => None,
            });
            (to, leaving)
        })
        .collect();
    statuses.sort();
    let expected = [(address(SENDER), Some(2)), (address(RECEIVER), Some(1))];
    assert_eq!(statuses, expected);
    hand_in(&mut interposer, at(2), SENDER, &data(1, 2));
    assert_eq!(interposer.poll_timeout(), None);
    assert_eq!(interposer.log().data.len(), 1);
}

#[test]
fn who_is_not_the_expected_sender_is_not_heard() {
    let interposer = Interposer::new(address(RECEIVER), Box::new(|_| Fate::NOW));
    let mut interposer = interposer.expecting(address(SENDER));
    hand_in(&mut interposer, at(0), "198.51.100.1:5004", &data(0, 0));
    assert_eq!(drain(&mut interposer, at(0)), []);
    hand_in(&mut interposer, at(0), SENDER, &data(0, 0));
    assert_eq!(drain(&mut interposer, at(0)).len(), 1);
}
