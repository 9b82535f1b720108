//! RTP packets, their header extensions and `rtt-sendts`.

use evenkeel_rtp::packet::ext::{Element, RttSendTs, one_byte_len};
use evenkeel_rtp::packet::rtp::{HEADER_LEN, RtpPacket};

/// Reads a packet; what reads well and fits the one-byte form must survive being written and read.
pub fn check(data: &[u8]) {
    let Ok(packet) = RtpPacket::parse(data) else {
        return;
    };
    let mut elements = Vec::new();
    for element in packet.elements() {
        let Ok(element) = element else { break };
        check_timing(element.data);
        elements.push(element);
    }
    elements.retain(|element| matches!(element.id, 1..=14) && matches!(element.data.len(), 1..=16));
    let header = packet.header();
    let mut buf = vec![0; HEADER_LEN + one_byte_len(&elements) + packet.payload().len()];
    let headers = header
        .emit(&elements, &mut buf)
        .expect("the buffer is large enough");
    let len = headers + packet.payload().len();
    buf[headers..len].copy_from_slice(packet.payload());
    let again = RtpPacket::parse(&buf[..len]).expect("what we write, we read");
    assert_eq!(again.header(), header);
    assert_eq!(again.payload(), packet.payload());
    let read: Result<Vec<Element<'_>>, _> = again.elements().collect();
    assert_eq!(read.as_ref(), Ok(&elements));
}

fn check_timing(data: &[u8]) {
    if let Ok(timing) = RttSendTs::parse(data) {
        assert_eq!(timing.to_bytes(), data);
        assert_eq!(RttSendTs::new(timing.rtt(), timing.send_time), timing);
    }
}
