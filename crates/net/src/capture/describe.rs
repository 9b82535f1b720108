//! Describes a datagram of a session in words.

use std::fmt::Write as _;

use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::{Feedback, Packet, Packets, TfrcFeedback, ccfb};
use evenkeel_rtp::packet::rtp::{RtpPacket, is_rtcp};
use evenkeel_rtp::session::Config;

/// Names what is in a datagram of RTP or RTCP whose formats have their default numbers; `None` for what
/// is neither, or what Wireshark names itself.
pub fn describe(datagram: &[u8]) -> Option<String> {
    if is_rtcp(datagram) {
        control(datagram)
    } else {
        media(datagram)
    }
}

fn control(datagram: &[u8]) -> Option<String> {
    let mut text = String::new();
    for packet in Packets::parse(datagram).ok()?.flatten() {
        let name = match &packet {
            Packet::SenderReport(..) => "sender report".into(),
            Packet::ReceiverReport(..) => "receiver report".into(),
            Packet::Sdes(_) => "name".into(),
            Packet::Bye(_) => "BYE".into(),
            Packet::Feedback(feedback) => named(feedback),
            Packet::Application(app) => format!("APP {}", app.name.escape_ascii()),
            Packet::PayloadFeedback(feedback) => match feedback.format {
                1 => "picture loss indication".into(),
                4 => "full intra request".into(),
                format => format!("payload feedback of format {format}"),
            },
            Packet::Unknown(raw) => format!("type {}", raw.packet_type),
        };
        let comma = if text.is_empty() { "RTCP: " } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{name}");
    }
    Some(text).filter(|text| !text.is_empty())
}

fn named(feedback: &Feedback<'_>) -> String {
    let tfrc = (feedback.format == Config::FEEDBACK_FORMAT)
        .then(|| TfrcFeedback::parse(feedback.fci).ok())
        .flatten();
    match tfrc {
        Some(report) => format!(
            "TFRC feedback X_recv={} p={:.3e} t_delay={} us t_recvdata={} us",
            report.rate(),
            report.p().get(),
            report.delay().as_micros(),
            report.timestamp
        ),
        None if feedback.format == ccfb::FORMAT => "congestion control feedback (RFC 8888)".into(),
        None => format!("transport feedback of format {}", feedback.format),
    }
}

fn media(datagram: &[u8]) -> Option<String> {
    let rtp = RtpPacket::parse(datagram).ok()?;
    let timing = rtp
        .elements()
        .flatten()
        .find(|element| element.id == Config::EXTENSION_ID)
        .and_then(|element| RttSendTs::parse(element.data).ok())?;
    let rtt = timing
        .rtt()
        .map_or("unknown".into(), |rtt| format!("{} us", rtt.as_micros()));
    Some(format!(
        "TFRC data seq={} sent={} us R={rtt}",
        rtp.header().sequence,
        timing.send_time
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_rtp::packet::ext::Element;
    use evenkeel_rtp::packet::rtp::RtpHeader;
    use tfrc::time::Duration;
    use tfrc::units::{LossEventRate, Rate};

    #[test]
    fn feedback_is_named_with_what_it_says() {
        let report = TfrcFeedback::new(
            1_234,
            Duration::from_micros(56),
            Rate::from_bits_per_sec(2e6),
            LossEventRate::new(0.01),
        );
        let mut buf = [0; 64];
        let len = report
            .emit(Config::FEEDBACK_FORMAT, 1, 2, &mut buf)
            .unwrap();
        let text = describe(&buf[..len]).unwrap();
        for part in [
            "TFRC feedback",
            "X_recv=2.00 Mb/s",
            "p=1.000e-2",
            "t_delay=56 us",
            "t_recvdata=1234 us",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn data_is_named_with_its_timing() {
        let timing = RttSendTs::new(Some(Duration::from_millis(20)), 777).to_bytes();
        let header = RtpHeader {
            payload_type: 96,
            marker: false,
            sequence: 5,
            timestamp: 0,
            ssrc: 1,
        };
        let mut buf = [0; 64];
        let element = Element {
            id: Config::EXTENSION_ID,
            data: &timing,
        };
        let len = header.emit(&[element], &mut buf).unwrap();
        assert_eq!(
            describe(&buf[..len]).unwrap(),
            "TFRC data seq=5 sent=777 us R=20000 us"
        );
    }

    #[test]
    fn what_is_neither_has_no_name() {
        assert_eq!(describe(b"hello"), None);
        assert_eq!(describe(&[]), None);
    }
}
