//! Parses a description line by line.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use tfrc::units::Rate;

use super::{
    Description, Direction, KEYFRAME_REQUESTS, MAX_LEN, Profile, REPAIR_ENCODING, REPAIR_GROUP,
    REPAIR_WINDOW, Repair, SdpError, TRANSIT_BOUNDS, feedback_value, is_limited,
};
use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// Reads the first video stream of a description, with its preferred payload type. Other media, and lines and
/// attributes that [`Description`] does not have, are skipped.
impl FromStr for Description {
    type Err = SdpError;

    fn from_str(text: &str) -> Result<Self, SdpError> {
        Self::read(text, |_| true)
    }
}

impl Description {
    /// Reads the first video stream of a description, with the first payload type whose encoding the reader
    /// `knows`.
    ///
    /// Payload types are in the order of preference (RFC 3264 §5.1, §6.1). If the reader knows none, the first
    /// applies. What a receiver needs must be right: the `m=` line, and `rtpmap` and `fmtp` of the payload type. Any
    /// other line that cannot be read counts as absent, because cameras and converters write many that are not of
    /// RFC 8866.
    ///
    /// # Errors
    ///
    /// Returns the first line that is invalid, or the field that is missing.
    pub fn read(text: &str, knows: impl Fn(&str) -> bool) -> Result<Self, SdpError> {
        if text.len() > MAX_LEN {
            return Err(SdpError::TooLong(MAX_LEN));
        }
        // A line about a payload type may precede the one that names its encoding.
        let choice = Parser::default().take_in(text)?.choice(knows);
        let parser = Parser {
            choice,
            ..Parser::default()
        };
        parser.take_in(text)?.finish()
    }
}

/// The part of the description that the parser is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Session,
    Video,
    /// A stream that is not read.
    Other,
}

#[derive(Debug, Default)]
struct Parser {
    /// The number of the present line, from 1.
    line: usize,
    section: Section,
    origin: Option<(u64, IpAddr)>,
    name: String,
    /// The address with its time to live, and the section that has it.
    address: Option<(Section, IpAddr, u8)>,
    sources: Vec<IpAddr>,
    /// The `m=` line: its number, port and profile.
    media: Option<(usize, u16, Profile)>,
    /// The payload type that is read; `None` while its choice is open, and lines about any are then skipped.
    choice: Option<u8>,
    /// The payload types of the stream.
    listed: Vec<u8>,
    /// The encodings of the payload types that are not read.
    others: Vec<(u8, String)>,
    repair: Option<u8>,
    repair_window: Duration,
    repair_ssrcs: Option<[u32; 2]>,
    map: Option<(String, u32)>,
    parameters: Option<String>,
    extension_id: Option<u8>,
    transport_sequence_id: Option<u8>,
    feedback: Vec<FeedbackMode>,
    transit_bounds: bool,
    keyframe_requests: bool,
    reduced_size: bool,
    mux: bool,
    frame_rate: Option<f64>,
    direction: Direction,
    bandwidths: [Option<Rate>; 3],
}

impl Parser {
    fn take_in(mut self, text: &str) -> Result<Self, SdpError> {
        for line in text.lines() {
            self.line += 1;
            if let Some((kind, value)) = line.trim().split_once('=') {
                self.handle(kind.trim_end(), value.trim_start())?;
            }
        }
        Ok(self)
    }

    /// Returns the error that a field of the present line is invalid.
    fn invalid(&self, field: &'static str, value: &str, remedy: &'static str) -> SdpError {
        SdpError::line(self.line, field, value, remedy)
    }

    /// Returns the first payload type whose encoding the reader knows, or the first of all.
    fn choice(&self, knows: impl Fn(&str) -> bool) -> Option<u8> {
        let is_known = |&&payload_type: &&u8| {
            let mut maps = self.others.iter();
            match maps.find(|(number, _)| *number == payload_type) {
                Some((_, name)) => knows(name),
                None => static_encoding(payload_type).is_some_and(|(name, _)| knows(&name)),
            }
        };
        let known = self.listed.iter().find(is_known);
        known.or(self.listed.first()).copied()
    }

    fn handle(&mut self, kind: &str, value: &str) -> Result<(), SdpError> {
        if kind == "m" {
            return self.media(value);
        }
        if self.section == Section::Other {
            return Ok(());
        }
        match kind {
            "v" if value != "0" => return Err(self.invalid("version", value, "write v=0")),
            "o" => self.origin = origin(value),
            "s" if self.section == Section::Session => self.name = value.to_owned(),
            "c" => self.connection(value),
            "b" => self.bandwidth(value),
            "a" => self.attribute(value)?,
            _ => {}
        }
        Ok(())
    }

    fn media(&mut self, value: &str) -> Result<(), SdpError> {
        let mut words = value.split_ascii_whitespace();
        if words.next() != Some("video") || self.media.is_some() {
            self.section = Section::Other;
            return Ok(());
        }
        self.section = Section::Video;
        let ports = words.next().unwrap_or_default();
        let Some(port) = port(ports) else {
            return Err(self.invalid("port", ports, "write a number from 0 to 65535"));
        };
        let name = words.next().unwrap_or_default();
        let mut profiles = Profile::ALL.into_iter();
        let Some(profile) = profiles.find(|profile| profile.name() == name) else {
            let remedy = "write RTP/AVP, RTP/AVPF or UDP/TLS/RTP/SAVPF";
            return Err(self.invalid("profile", name, remedy));
        };
        let formats = words.clone().next().unwrap_or_default();
        self.listed = words.map_while(number).filter(is_payload_type).collect();
        if self.listed.is_empty() {
            let remedy = "write a number from 0 to 63 or from 96 to 127";
            return Err(self.invalid("payload type", formats, remedy));
        }
        self.media = Some((self.line, port, profile));
        Ok(())
    }

    /// Reads an address. One for the stream takes precedence over one for the session, and the first over the
    /// further layers of a stream (RFC 8866 §5.7).
    fn connection(&mut self, value: &str) {
        let known = self.address.map(|(section, ..)| section);
        if let Some((address, ttl)) = address(value)
            && known != Some(self.section)
        {
            self.address = Some((self.section, address, ttl));
        }
    }

    fn bandwidth(&mut self, value: &str) {
        let Some((kind, amount)) = value.split_once(':') else {
            return;
        };
        let (index, unit) = match kind {
            "AS" => (0, 1e3),
            "RS" => (1, 1.0),
            "RR" => (2, 1.0),
            _ => return,
        };
        let amount: Option<f64> = number(amount).filter(|amount| BANDWIDTHS.contains(amount));
        self.bandwidths[index] = amount.map(|amount| Rate::from_bits_per_sec(amount * unit));
    }

    fn attribute(&mut self, value: &str) -> Result<(), SdpError> {
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        let value = value.trim_start();
        // Most attributes are of something, such as a payload type.
        let (of, what) = value.split_once([' ', '\t']).unwrap_or((value, ""));
        let what = what.trim_start();
        let is_ours = self.choice.is_some() && number(of) == self.choice;
        match name {
            "rtpmap" if is_ours => {
                let remedy = "write the encoding and its clock, such as H264/90000";
                let map = encoding(what).ok_or_else(|| self.invalid("rtpmap", what, remedy))?;
                self.map = Some(map);
            }
            "rtpmap" => {
                if let Some((name, _)) = encoding(what)
                    && let Some(other) = number(of)
                    && self.listed.contains(&other)
                {
                    if name.eq_ignore_ascii_case(REPAIR_ENCODING) {
                        self.repair = self.repair.or(Some(other));
                    } else {
                        self.others.push((other, name));
                    }
                }
            }
            "fmtp" if is_ours => self.parameters = Some(what.to_owned()),
            "fmtp" if self.repair.is_some() && number(of) == self.repair => {
                self.repair_window = window(what).unwrap_or_default();
            }
            "extmap" => {
                let found = match what.split_ascii_whitespace().next() {
                    Some(RttSendTs::URI) => &mut self.extension_id,
                    Some(TransportSequence::URI) => &mut self.transport_sequence_id,
                    _ => return Ok(()),
                };
                // A direction may follow the identifier; it changes nothing here. Identifiers above 14 exist only in
                // the two-byte form (RFC 8285 §4.2).
                let id = of.split('/').next().and_then(number);
                *found = id.filter(|id| matches!(id, 1..=14));
            }
            "rtcp-fb" if of == "*" || is_ours => {
                let named = FeedbackMode::ALL
                    .into_iter()
                    .find(|mode| feedback_value(*mode).1 == what)
                    .filter(|mode| !self.feedback.contains(mode));
                self.feedback.extend(named);
                self.transit_bounds |= what == TRANSIT_BOUNDS;
                self.keyframe_requests |= KEYFRAME_REQUESTS.contains(&what);
            }
            "ssrc-group" => {
                let mut words = value.split_ascii_whitespace();
                if words.next() == Some(REPAIR_GROUP) {
                    let mut ssrc = || words.next().and_then(number);
                    self.repair_ssrcs = ssrc().zip(ssrc()).map(|(media, repair)| [media, repair]);
                }
            }
            "source-filter" if of == "incl" && self.sources.is_empty() => {
                // `IN IP4 group source source`; a name is no source (RFC 4570 §3).
                let words = what.split_ascii_whitespace().skip(3);
                self.sources = words.filter_map(number).take(MAX_SOURCES).collect();
            }
            "rtcp-rsize" => self.reduced_size = true,
            "rtcp-mux" => self.mux = true,
            "framerate" => self.frame_rate = frame_rate(value),
            _ => {
                let named = Direction::ALL.into_iter().find(|d| d.name() == name);
                self.direction = named.unwrap_or(self.direction);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Description, SdpError> {
        let video = self.media.zip(self.choice);
        let ((line, port, profile), payload_type) = video.ok_or(SdpError::Missing("video"))?;
        let map = self.map.take().or_else(|| static_encoding(payload_type));
        let Some((encoding, clock_rate)) = map else {
            self.line = line;
            let remedy = "add its encoding, such as a=rtpmap:96 H264/90000";
            return Err(self.invalid("payload type", &payload_type.to_string(), remedy));
        };
        let (session_id, origin) = self.origin.unwrap_or((0, Description::UNKNOWN_ADDRESS));
        let address = self.address.map(|(_, address, ttl)| (address, ttl));
        let (address, ttl) = address.unwrap_or((Description::UNKNOWN_ADDRESS, 1));
        let [bandwidth, sender_reports, receiver_reports] = self.bandwidths;
        let has_feedback = profile.has_feedback();
        Ok(Description {
            session_id,
            origin,
            name: self.name,
            address,
            ttl,
            sources: self.sources,
            port,
            profile,
            payload_type,
            encoding,
            clock_rate,
            parameters: self.parameters,
            extension_id: self.extension_id,
            transport_sequence_id: self.transport_sequence_id,
            repair: self.repair.map(|payload_type| Repair {
                payload_type,
                window: self.repair_window,
                ssrcs: self.repair_ssrcs,
            }),
            feedback: if has_feedback {
                self.feedback
            } else {
                Vec::new()
            },
            transit_bounds: self.transit_bounds && has_feedback,
            keyframe_requests: self.keyframe_requests && has_feedback,
            reduced_size: self.reduced_size && has_feedback,
            mux: self.mux,
            frame_rate: self.frame_rate,
            direction: self.direction,
            bandwidth,
            sender_reports,
            receiver_reports,
        })
    }
}

/// Parses `repair-window=200000`, in microseconds, perhaps among other parameters.
fn window(parameters: &str) -> Option<Duration> {
    let mut pairs = parameters
        .split(';')
        .filter_map(|pair| pair.trim().split_once(['=', ':']));
    let (_, micros) = pairs.find(|(name, _)| *name == REPAIR_WINDOW)?;
    number(micros).map(Duration::from_micros)
}

/// Returns true for a valid payload type: 64 to 95 would read as RTCP on a shared port (RFC 5761 §4).
pub(super) fn is_payload_type(number: &u8) -> bool {
    matches!(number, 0..=63 | 96..=127)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Parses a port, and perhaps a number of ports after it, of which the first is read (RFC 8866 §5.14).
fn port(ports: &str) -> Option<u16> {
    let (port, count) = ports.split_once('/').unwrap_or((ports, "1"));
    number::<u16>(count).filter(|&count| count > 0)?;
    number(port)
}

/// Parses `username session version IN IP4 address`.
fn origin(value: &str) -> Option<(u64, IpAddr)> {
    let session_id = value.split_ascii_whitespace().nth(1).and_then(number)?;
    let (address, _) = address(value)?;
    Some((session_id, address))
}

/// Parses the address that ends the line, perhaps with a time to live after it: `IN IP4 address/ttl`. A name is no
/// address, and none is needed to receive.
fn address(value: &str) -> Option<(IpAddr, u8)> {
    let mut parts = value.split_ascii_whitespace().next_back()?.split('/');
    let address: IpAddr = parts.next().and_then(number)?;
    let ttl = parts.next().filter(|_| is_limited(address));
    Some((address.to_canonical(), ttl.and_then(number).unwrap_or(1)))
}

/// Parses `25`, `29.97`, `25,00` or `30000/1001`; 0 is written where the rate is not known.
fn frame_rate(value: &str) -> Option<f64> {
    let value = value.replace(',', ".");
    let (frames, seconds) = value.split_once('/').unwrap_or((&value, "1"));
    let rate = number::<f64>(frames)? / number::<f64>(seconds)?;
    (rate > 0.0 && rate.is_finite()).then_some(rate)
}

/// Parses `JPEG/90000`, perhaps with parameters after it.
fn encoding(map: &str) -> Option<(String, u32)> {
    let mut parts = map.trim().split('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let clock_rate = parts.next().and_then(number).filter(|&rate| rate > 0)?;
    Some((name.to_owned(), clock_rate))
}

/// The values of `b=` that are read: up to 10^15 b/s, which a float has exactly.
const BANDWIDTHS: RangeInclusive<f64> = 0.0..=1e12;
/// The most sources of a group that are read: a system joins as few (Linux: `igmp_max_msf`, 10).
const MAX_SOURCES: usize = 10;

/// Returns the encoding of a video payload type that needs no `rtpmap` (RFC 3551 §6), if it is supported.
fn static_encoding(payload_type: u8) -> Option<(String, u32)> {
    match payload_type {
        26 => Some(("JPEG".into(), 90_000)),
        33 => Some(("MP2T".into(), 90_000)),
        _ => None,
    }
}
