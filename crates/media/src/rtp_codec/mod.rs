//! The RTP side of each codec: payload type, payload format and media type parameters.

mod h264;

use evenkeel_codec::{Codec, dv};

use crate::reassemble::Payload;

/// The properties of a codec in RTP and in a session description.
pub trait RtpCodec: Sized {
    /// Returns the codec's name in a session description.
    fn encoding(self) -> &'static str;

    /// Returns the payload type: the static one (RFC 3551 §6), or else a dynamic one.
    fn payload_type(self) -> u8;

    /// Returns the payload of pictures of this size; `None` if the codec has no such pictures.
    fn payload(self, size: (usize, usize)) -> Option<Payload>;

    /// Returns the media type's parameters for pictures of this size (RFC 4175 §6.1, RFC 6184 §8.1, RFC 6469 §3.2),
    /// if the codec has any.
    fn parameters(self, size: (usize, usize)) -> Option<String>;
}

impl RtpCodec for Codec {
    fn encoding(self) -> &'static str {
        match self {
            Self::Mjpeg => "JPEG",
            Self::Raw => "raw",
            Self::H264 => "H264",
            Self::Dv => "DV",
        }
    }

    fn payload_type(self) -> u8 {
        match self {
            Self::Mjpeg => 26,
            Self::Raw => 96,
            Self::H264 => 97,
            Self::Dv => 98,
        }
    }

    fn payload(self, (width, height): (usize, usize)) -> Option<Payload> {
        match self {
            Self::Mjpeg => Some(Payload::Jpeg),
            Self::Raw => Payload::raw(width, height),
            Self::H264 => evenkeel_codec::h264::is_possible(width, height).then_some(Payload::H264),
            Self::Dv => dv::system((width, height)).map(|system| Payload::Dv {
                system,
                audio: true,
            }),
        }
    }

    fn parameters(self, size: (usize, usize)) -> Option<String> {
        match self {
            Self::Mjpeg => None,
            Self::Raw => self.payload(size)?.raw_parameters(),
            Self::H264 => h264::parameters(size),
            // All blocks of a frame are sent, including its sound (RFC 6469 §3.2.1).
            Self::Dv => {
                dv::system(size).map(|system| format!("encode={}; audio=bundled", system.encode()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_types_are_distinct() {
        let mut types = Codec::ALL.map(Codec::payload_type).to_vec();
        types.push(evenkeel_rtp::session::RepairConfig::PAYLOAD_TYPE);
        let all = types.len();
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), all, "{types:?}");
    }

    #[test]
    fn nearest_size_can_be_sent() {
        for codec in Codec::ALL {
            for size in [(1, 1), (641, 479), (1280, 720), (50_000, 3)] {
                let (width, height) = codec.nearest_size(size);
                assert_eq!(codec.nearest_size((width, height)), (width, height));
                assert!(
                    codec.payload((width, height)).is_some(),
                    "{codec} {width}x{height}"
                );
            }
        }
    }
}
