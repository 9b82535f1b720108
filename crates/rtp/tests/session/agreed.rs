//! Peers that agreed on fewer extensions and reports than an endpoint of ours has, as browsers and encoders do.

use std::time::Duration;

use crate::pair::{End, PACKET, PAYLOAD_TYPE, Pair, Sent, secs};
use crate::real_peers::plain;
use evenkeel_rtp::packet::ext::PlayoutDelay;
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::packet::rtp::RtpPacket;
use evenkeel_rtp::session::{FeedbackMode, ReceiveConfig, SendConfig};

#[test]
fn silent_receiver_sends_reception_reports_alone() {
    let mut config = End::B.receiver(2);
    config.receive = Some(ReceiveConfig {
        feedback: FeedbackMode::Ccfb,
        reports: false,
        ..ReceiveConfig::new(PAYLOAD_TYPE)
    });
    let mut pair = Pair::new(End::A.sender(1), config);
    pair.kill(End::A);
    for sequence in 0..1_000 {
        let verdict = pair.inject(End::B, End::A.address(), &plain(sequence, None));
        assert_eq!(verdict, "media");
        pair.run(Duration::from_millis(10));
    }
    assert_eq!(pair.session(End::B).statistics().feedback_sent, 0);
    let packets = |sent: &Sent| {
        let packets = Packets::parse(&sent.bytes).expect("RTCP of ours");
        packets
            .flatten()
            .filter(|packet| matches!(packet, Packet::ReceiverReport(..)))
            .count()
    };
    assert!(pair.log.iter().map(packets).sum::<usize>() > 0);
}

#[test]
fn media_has_no_extension_that_was_not_agreed() {
    let asked = PlayoutDelay {
        min: Duration::ZERO,
        max: Duration::from_millis(150),
    };
    for (feedback, playout_delay, expected) in [
        (FeedbackMode::Ccfb, None, 0),
        (FeedbackMode::Ccfb, Some((3, asked)), 1),
        (FeedbackMode::Twcc, None, 1),
        // The identifier of the transport-wide number.
        (FeedbackMode::Twcc, Some((2, asked)), 1),
    ] {
        let mut sender = End::A.sender(1);
        sender.send = Some(SendConfig {
            feedback,
            playout_delay,
            ..SendConfig::new(PAYLOAD_TYPE)
        });
        let mut receiver = End::B.receiver(2);
        receiver.receive = Some(ReceiveConfig {
            feedback,
            ..ReceiveConfig::new(PAYLOAD_TYPE)
        });
        (sender.extension_id, receiver.extension_id) = (None, None);
        let mut pair = Pair::new(sender, receiver);
        pair.payload = PACKET - 12 - 8 * expected;
        pair.run(secs(5));
        let media: Vec<_> = pair.log.iter().filter(|sent| sent.is_media).collect();
        assert!(media.len() > 500, "{feedback:?}: {}", media.len());
        for sent in media {
            let rtp = RtpPacket::parse(&sent.bytes).expect("RTP of ours");
            assert_eq!(sent.bytes.len(), PACKET);
            assert_eq!(rtp.elements().flatten().count(), expected);
        }
    }
}
