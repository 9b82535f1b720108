//! Endpoints as others build them: several sources behind one address, ports apart, media without our extension.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pair::{End, PACKET, PAYLOAD_TYPE, Pair, secs};
use crate::reports::with;
use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::ext::Element;
use evenkeel_rtp::packet::rtcp::{
    KeyframeRequest, Packet, Packets, ReceiverReport, ReportBlock, ccfb, twcc,
};
use evenkeel_rtp::packet::rtp::{RtpHeader, RtpPacket};
use evenkeel_rtp::session::{Config, EventKind, FeedbackMode, ReceiveConfig, SendConfig};
use tfrc::Ecn;

/// What fits beside both of our extensions.
const PAYLOAD: usize = PACKET - 28;

/// A sender of ours at A, and nobody at B who would answer.
fn sender(feedback: FeedbackMode) -> Pair {
    let mut config = End::A.sender(1);
    config.send = Some(SendConfig {
        feedback,
        ..SendConfig::new(PAYLOAD_TYPE)
    });
    let mut pair = Pair::new(config, End::B.receiver(2));
    pair.payload = PAYLOAD;
    pair.kill(End::B);
    pair.run(secs(3));
    pair
}

fn count(pair: &Pair, is_counted: impl Fn(&EventKind) -> bool) -> usize {
    pair.kinds(End::A).filter(is_counted).count()
}

fn receiver_report(author: u32, about: u32) -> Vec<u8> {
    let block = ReportBlock {
        ssrc: about,
        fraction_lost: 0,
        cumulative_lost: 0,
        highest_sequence: 0,
        jitter: 0,
        last_sender_report: 0,
        delay_since: 0,
    };
    let mut buf = [0; 64];
    let len = ReceiverReport { ssrc: author }.emit(&[block], &mut buf);
    buf[..len.expect("it fits")].to_vec()
}

fn request(request: KeyframeRequest, author: u32, about: u32) -> Vec<u8> {
    let mut buf = [0; 32];
    let len = request.emit(author, about, &mut buf).expect("it fits");
    buf[..len].to_vec()
}

/// RTPFB of format 1 (RFC 4585 §6.2.1).
fn nack(author: u32, about: u32) -> Vec<u8> {
    let mut bytes = vec![0x81, 205, 0, 3];
    bytes.extend(author.to_be_bytes());
    bytes.extend(about.to_be_bytes());
    bytes.extend([0, 1, 0, 0]);
    bytes
}

/// Reports that the packet `first` and the next came.
fn arrivals(mode: FeedbackMode, author: u32, pair: &Pair, first: u16) -> Vec<u8> {
    let mut buf = [0; 128];
    let (about, now) = (pair.session(End::A).ssrc(), pair.now);
    let len = if mode == FeedbackMode::Ccfb {
        let now = NtpTime::from_bits(0).at(now);
        let packets = [Some((now, Ecn::NotEct)); 2].into_iter();
        ccfb::emit((author, about), first, packets, now, &mut buf)
    } else {
        twcc::emit(
            (author, about),
            first,
            [Some(now); 2].into_iter(),
            0,
            &mut buf,
        )
    };
    buf[..len.expect("it fits")].to_vec()
}

#[test]
fn reports_of_any_author_count_by_their_media() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Twcc] {
        let mut pair = sender(mode);
        let (b, ours) = (End::B.address(), pair.session(End::A).ssrc());
        // pion draws a source for each kind of report, and asks for keyframes in the name of none.
        let first = pair.session(End::A).next_sequence() as u16 - 2;
        for rtcp in [
            arrivals(mode, 11, &pair, first),
            receiver_report(0, ours),
            request(KeyframeRequest::PictureLoss, 0, ours),
            request(KeyframeRequest::FullIntra { number: 1 }, 0, ours),
            nack(0, ours),
            receiver_report(13, ours),
        ] {
            assert_eq!(pair.inject(End::A, b, &rtcp), "control", "{mode:?}");
        }
        pair.run(Duration::from_millis(100));
        let asked = count(&pair, |kind| *kind == EventKind::KeyframeRequested);
        assert_eq!(asked, 2, "{mode:?}");
        let first = pair.session(End::A).next_sequence() as u16 - 2;
        let report = arrivals(mode, 0, &pair, first);
        assert_eq!(pair.inject(End::A, b, &report), "control", "{mode:?}");
        pair.run(Duration::from_millis(100));
        let statistics = pair.session(End::A).statistics();
        assert_eq!(statistics.feedback_received, 2, "{mode:?}");
        // What names other media is still refused.
        for rtcp in [
            receiver_report(0, ours ^ 1),
            request(KeyframeRequest::PictureLoss, 0, ours ^ 1),
            nack(0, ours ^ 1),
        ] {
            assert_eq!(pair.inject(End::A, b, &rtcp), "wrong_ssrc", "{mode:?}");
        }
    }
}

#[test]
fn sources_that_take_turns_are_one_peer() {
    let mut pair = sender(FeedbackMode::Twcc);
    let (b, ours) = (End::B.address(), pair.session(End::A).ssrc());
    for round in 0..60 {
        let author = [11, 12, 0][round % 3];
        let rtcp = receiver_report(author, ours);
        assert_eq!(pair.inject(End::A, b, &rtcp), "control");
        // One of them pauses for longer than a peer that was restarted would.
        pair.run(Duration::from_millis(if round < 9 { 100 } else { 900 }));
    }
    let changed = count(&pair, |kind| matches!(kind, EventKind::PeerChanged { .. }));
    assert_eq!(changed, 0);
    // Who speaks alone from now on is another one.
    for _ in 0..3 {
        pair.inject(End::A, b, &receiver_report(14, ours));
        pair.run(secs(2));
    }
    let changed = count(&pair, |kind| matches!(kind, EventKind::PeerChanged { .. }));
    assert_eq!(changed, 1);
}

#[test]
fn reports_from_a_port_of_their_own_count() {
    let mut pair = sender(FeedbackMode::Ccfb);
    let ours = pair.session(End::A).ssrc();
    let beside = SocketAddr::new(End::B.address().ip(), 5_005);
    let elsewhere = SocketAddr::from(([203, 0, 113, 9], 5_005));
    let report = receiver_report(11, ours);
    assert_eq!(pair.inject(End::A, elsewhere, &report), "wrong_source");
    assert_eq!(pair.inject(End::A, beside, &report), "control");
    let stray = receiver_report(11, ours ^ 1);
    assert_eq!(pair.inject(End::A, beside, &stray), "wrong_source");
    assert_eq!(
        pair.session(End::A).peer_address(),
        Some(End::B.address()),
        "media goes where it went"
    );
}

#[test]
fn rtcp_of_libwebrtc_is_read_whole() {
    let mut config = End::A.sender(1);
    config.ssrc = Some(0x1234_5678);
    config.send = Some(SendConfig {
        feedback: FeedbackMode::Twcc,
        ..SendConfig::new(PAYLOAD_TYPE)
    });
    let mut pair = Pair::new(config, End::B.receiver(2));
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/libwebrtc_rtcp.hex"
    );
    for line in std::fs::read_to_string(path).expect("testdata").lines() {
        let byte = |at| u8::from_str_radix(&line[at..at + 2], 16).expect("hex");
        let bytes: Vec<_> = (0..line.len()).step_by(2).map(byte).collect();
        let verdict = pair.inject(End::A, End::B.address(), &bytes);
        // Its feedback is about numbers that this session did not send.
        let expected = if bytes[1] == 205 {
            "stale_feedback"
        } else {
            "control"
        };
        assert_eq!(verdict, expected, "{line}");
    }
}

/// A media packet of another maker, with a transport-wide number or without.
pub(crate) fn plain(sequence: u16, number: Option<u16>) -> Vec<u8> {
    let header = RtpHeader {
        payload_type: PAYLOAD_TYPE,
        marker: true,
        sequence,
        timestamp: 0,
        ssrc: 7,
    };
    let data = number.unwrap_or_default().to_be_bytes();
    let element = Element {
        id: Config::TRANSPORT_SEQUENCE_ID,
        data: &data,
    };
    let mut buf = [0; 64];
    let elements = number.map(|_| element);
    let len = header.emit(elements.as_slice(), &mut buf).expect("it fits");
    buf[..len + 20].to_vec()
}

fn receiver(feedback: FeedbackMode) -> Pair {
    let mut config = End::B.receiver(2);
    config.receive = Some(ReceiveConfig {
        feedback,
        ..ReceiveConfig::new(PAYLOAD_TYPE)
    });
    let mut pair = Pair::new(End::A.sender(1), config);
    pair.kill(End::A);
    pair
}

#[test]
fn plain_media_is_received_where_reports_permit() {
    for mode in FeedbackMode::ALL {
        let mut pair = receiver(mode);
        let expected = match mode {
            FeedbackMode::Ccfb | FeedbackMode::Twcc => "media",
            _ => "missing_extension",
        };
        for sequence in 0..100 {
            let packet = plain(sequence, None);
            let verdict = pair.inject(End::B, End::A.address(), &packet);
            assert_eq!(verdict, expected, "{mode:?}");
            pair.run(Duration::from_millis(10));
        }
        let reports = pair.session(End::B).statistics().feedback_sent;
        assert_eq!(reports >= 5, expected == "media", "{mode:?}: {reports}");
    }
}

#[test]
fn numbered_media_is_reported_by_its_transport_wide_numbers() {
    let mut pair = receiver(FeedbackMode::Twcc);
    for sequence in 0..50 {
        // Other streams of the sender take numbers too.
        let packet = plain(sequence, Some(1_000 + 3 * sequence));
        assert_eq!(pair.inject(End::B, End::A.address(), &packet), "media");
        pair.run(Duration::from_millis(10));
    }
    let firsts = pair.log.iter().flat_map(|sent| {
        let packets = Packets::parse(&sent.bytes).unwrap().flatten();
        packets.filter_map(|packet| match packet {
            Packet::Feedback(feedback) => Some(twcc::Twcc::parse(feedback.fci).unwrap().first),
            _ => None,
        })
    });
    let firsts: Vec<_> = firsts.collect();
    assert!(firsts.len() > 5, "{firsts:?}");
    assert!(firsts.iter().all(|first| (1_000..1_150).contains(first)));
    // A packet of the stream without a number cannot be reported.
    let stray = plain(50, None);
    let verdict = pair.inject(End::B, End::A.address(), &stray);
    assert_eq!(verdict, "missing_extension");
}

/// Returns the sequence numbers that a session gives to two thousand packets, and its transport-wide ones.
fn numbers(feedback: FeedbackMode, leave_out_sequence_numbers: bool) -> [Vec<u16>; 2] {
    let mut sender = End::A.sender(1);
    sender.send = Some(SendConfig {
        feedback,
        leave_out_sequence_numbers,
        ..SendConfig::new(PAYLOAD_TYPE)
    });
    let mut config = End::B.receiver(2);
    config.receive = Some(ReceiveConfig {
        feedback,
        ..ReceiveConfig::new(PAYLOAD_TYPE)
    });
    let mut pair = Pair::new(sender, config);
    pair.payload = PAYLOAD;
    pair.run(secs(15));
    let mut numbers = [Vec::new(), Vec::new()];
    for sent in pair.log.iter().filter(|sent| sent.is_media) {
        let rtp = RtpPacket::parse(&sent.bytes).expect("RTP of ours");
        numbers[0].push(rtp.header().sequence);
        for element in rtp.elements().flatten() {
            if element.id == Config::TRANSPORT_SEQUENCE_ID {
                numbers[1].push(u16::from_be_bytes(
                    element.data.try_into().expect("two bytes"),
                ));
            }
        }
    }
    assert!(numbers[0].len() > 2_000);
    numbers
}

fn gaps(numbers: &[u16]) -> usize {
    let is_gap = |pair: &[u16]| pair[1] != pair[0].wrapping_add(1);
    numbers.windows(2).filter(|pair| is_gap(pair)).count()
}

#[test]
fn numbers_are_left_out_in_the_transport_wide_space_alone() {
    let [media, transport] = numbers(FeedbackMode::Twcc, false);
    assert_eq!(gaps(&media), 0);
    assert!(gaps(&transport) > 1);
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Sack] {
        let [media, _] = numbers(mode, false);
        assert_eq!(gaps(&media), 0, "{mode:?}");
        // Between endpoints of ours a gap in these numbers harms nobody.
        let [media, _] = numbers(mode, true);
        assert!(gaps(&media) > 1, "{mode:?}");
    }
}

/// Returns a caller whose peer is silent, the peer's address and the caller's source.
fn caller_without_a_peer() -> (Pair, SocketAddr, u32) {
    let caller = with(FeedbackMode::Ccfb, End::A.caller(1));
    let mut pair = Pair::new(caller, End::B.receiver(2));
    pair.kill(End::B);
    pair.run(secs(1));
    let own = pair.session(End::A).ssrc();
    (pair, End::B.address(), own)
}

#[test]
fn media_of_another_source_than_reports_is_heard_at_once() {
    let (mut pair, b, own) = caller_without_a_peer();
    let report = receiver_report(11, own);
    let mut sequence = 0;
    let mut stream = |pair: &mut Pair, packets: u16| {
        for _ in 0..packets {
            let verdict = pair.inject(End::A, b, &plain(sequence, None));
            assert_eq!(verdict, "media", "packet {sequence}");
            sequence += 1;
            pair.run(Duration::from_millis(10));
        }
    };
    for _ in 0..4 {
        assert_eq!(pair.inject(End::A, b, &report), "control");
        stream(&mut pair, 50);
        // A pause of its media makes its reports no successor.
        for _ in 0..6 {
            assert_eq!(pair.inject(End::A, b, &report), "control");
            pair.run(Duration::from_millis(500));
        }
    }
    let changed = count(&pair, |kind| matches!(kind, EventKind::PeerChanged { .. }));
    assert_eq!(changed, 0);
}

#[test]
fn forged_media_beside_reports_keeps_no_media_out() {
    let (mut pair, b, own) = caller_without_a_peer();
    pair.inject(End::A, b, &receiver_report(8, own));
    let mut heard = 0;
    for sequence in 0..200 {
        let verdict = pair.inject(End::A, b, &plain(sequence, None));
        heard += usize::from(verdict == "media");
        pair.run(Duration::from_millis(10));
    }
    assert_eq!(heard, 200, "beside reports of another source");
    // Nor does media that is forged in the name of the source that reports.
    for forger in [8, 9] {
        let mut forged = plain(500, None);
        forged[11] = forger;
        pair.inject(End::A, b, &forged);
    }
    let mut heard = 0;
    for sequence in 200..400 {
        let verdict = pair.inject(End::A, b, &plain(sequence, None));
        heard += usize::from(verdict == "media");
        pair.inject(End::A, b, &receiver_report(8, own));
        pair.run(Duration::from_millis(10));
    }
    assert!(heard >= 140, "{heard} of 200");
}
