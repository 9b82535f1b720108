//! Iterates over the packets of a datagram (RFC 3550 §6.1).

use super::app::App;
use super::bye::Bye;
use super::feedback::Feedback;
use super::header::{
    APPLICATION, GOODBYE, PAYLOAD_FEEDBACK, RECEIVER_REPORT, RawPacket, SENDER_REPORT,
    SOURCE_DESCRIPTION, TRANSPORT_FEEDBACK, raw_packet,
};
use super::receiver_report::{ReceiverReport, ReportBlocks};
use super::sdes::Sdes;
use super::sender_report::SenderReport;
use crate::packet::wire::ParseError;

/// A packet of a type that this crate reads, or an unknown one.
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
    /// An application-defined packet.
    Application(App<'a>),
    /// Transport-layer feedback of any format.
    Feedback(Feedback<'a>),
    /// Payload-specific feedback of any format.
    PayloadFeedback(Feedback<'a>),
    /// A packet of another type, which is skipped (RFC 3550 §6.1).
    Unknown(RawPacket<'a>),
}

impl Packet<'_> {
    /// Returns the source that wrote the packet, if the packet names one.
    pub(super) fn author(&self) -> Option<u32> {
        match self {
            Self::SenderReport(report, _) => Some(report.ssrc),
            Self::ReceiverReport(report, _) => Some(report.ssrc),
            Self::Feedback(feedback) | Self::PayloadFeedback(feedback) => {
                Some(feedback.sender_ssrc)
            }
            Self::Application(app) => Some(app.ssrc),
            Self::Sdes(sdes) => sdes.chunks().next().map(|chunk| chunk.ssrc),
            Self::Bye(bye) => bye.sources().next(),
            Self::Unknown(raw) => raw.body.first_chunk().map(|ssrc| u32::from_be_bytes(*ssrc)),
        }
    }
}

/// The packets of a datagram, a compound or a reduced-size one (RFC 5506).
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    datagram: &'a [u8],
    offset: usize,
}

impl<'a> Packets<'a> {
    /// Checks every common header: version 2, and lengths that add up to the datagram (RFC 3550 §A.2). The iteration
    /// checks the content of packets. Any packet may be padded, because some peers join packets that they padded.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
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
            offset = end;
        }
    }

    /// Returns true if the datagram is a compound, which begins with a report (RFC 3550 §6.1).
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

#[cfg(test)]
mod tests {
    use super::super::{KeyframeRequest, TfrcFeedback};
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
    fn padding_counts_itself_and_fits_into_its_packet() {
        let padded = [0xa0, 201, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4];
        assert_eq!(kinds(&[&EMPTY_RR[..], &padded].concat()), [201, 201]);
        assert_eq!(kinds(&[&padded[..], &EMPTY_RR].concat()), [201, 201]);
        let app = [
            0xa0, 204, 0, 3, 0, 0, 0, 7, b't', b'e', b's', b't', 1, 0, 0, 0,
        ];
        for count in 1..=4 {
            let mut padded = app;
            padded[15] = count;
            let Some(Ok(Packet::Application(app))) = Packets::parse(&padded).unwrap().next() else {
                panic!("no APP with {count} bytes of padding");
            };
            assert_eq!(app.data.len(), 4 - usize::from(count));
        }
        for count in [0, 9, 255] {
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
        // The receiver report claims one block and has none.
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
