//! Requests for a keyframe: picture loss indication (RFC 4585 §6.3.1) and full intra request (RFC 5104
//! §4.3.1).

use super::feedback::Feedback;
use super::header::{PAYLOAD_FEEDBACK, emit_header};
use crate::packet::wire::{Reader, Writer};

/// The FMT of the two messages.
const PLI: u8 = 1;
const FIR: u8 = 4;

/// A request for a keyframe of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyframeRequest {
    /// Pictures were lost.
    PictureLoss,
    /// A decoder must begin. The request is repeated with the same number until it is answered.
    FullIntra {
        /// The command's number.
        number: u8,
    },
}

impl KeyframeRequest {
    /// The length of a picture loss indication.
    pub const PICTURE_LOSS_LEN: usize = 12;

    /// Returns the request for a keyframe of `media_ssrc` in a payload-specific feedback message, if it has one.
    pub fn find(feedback: &Feedback<'_>, media_ssrc: u32) -> Option<Self> {
        match feedback.format {
            PLI => (feedback.media_ssrc == media_ssrc).then_some(Self::PictureLoss),
            FIR => {
                let mut entries = Reader::new(feedback.fci);
                loop {
                    let ssrc = entries.u32("FIR SSRC").ok()?;
                    let number = entries.u8("FIR number").ok()?;
                    entries.take(3, "FIR reserved").ok()?;
                    if ssrc == media_ssrc {
                        return Some(Self::FullIntra { number });
                    }
                }
            }
            _ => None,
        }
    }

    /// Writes the request; `None` if `buf` is too short.
    pub fn emit(self, ssrc: u32, media_ssrc: u32, buf: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(buf);
        match self {
            Self::PictureLoss => {
                emit_header(&mut writer, PLI, PAYLOAD_FEEDBACK, 8)?;
                writer.u32(ssrc)?;
                writer.u32(media_ssrc)?;
            }
            Self::FullIntra { number } => {
                emit_header(&mut writer, FIR, PAYLOAD_FEEDBACK, 16)?;
                writer.u32(ssrc)?;
                // The entry names the source instead (§4.3.1.2).
                writer.u32(0)?;
                writer.u32(media_ssrc)?;
                writer.u32(u32::from(number) << 24)?;
            }
        }
        Some(writer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::rtcp::{Packet, Packets};
    use proptest::prelude::*;

    fn read(datagram: &[u8], media_ssrc: u32) -> Option<KeyframeRequest> {
        let packet = Packets::parse(datagram).ok()?.next()?.ok()?;
        let Packet::PayloadFeedback(feedback) = packet else {
            return None;
        };
        KeyframeRequest::find(&feedback, media_ssrc)
    }

    #[test]
    fn requests_are_written_as_the_standards_have_them() {
        let mut buf = [0; 20];
        let len = KeyframeRequest::PictureLoss.emit(7, 9, &mut buf).unwrap();
        assert_eq!(buf[..len], [0x81, 206, 0, 2, 0, 0, 0, 7, 0, 0, 0, 9]);
        assert_eq!(len, KeyframeRequest::PICTURE_LOSS_LEN);
        let request = KeyframeRequest::FullIntra { number: 3 };
        assert_eq!(request.emit(7, 9, &mut buf), Some(20));
        let fir = [
            0x84, 206, 0, 4, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 3, 0, 0, 0,
        ];
        assert_eq!(buf, fir);
        assert_eq!(request.emit(7, 9, &mut buf[..19]), None);
    }

    #[test]
    fn a_request_to_another_source_is_none_of_ours() {
        let mut buf = [0; 20];
        for request in [
            KeyframeRequest::PictureLoss,
            KeyframeRequest::FullIntra { number: 200 },
        ] {
            let len = request.emit(7, 9, &mut buf).unwrap();
            assert_eq!(read(&buf[..len], 9), Some(request));
            assert_eq!(read(&buf[..len], 8), None);
        }
    }

    proptest! {
        #[test]
        fn foreign_entries_never_panic(format in 0..32_u8, fci: Vec<u8>, ssrc in 0..3_u32) {
            let feedback = Feedback { format, sender_ssrc: 1, media_ssrc: 2, fci: &fci };
            if KeyframeRequest::find(&feedback, ssrc).is_some() {
                prop_assert!(format == PLI || fci.len() >= 8);
            }
        }
    }
}
