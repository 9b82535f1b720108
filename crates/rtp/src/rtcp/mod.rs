//! RTCP (RFC 3550 §6): the packets of a datagram, told apart and checked.

pub mod app;
pub mod bye;
pub mod ccfb;
pub mod feedback;
pub mod keyframe;
pub mod receiver_report;
pub mod sack;
pub mod sdes;
pub mod sender_report;
pub mod tfrc_app;
pub mod twcc;

use crate::wire::{ParseError, Writer};

pub use app::App;
pub use bye::Bye;
pub use feedback::{Feedback, TfrcFeedback, TransitBounds};
pub use keyframe::KeyframeRequest;
pub use receiver_report::{ReceiverReport, ReportBlock, ReportBlocks};
pub use sdes::Sdes;
pub use sender_report::SenderReport;
pub use tfrc_app::TfrcApp;

/// Packet type of a sender report.
pub const SENDER_REPORT: u8 = 200;
/// Packet type of a receiver report.
pub const RECEIVER_REPORT: u8 = 201;
/// Packet type of a source description.
pub const SOURCE_DESCRIPTION: u8 = 202;
/// Packet type of BYE.
pub const GOODBYE: u8 = 203;
/// Packet type of an application-defined packet.
pub const APPLICATION: u8 = 204;
/// Packet type of transport-layer feedback, RTPFB (RFC 4585 §6.1).
pub const TRANSPORT_FEEDBACK: u8 = 205;

/// Packet type of payload-specific feedback, PSFB (RFC 4585 §6.1).
pub const PAYLOAD_FEEDBACK: u8 = 206;

/// The common header of an RTCP packet, and the packet's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// The five bits beside the version: a count, or a feedback format.
    pub count: u8,
    /// The packet type.
    pub packet_type: u8,
    /// What follows the common header of four bytes, padding removed.
    pub body: &'a [u8],
    /// Where the packet begins in its datagram.
    pub offset: usize,
}

impl RawPacket<'_> {
    /// An error in the body, at its place in the datagram.
    fn locate(&self, error: ParseError) -> ParseError {
        let base = self.offset + 4;
        match error {
            ParseError::Truncated { field, offset } => ParseError::Truncated {
                field,
                offset: base + offset,
            },
            ParseError::Invalid { field, offset } => ParseError::Invalid {
                field,
                offset: base + offset,
            },
        }
    }
}

/// A packet that we read.
#[derive(Clone, Debug)]
pub enum Packet<'a> {
    /// A sender report and its reception reports.
    SenderReport(SenderReport, ReportBlocks<'a>),
    /// A receiver report and its reception reports.
    ReceiverReport(ReceiverReport, ReportBlocks<'a>),
    /// Source descriptions.
    Sdes(Sdes<'a>),
    /// Sources that leave.
    Bye(Bye<'a>),
    /// What its name says.
    Application(App<'a>),
    /// Transport-layer feedback, of whatever format.
    Feedback(Feedback<'a>),
    /// Payload-specific feedback, of whatever format.
    PayloadFeedback(Feedback<'a>),
    /// A type that we do not read; RFC 3550 §6.1 has it skipped.
    Unknown(RawPacket<'a>),
}

/// The packets of a datagram, a compound or a reduced-size one (RFC 5506).
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    datagram: &'a [u8],
    offset: usize,
}

impl<'a> Packets<'a> {
    /// Checks every common header: version 2, lengths that add up to the datagram, padding in the
    /// last packet only (RFC 3550 §A.2). What the packets hold is checked as they are iterated.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, ParseError> {
        let mut offset = 0;
        loop {
            let (_, end) = raw_packet(datagram, offset)?;
            if end == datagram.len() {
                return Ok(Self {
                    datagram,
                    offset: 0,
                });
            }
            if datagram[offset] & 0x20 != 0 {
                return Err(ParseError::Invalid {
                    field: "padding bit",
                    offset,
                });
            }
            offset = end;
        }
    }

    /// True if the datagram is a compound: it begins with a report (RFC 3550 §6.1).
    pub fn is_compound(&self) -> bool {
        matches!(self.datagram[1], SENDER_REPORT | RECEIVER_REPORT)
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.datagram.len() {
            return None;
        }
        let (raw, end) = match raw_packet(self.datagram, self.offset) {
            Ok(found) => found,
            Err(error) => {
                self.offset = self.datagram.len();
                return Some(Err(error));
            }
        };
        self.offset = end;
        Some(typed(raw).map_err(|error| raw.locate(error)))
    }
}

/// The packet at `offset` and the offset of its end.
fn raw_packet(datagram: &[u8], offset: usize) -> Result<(RawPacket<'_>, usize), ParseError> {
    let truncated = |field| ParseError::Truncated { field, offset };
    let rest = datagram.get(offset..).unwrap_or_default();
    let (&[first, packet_type, w1, w2], _) =
        rest.split_first_chunk().ok_or(truncated("RTCP header"))?;
    if first >> 6 != 2 {
        return Err(ParseError::Invalid {
            field: "version",
            offset,
        });
    }
    let len = (usize::from(u16::from_be_bytes([w1, w2])) + 1) * 4;
    let packet = rest.get(..len).ok_or(truncated("RTCP packet"))?;
    let end = offset + len;
    let mut body = &packet[4..];
    if first & 0x20 != 0 {
        let padding = packet[len - 1];
        let kept = body.len().checked_sub(usize::from(padding));
        match kept {
            Some(kept) if padding > 0 && padding.is_multiple_of(4) => body = &body[..kept],
            _ => {
                return Err(ParseError::Invalid {
                    field: "padding count",
                    offset: end - 1,
                });
            }
        }
    }
    let raw = RawPacket {
        count: first & 0x1f,
        packet_type,
        body,
        offset,
    };
    Ok((raw, end))
}

fn typed(raw: RawPacket<'_>) -> Result<Packet<'_>, ParseError> {
    Ok(match raw.packet_type {
        SENDER_REPORT => {
            let (report, blocks) = SenderReport::parse(raw.count, raw.body)?;
            Packet::SenderReport(report, blocks)
        }
        RECEIVER_REPORT => {
            let (report, blocks) = ReceiverReport::parse(raw.count, raw.body)?;
            Packet::ReceiverReport(report, blocks)
        }
        SOURCE_DESCRIPTION => Packet::Sdes(Sdes::parse(raw.count, raw.body)?),
        GOODBYE => Packet::Bye(Bye::parse(raw.count, raw.body)?),
        APPLICATION => Packet::Application(App::parse(raw.count, raw.body)?),
        TRANSPORT_FEEDBACK => Packet::Feedback(Feedback::parse(raw.count, raw.body)?),
        PAYLOAD_FEEDBACK => Packet::PayloadFeedback(Feedback::parse(raw.count, raw.body)?),
        _ => Packet::Unknown(raw),
    })
}

/// Writes the common header of a packet whose body has `body_len` bytes, a multiple of four.
fn emit_header(writer: &mut Writer<'_>, count: u8, packet_type: u8, body_len: usize) -> Option<()> {
    debug_assert!(body_len.is_multiple_of(4));
    if count > 31 {
        return None;
    }
    writer.u8(0x80 | count)?;
    writer.u8(packet_type)?;
    writer.u16(u16::try_from(body_len / 4).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EMPTY_RR: [u8; 8] = [0x80, 201, 0, 1, 0, 0, 0, 7];

    fn kinds(datagram: &[u8]) -> Vec<u8> {
        Packets::parse(datagram)
            .unwrap()
            .map(|packet| match packet.unwrap() {
                Packet::SenderReport(..) => SENDER_REPORT,
                Packet::ReceiverReport(..) => RECEIVER_REPORT,
                Packet::Sdes(_) => SOURCE_DESCRIPTION,
                Packet::Bye(_) => GOODBYE,
                Packet::Application(_) => APPLICATION,
                Packet::Feedback(_) => TRANSPORT_FEEDBACK,
                Packet::PayloadFeedback(_) => PAYLOAD_FEEDBACK,
                Packet::Unknown(raw) => raw.packet_type,
            })
            .collect()
    }

    #[test]
    fn a_compound_is_taken_apart() {
        let app = [0x81, 204, 0, 2, 0, 0, 0, 7, b't', b'e', b's', b't'];
        let bye = [0x81, 203, 0, 1, 0, 0, 0, 7];
        let datagram = [&EMPTY_RR[..], &app, &bye].concat();
        assert_eq!(kinds(&datagram), [201, 204, 203]);
        assert!(Packets::parse(&datagram).unwrap().is_compound());
        assert!(!Packets::parse(&bye).unwrap().is_compound());
    }

    #[test]
    fn lengths_that_do_not_add_up_are_errors_with_their_place() {
        let two = [EMPTY_RR, EMPTY_RR].concat();
        for cut in 0..two.len() {
            let result = Packets::parse(&two[..cut]).map(drop);
            if cut == 8 {
                assert_eq!(result, Ok(()));
                continue;
            }
            let Err(ParseError::Truncated { offset, .. }) = result else {
                panic!("{cut} bytes parsed");
            };
            assert_eq!(offset, cut / 8 * 8);
        }
    }

    #[test]
    fn padding_belongs_to_the_last_packet_and_counts_itself() {
        let padded = [0xa0, 201, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4];
        assert_eq!(kinds(&[&EMPTY_RR[..], &padded].concat()), [201, 201]);
        let misplaced = [&padded[..], &EMPTY_RR].concat();
        let field = "padding bit";
        assert_eq!(
            Packets::parse(&misplaced).map(drop),
            Err(ParseError::Invalid { field, offset: 0 })
        );
        for count in [0, 3, 12] {
            let mut bad = padded;
            bad[11] = count;
            let error = ParseError::Invalid {
                field: "padding count",
                offset: 11,
            };
            assert_eq!(Packets::parse(&bad).map(drop), Err(error));
        }
    }

    #[test]
    fn an_error_inside_a_packet_is_placed_in_the_datagram() {
        // A receiver report that claims one block and has none.
        let datagram = [&EMPTY_RR[..], &[0x81, 201, 0, 1, 0, 0, 0, 7]].concat();
        let errors: Vec<_> = Packets::parse(&datagram)
            .unwrap()
            .filter_map(Result::err)
            .collect();
        let error = ParseError::Truncated {
            field: "report blocks",
            offset: 16,
        };
        assert_eq!(errors, [error]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            packets in proptest::collection::vec(
                (0x80..0xc0u8, 195..210u8, proptest::collection::vec(any::<[u8; 4]>(), 0..9)), 1..5),
            noise: Vec<u8>,
        ) {
            let mut datagram = Vec::new();
            for (first, packet_type, words) in packets {
                datagram.extend([first, packet_type, 0, words.len() as u8]);
                datagram.extend(words.concat());
            }
            for input in [&datagram, &noise] {
                let Ok(packets) = Packets::parse(input) else { continue };
                for packet in packets {
                    match packet {
                        Ok(Packet::SenderReport(_, blocks) | Packet::ReceiverReport(_, blocks)) =>
                            prop_assert!(blocks.count() <= 31),
                        Ok(Packet::Sdes(sdes)) => sdes.chunks().for_each(|chunk| {
                            chunk.items().for_each(drop);
                        }),
                        Ok(Packet::Bye(bye)) => prop_assert!(bye.sources().count() <= 31),
                        Ok(Packet::Feedback(feedback)) => drop(TfrcFeedback::parse(feedback.fci)),
                        Ok(Packet::PayloadFeedback(feedback)) => {
                            KeyframeRequest::find(&feedback, 7);
                        }
                        Ok(Packet::Application(_) | Packet::Unknown(_)) | Err(_) => {}
                    }
                }
            }
        }
    }
}
