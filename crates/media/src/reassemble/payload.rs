//! The payload formats of a stream, and their parameters in a session description.

use std::str::FromStr;

use evenkeel_codec::dif::System;

use evenkeel_codec::{Codec, raw};

/// The payload format of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// JPEG (RFC 2435).
    Jpeg,
    /// Uncompressed video (RFC 4175): 4:2:2, 8 bit, progressive. No packet repeats the size.
    Raw {
        /// The width, an even number.
        width: u16,
        /// The height.
        height: u16,
    },
    /// H.264 (RFC 6184), packetisation mode 0 or 1.
    H264,
    /// DV (RFC 6469) at 25 Mb/s.
    Dv {
        /// The scanning system, which is the same in every packet.
        system: System,
        /// True if the blocks of sound accompany the blocks of the picture.
        audio: bool,
    },
}

impl Payload {
    /// Returns the payload of uncompressed pictures of this size; `None` if there are none.
    pub fn raw(width: usize, height: usize) -> Option<Self> {
        raw::dimensions(width, height).map(|(width, height)| Self::Raw { width, height })
    }

    /// Returns the codec of the pictures.
    pub const fn codec(self) -> Codec {
        match self {
            Self::Jpeg => Codec::Mjpeg,
            Self::Raw { .. } => Codec::Raw,
            Self::H264 => Codec::H264,
            Self::Dv { .. } => Codec::Dv,
        }
    }

    /// Returns the parameters of the media type for uncompressed video (RFC 4175 §6.1).
    pub(crate) fn raw_parameters(self) -> Option<String> {
        match self {
            Self::Raw { width, height } => Some(format!(
                "sampling={SAMPLING}; width={width}; height={height}; depth={DEPTH}; \
                 colorimetry={COLORIMETRY}"
            )),
            Self::Jpeg | Self::H264 | Self::Dv { .. } => None,
        }
    }

    /// Reads the parameters of a stream of this codec from a description.
    ///
    /// # Errors
    /// Returns the parameter that is missing, malformed or unsupported.
    pub fn described(codec: Codec, parameters: &str) -> Result<Self, ParameterError> {
        match codec {
            Codec::Mjpeg => Ok(Self::Jpeg),
            Codec::Raw => {
                let value = |name| value(parameters, name).ok_or(ParameterError::Raw(name));
                let number = |name| {
                    let value = value(name)?;
                    usize::from_str(value).map_err(|_| ParameterError::Raw(name))
                };
                if !value("sampling")?.eq_ignore_ascii_case(SAMPLING) {
                    return Err(ParameterError::Raw("sampling"));
                }
                if number("depth")? != DEPTH {
                    return Err(ParameterError::Raw("depth"));
                }
                Self::raw(number("width")?, number("height")?).ok_or(ParameterError::Raw("width"))
            }
            // The default is mode 0 (RFC 6184 §8.1).
            Codec::H264 => match value(parameters, "packetization-mode") {
                None | Some("0" | "1") => Ok(Self::H264),
                Some(_) => Err(ParameterError::PacketizationMode),
            },
            Codec::Dv => {
                let encode = value(parameters, "encode").unwrap_or_default();
                let mut systems = System::ALL.into_iter();
                let system = systems.find(|system| system.is_encoded_as(encode));
                Ok(Self::Dv {
                    system: system.ok_or(ParameterError::Dv("encode"))?,
                    // The default is no audio (RFC 6469 §3.1.1).
                    audio: match value(parameters, "audio") {
                        None | Some("none") => false,
                        Some("bundled") => true,
                        Some(_) => return Err(ParameterError::Dv("audio")),
                    },
                })
            }
        }
    }
}

/// The payloads of a stream, between which the sender may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payloads {
    first: Payload,
    alternatives: Vec<(u8, Payload)>,
}

impl Payloads {
    /// Creates the payloads of a stream that begins with `first`; each of the `alternatives` follows its payload type.
    pub const fn new(first: Payload, alternatives: Vec<(u8, Payload)>) -> Self {
        Self {
            first,
            alternatives,
        }
    }

    /// Adds a payload with its payload type, unless its codec is in the stream.
    pub fn add(&mut self, payload_type: u8, payload: Payload) {
        let mut codecs = [self.first]
            .into_iter()
            .chain(self.alternatives.iter().map(|(_, it)| *it));
        if codecs.all(|it| it.codec() != payload.codec()) {
            self.alternatives.push((payload_type, payload));
        }
    }

    /// Returns the payload of packets of this payload type. The session accepts payload types of the stream alone.
    pub(crate) fn of(&self, payload_type: u8) -> Payload {
        let other = self
            .alternatives
            .iter()
            .find(|(number, _)| *number == payload_type);
        other.map_or(self.first, |(_, payload)| *payload)
    }

    /// Returns the payload type of pictures of this codec; `None` if it is the first, or not in the stream.
    pub(crate) fn payload_type(&self, codec: Codec) -> Option<u8> {
        let mut alternatives = self.alternatives.iter();
        let other = alternatives.find(|(_, payload)| payload.codec() == codec);
        other.map(|(number, _)| *number)
    }
}

impl From<Payload> for Payloads {
    fn from(payload: Payload) -> Self {
        Self::new(payload, Vec::new())
    }
}

/// The only supported sampling, and its bits.
const SAMPLING: &str = "YCbCr-4:2:2";
const DEPTH: usize = 8;

/// The colorimetry of pictures (`evenkeel_codec::picture::Picture`).
const COLORIMETRY: &str = "BT601-5";

/// Returns the value of `name=value` in a list with semicolons, or with spaces as in RFC 6469's examples.
fn value<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split([';', ' ']).find_map(|parameter| {
        let (key, value) = parameter.trim().split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The parameter of a stream that is missing or has an unsupported value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A parameter of uncompressed video.
    #[error(
        "uncompressed video: {0} is missing or not ours; it must be sampling={SAMPLING}, depth={DEPTH}, \
         an even width and at most the pixels of 3840x2160"
    )]
    Raw(&'static str),
    /// The packetisation mode of H.264.
    #[error("H.264: packetization-mode must be 0 or 1")]
    PacketizationMode,
    /// A parameter of DV.
    #[error(
        "DV: encode must be SD-VCR/525-60, SD-VCR/625-50 or 314M-25/525-60, audio none or bundled"
    )]
    Dv(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp_codec::RtpCodec as _;

    #[test]
    fn description_round_trips() {
        let payload = Payload::raw(1280, 720).unwrap();
        let parameters = Codec::Raw.parameters((1280, 720)).unwrap();
        assert_eq!(Payload::described(Codec::Raw, &parameters), Ok(payload));
        assert_eq!(Codec::Mjpeg.parameters((1280, 720)), None);
        assert_eq!(Payload::described(Codec::Mjpeg, ""), Ok(Payload::Jpeg));
        assert_eq!(Payload::described(Codec::H264, ""), Ok(Payload::H264));
    }

    #[test]
    fn colorimetry_is_constant_and_any_is_accepted() {
        let expected = "colorimetry=BT601-5";
        for size in [(720, 576), (768, 578)] {
            let parameters = Codec::Raw.parameters(size).unwrap();
            assert!(parameters.ends_with(expected), "{parameters}");
            for other in ["colorimetry=BT601-5", "colorimetry=BT709-2", ""] {
                let described =
                    Payload::described(Codec::Raw, &parameters.replace(expected, other));
                assert_eq!(described.ok(), Payload::raw(size.0, size.1));
            }
        }
    }

    #[test]
    fn dv_description_has_system_and_sound() {
        for system in System::ALL {
            let parameters = Codec::Dv.parameters(system.size()).unwrap();
            let audio = true;
            let payload = Payload::described(Codec::Dv, &parameters);
            assert_eq!(payload, Ok(Payload::Dv { system, audio }), "{parameters}");
        }
        // RFC 6469 §3.3.1.
        let silent = Payload::described(Codec::Dv, "encode=SD-VCR/525-60 audio=none");
        let (system, audio) = (System::Lines525, false);
        assert_eq!(silent, Ok(Payload::Dv { system, audio }));
        assert_eq!(Payload::described(Codec::Dv, "encode=306M/525-60"), silent);
        for (parameters, name) in [
            ("audio=none", "encode"),
            ("encode=314M-50/525-60", "encode"),
            ("encode=SD-VCR/525-60; audio=both", "audio"),
        ] {
            let refused = Payload::described(Codec::Dv, parameters);
            assert_eq!(refused, Err(ParameterError::Dv(name)), "{parameters}");
        }
    }

    #[test]
    fn a_parameter_that_is_not_ours_is_named() {
        let interleaved = Payload::described(Codec::H264, "packetization-mode=2");
        assert_eq!(interleaved, Err(ParameterError::PacketizationMode));
        let good = "Sampling=YCbCr-4:2:2;WIDTH=64;height=48 ; depth=8";
        assert_eq!(
            Payload::described(Codec::Raw, good).ok(),
            Payload::raw(64, 48)
        );
        for (from, to, name) in [
            ("4:2:2", "4:4:4", "sampling"),
            ("depth=8", "depth=10", "depth"),
            ("=64", "=65", "width"),
            ("=64", "=-2", "width"),
            ("=64", "=32766", "width"),
            ("height=48", "", "height"),
        ] {
            let bad = good.replace(from, to);
            let bad = if to == "=32766" {
                bad.replace("=48", "=32767")
            } else {
                bad
            };
            assert_eq!(
                Payload::described(Codec::Raw, &bad),
                Err(ParameterError::Raw(name)),
                "{bad}"
            );
        }
    }
}
