//! Reads an offer or an answer line by line, in time and memory linear in its length.

use std::str::FromStr;

use super::h264::H264Parameters;
use super::{
    Direction, DtlsSetup, FeedbackTypes, IcePassword, MAX_CANDIDATES, MAX_SECTIONS,
    MAX_SESSION_LEN, MediaFormat, MediaSection, PlayoutDelay, RemoteDescription, SdpError,
    TransportSequence,
};
use crate::packet::sdp::parse::is_payload_type;

/// The most bytes of a `mid`: browsers write one digit.
const MAX_MID: usize = 64;

/// The most bytes of a candidate: a name of 255 bytes, and eight attributes.
pub(super) const MAX_CANDIDATE: usize = 512;

impl RemoteDescription {
    /// Reads an offer or an answer.
    ///
    /// The lines of media, ICE and DTLS must be right, because a call needs them. Any other line that cannot be read counts as
    /// absent. The text has at most [`MAX_SESSION_LEN`] bytes.
    ///
    /// # Errors
    ///
    /// Returns the first line that is invalid, or the field that is missing.
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        if text.len() > MAX_SESSION_LEN {
            return Err(SdpError::TooLong(MAX_SESSION_LEN));
        }
        let mut parser = SessionParser::new();
        for line in text.lines() {
            parser.line += 1;
            if let Some((kind, value)) = line.trim_ascii().split_once('=') {
                parser.handle(kind, value)?;
            }
        }
        parser.finish_section();
        if parser.sections.is_empty() {
            return Err(SdpError::Missing("m= line"));
        }
        Ok(Self {
            sections: parser.sections,
            bundles: parser.bundles,
            ice_lite: parser.ice_lite,
        })
    }
}

struct SessionParser {
    /// The number of the present line, from 1.
    line: usize,
    /// The attributes of the session, with which each section begins.
    session: MediaSection,
    section: Option<MediaSection>,
    sections: Vec<MediaSection>,
    bundles: Vec<Vec<String>>,
    ice_lite: bool,
    candidates: usize,
    /// The place of each payload type among the formats of the section.
    places: [Option<u8>; 128],
    /// The feedback of all payload types of the section.
    for_all: FeedbackTypes,
}

impl SessionParser {
    fn new() -> Self {
        Self {
            line: 0,
            session: MediaSection::default(),
            section: None,
            sections: Vec::new(),
            bundles: Vec::new(),
            ice_lite: false,
            candidates: 0,
            places: [None; 128],
            for_all: FeedbackTypes::default(),
        }
    }

    fn invalid(&self, field: &'static str, value: &str, remedy: &'static str) -> SdpError {
        SdpError::line(self.line, field, value, remedy)
    }

    fn handle(&mut self, kind: &str, value: &str) -> Result<(), SdpError> {
        match kind {
            "v" if value != "0" => Err(self.invalid("version", value, "write v=0")),
            "m" => self.media(value),
            "a" => self.attribute(value),
            _ => Ok(()),
        }
    }

    /// Begins a section.
    fn media(&mut self, value: &str) -> Result<(), SdpError> {
        self.finish_section();
        if self.sections.len() >= MAX_SECTIONS {
            return Err(self.invalid("m=", value, "offer at most 32 streams"));
        }
        let mut words = value.split_ascii_whitespace();
        let mut word = || words.next().filter(|word| is_token(word));
        let (Some(kind), Some(port), Some(protocol), Some(first_format)) =
            (word(), word(), word(), word())
        else {
            let remedy =
                "write media type, port, protocol and formats, as in video 9 UDP/TLS/RTP/SAVPF 96";
            return Err(self.invalid("m=", value, remedy));
        };
        let Some(port) = number(port) else {
            return Err(self.invalid("port", port, "write a number from 0 to 65535"));
        };
        self.places = [None; 128];
        self.for_all = FeedbackTypes::default();
        let mut formats = Vec::new();
        if protocol.contains("RTP/") {
            let listed = std::iter::once(first_format).chain(words);
            for payload_type in listed.filter_map(number).filter(is_payload_type) {
                let place = &mut self.places[usize::from(payload_type)];
                if place.is_none() {
                    *place = Some(formats.len() as u8);
                    formats.push(MediaFormat {
                        payload_type,
                        ..MediaFormat::default()
                    });
                }
            }
        }
        self.section = Some(MediaSection {
            line: self.line,
            kind: kind.to_owned(),
            port,
            protocol: protocol.to_owned(),
            first_format: first_format.to_owned(),
            formats,
            ..self.session.clone()
        });
        Ok(())
    }

    fn finish_section(&mut self) {
        if let Some(mut section) = self.section.take() {
            for format in &mut section.formats {
                format.feedback = format.feedback.and(self.for_all);
            }
            self.sections.push(section);
        }
    }

    fn attribute(&mut self, value: &str) -> Result<(), SdpError> {
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        let (of, what) = value.split_once(' ').unwrap_or((value, ""));
        let what = what.trim_ascii_start();
        match name {
            "group" if self.section.is_none() && of == "BUNDLE" => {
                if self.bundles.len() < MAX_SECTIONS {
                    let mids = what.split_ascii_whitespace().take(MAX_SECTIONS);
                    self.bundles.push(mids.map(str::to_owned).collect());
                }
            }
            "ice-lite" => self.ice_lite = true,
            "mid" => return self.mid(value),
            "candidate" => self.candidate(value),
            "rtpmap" => {
                if let Some(format) = self.format(of) {
                    let (encoding, clock) = what.split_once('/').unwrap_or((what, ""));
                    let clock = clock.split('/').next().unwrap_or_default();
                    format.encoding = encoding.to_owned();
                    format.clock_rate = number(clock).unwrap_or_default();
                }
            }
            "fmtp" => {
                if let Some(format) = self.format(of) {
                    format.h264 = H264Parameters::parse(what);
                }
            }
            "rtcp-fb" if of == "*" => self.for_all.insert(what),
            "rtcp-fb" => {
                if let Some(format) = self.format(of) {
                    format.feedback.insert(what);
                }
            }
            "extmap" => {
                // Identifiers above 14 exist only in the two-byte form (RFC 8285 §4.2).
                let id = of.split('/').next().and_then(number);
                let id = id.filter(|id| matches!(id, 1..=14));
                match what.split_ascii_whitespace().next() {
                    Some(TransportSequence::URI) => self.present().transport_sequence_id = id,
                    Some(PlayoutDelay::URI) => self.present().playout_delay_id = id,
                    _ => {}
                }
            }
            _ => return self.transport(name, value),
        }
        Ok(())
    }

    /// Reads attributes that the session may state for all sections.
    fn transport(&mut self, name: &str, value: &str) -> Result<(), SdpError> {
        match name {
            "ice-ufrag" => self.present().ufrag = Some(self.ice_text("ice-ufrag", value, 4)?),
            "ice-pwd" => {
                let password = self.ice_text("ice-pwd", value, 22)?;
                self.present().password = Some(IcePassword(password));
            }
            "fingerprint" => {
                let (hash, fingerprint) = value.split_once(' ').unwrap_or((value, ""));
                if hash.eq_ignore_ascii_case("sha-256") && is_fingerprint(fingerprint) {
                    self.present().fingerprint = Some(fingerprint.to_owned());
                }
            }
            "setup" => {
                let setup = DtlsSetup::ALL
                    .into_iter()
                    .find(|setup| setup.name() == value);
                let remedy = "write actpass, active or passive";
                let setup = setup.ok_or_else(|| self.invalid("setup", value, remedy))?;
                self.present().setup = Some(setup);
            }
            "rtcp-mux" => self.present().mux = true,
            "rtcp-rsize" => self.present().reduced_size = true,
            "bundle-only" => self.present().bundle_only = true,
            _ => {
                if let Some(direction) = Direction::ALL.into_iter().find(|d| d.name() == name) {
                    self.present().direction = direction;
                }
            }
        }
        Ok(())
    }

    /// Returns the section to which an attribute belongs, or the session.
    fn present(&mut self) -> &mut MediaSection {
        self.section.as_mut().unwrap_or(&mut self.session)
    }

    fn format(&mut self, payload_type: &str) -> Option<&mut MediaFormat> {
        let section = self.section.as_mut()?;
        let payload_type: usize = number(payload_type)?;
        let place = self.places.get(payload_type).copied().flatten()?;
        section.formats.get_mut(usize::from(place))
    }

    fn mid(&mut self, value: &str) -> Result<(), SdpError> {
        let is_taken = |section: &MediaSection| section.mid.as_deref() == Some(value);
        if !is_token(value) || value.len() > MAX_MID || self.sections.iter().any(is_taken) {
            let remedy = "give each section its own name of letters and digits, 64 at most";
            return Err(self.invalid("mid", value, remedy));
        }
        if let Some(section) = &mut self.section {
            section.mid = Some(value.to_owned());
        }
        Ok(())
    }

    fn candidate(&mut self, value: &str) {
        if let Some(section) = &mut self.section
            && self.candidates < MAX_CANDIDATES
            && value.len() <= MAX_CANDIDATE
        {
            self.candidates += 1;
            section.candidates.push(value.to_owned());
        }
    }

    /// Reads a user fragment or a password (RFC 8839 §5.4), which the error does not repeat.
    fn ice_text(&self, field: &'static str, value: &str, least: usize) -> Result<String, SdpError> {
        read_ice_text(value, least).ok_or_else(|| {
            let remedy = "write letters, digits, + and /: 4 to 256 of a user fragment, 22 to 256 of a password";
            self.invalid(field, &format!("of {} bytes", value.len()), remedy)
        })
    }
}

/// Returns a user fragment or a password, if it is one.
pub(super) fn read_ice_text(value: &str, least: usize) -> Option<String> {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let is_ice = (least..=256).contains(&value.len()) && value.bytes().all(is_right);
    is_ice.then(|| value.to_owned())
}

/// Returns true for a word that may be repeated in an answer (RFC 8866 §9, with the slashes of a protocol).
fn is_token(word: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_graphic() && !b"\"(),:;<=>?@[\\]".contains(&byte);
    !word.is_empty() && word.bytes().all(is_right)
}

/// Returns true for 32 pairs of hexadecimal digits with colons in between.
fn is_fingerprint(text: &str) -> bool {
    let is_right = |(place, byte): (usize, u8)| match place % 3 {
        2 => byte == b':',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 32 * 3 - 1 && text.bytes().enumerate().all(is_right)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}
