//! Parses a description line by line.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use tfrc::units::Rate;

use super::{
    Description, Direction, KEYFRAME_REQUESTS, MAX_LEN, Profile, REPAIR_ENCODING, REPAIR_GROUP,
    REPAIR_WINDOW, Repair, SdpError, TRANSIT_BOUNDS, feedback_value,
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
    /// applies.
    ///
    /// # Errors
    ///
    /// Returns the first line that is invalid, or the field that is missing.
    pub fn read(text: &str, knows: impl Fn(&str) -> bool) -> Result<Self, SdpError> {
        if text.len() > MAX_LEN {
            return Err(SdpError::TooLong);
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
    section: Section,
    origin: Option<(u64, IpAddr)>,
    name: String,
    address: Option<IpAddr>,
    media: Option<(u16, Profile, u8)>,
    /// The payload type that is read, if it is not the first.
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
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() {
                continue;
            }
            let invalid = |field| SdpError::Line {
                line: index + 1,
                field,
            };
            let (kind, value) = line.split_once('=').ok_or(invalid("type=value"))?;
            self.handle(kind, value).map_err(invalid)?;
        }
        Ok(self)
    }

    /// Returns the first payload type whose encoding the reader knows.
    fn choice(&self, knows: impl Fn(&str) -> bool) -> Option<u8> {
        let first = self.media.map(|(_, _, payload_type)| payload_type);
        let is_known = |&payload_type: &u8| {
            let map = if Some(payload_type) == first {
                self.map.as_ref().map(|(name, _)| name)
            } else {
                let mut others = self.others.iter();
                let other = others.find(|(number, _)| *number == payload_type);
                other.map(|(_, name)| name)
            };
            map.map_or_else(
                || static_encoding(payload_type).is_some_and(|(name, _)| knows(&name)),
                |name| knows(name),
            )
        };
        self.listed.iter().copied().find(is_known)
    }

    /// Parses a line; the error names the invalid field.
    fn handle(&mut self, kind: &str, value: &str) -> Result<(), &'static str> {
        if kind == "m" {
            return self.media(value);
        }
        if self.section == Section::Other {
            return Ok(());
        }
        match kind {
            "v" if value != "0" => return Err("version"),
            "o" => self.origin = Some(origin(value).ok_or("origin")?),
            "s" if self.section == Section::Session => self.name = value.to_owned(),
            "c" => self.address = Some(connection(value).ok_or("connection")?),
            "b" => self.bandwidth(value)?,
            "a" => self.attribute(value)?,
            _ => {}
        }
        Ok(())
    }

    fn media(&mut self, value: &str) -> Result<(), &'static str> {
        let mut words = value.split_ascii_whitespace();
        if words.next() != Some("video") || self.media.is_some() {
            self.section = Section::Other;
            return Ok(());
        }
        self.section = Section::Video;
        let port = words.next().and_then(number).ok_or("port")?;
        let profile = match words.next() {
            Some("RTP/AVP") => Profile::Avp,
            Some("RTP/AVPF") => Profile::Avpf,
            _ => return Err("profile"),
        };
        self.listed = words.map_while(number).filter(is_payload_type).collect();
        let first = self.listed.first().copied().ok_or("payload type")?;
        self.media = Some((port, profile, self.choice.unwrap_or(first)));
        Ok(())
    }

    fn bandwidth(&mut self, value: &str) -> Result<(), &'static str> {
        let (kind, amount) = value.split_once(':').ok_or("bandwidth")?;
        let (index, unit) = match kind {
            "AS" => (0, 1e3),
            "RS" => (1, 1.0),
            "RR" => (2, 1.0),
            _ => return Ok(()),
        };
        let amount: u64 = number(amount).ok_or("bandwidth")?;
        self.bandwidths[index] = Some(Rate::from_bits_per_sec(amount as f64 * unit));
        Ok(())
    }

    fn attribute(&mut self, value: &str) -> Result<(), &'static str> {
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        let payload_type = self.media.map(|(_, _, payload_type)| payload_type);
        let is_ours = |text: &str| payload_type.is_some() && number(text) == payload_type;
        match name {
            "rtpmap" => {
                let (number, map) = value.split_once(' ').ok_or("rtpmap")?;
                if is_ours(number) {
                    self.map = Some(encoding(map).ok_or("rtpmap")?);
                } else if let Some((name, _)) = encoding(map)
                    && let Some(other) = self::number(number)
                    && self.listed.contains(&other)
                {
                    if name.eq_ignore_ascii_case(REPAIR_ENCODING) {
                        self.repair = self.repair.or(Some(other));
                    } else {
                        self.others.push((other, name));
                    }
                }
            }
            "fmtp" => {
                let (number, parameters) = value.split_once(' ').ok_or("fmtp")?;
                if is_ours(number) {
                    self.parameters = Some(parameters.to_owned());
                } else if self.repair.is_some() && self::number(number) == self.repair {
                    self.repair_window = window(parameters).unwrap_or_default();
                }
            }
            "extmap" => {
                let (id, uri) = value.split_once(' ').ok_or("extmap")?;
                let found = match uri.split(' ').next() {
                    Some(RttSendTs::URI) => &mut self.extension_id,
                    Some(TransportSequence::URI) => &mut self.transport_sequence_id,
                    _ => return Ok(()),
                };
                // A direction may follow the identifier; it changes nothing here.
                let id = id.split('/').next().and_then(number);
                let id = id.filter(|id| matches!(id, 1..=14));
                *found = Some(id.ok_or("extmap")?);
            }
            "rtcp-fb" => {
                let (target, what) = value.split_once(' ').ok_or("rtcp-fb")?;
                let named = FeedbackMode::ALL
                    .into_iter()
                    .find(|mode| feedback_value(*mode).1 == what)
                    .filter(|mode| {
                        (target == "*" || is_ours(target)) && !self.feedback.contains(mode)
                    });
                self.feedback.extend(named);
                let ours = target == "*" || is_ours(target);
                self.transit_bounds |= ours && what == TRANSIT_BOUNDS;
                self.keyframe_requests |= ours && KEYFRAME_REQUESTS.contains(&what);
            }
            "ssrc-group" => {
                let mut words = value.split_ascii_whitespace();
                if words.next() == Some(REPAIR_GROUP) {
                    let mut ssrc = || words.next().and_then(number);
                    self.repair_ssrcs = ssrc().zip(ssrc()).map(|(media, repair)| [media, repair]);
                }
            }
            "rtcp-rsize" => self.reduced_size = true,
            "rtcp-mux" => self.mux = true,
            "framerate" => {
                let rate: f64 = number(value).ok_or("framerate")?;
                if !(rate > 0.0 && rate.is_finite()) {
                    return Err("framerate");
                }
                self.frame_rate = Some(rate);
            }
            "sendonly" => self.direction = Direction::SendOnly,
            "recvonly" => self.direction = Direction::ReceiveOnly,
            "sendrecv" => self.direction = Direction::SendReceive,
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Description, SdpError> {
        let (session_id, origin) = self.origin.ok_or(SdpError::Missing("origin"))?;
        let (port, profile, payload_type) = self.media.ok_or(SdpError::Missing("video"))?;
        let map = self.map.or_else(|| static_encoding(payload_type));
        let (encoding, clock_rate) = map.ok_or(SdpError::Missing("rtpmap"))?;
        let [bandwidth, sender_reports, receiver_reports] = self.bandwidths;
        let has_feedback = profile == Profile::Avpf;
        Ok(Description {
            session_id,
            origin,
            name: self.name,
            address: self.address.ok_or(SdpError::Missing("connection"))?,
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
fn is_payload_type(number: &u8) -> bool {
    matches!(number, 0..=63 | 96..=127)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Parses `username session version IN IP4 address`.
fn origin(value: &str) -> Option<(u64, IpAddr)> {
    let mut words = value.split_ascii_whitespace();
    let session_id = words.nth(1).and_then(number)?;
    words.next()?;
    Some((session_id, address(words)?))
}

/// Parses `IN IP4 address`, perhaps with a time to live after it.
fn connection(value: &str) -> Option<IpAddr> {
    address(value.split_ascii_whitespace())
}

fn address<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<IpAddr> {
    if words.next() != Some("IN") {
        return None;
    }
    let family = words.next()?;
    let address: IpAddr = words.next()?.split('/').next().and_then(number)?;
    let expected = if address.is_ipv4() { "IP4" } else { "IP6" };
    (family == expected).then_some(address)
}

/// Parses `JPEG/90000`, perhaps with parameters after it.
fn encoding(map: &str) -> Option<(String, u32)> {
    let mut parts = map.trim().split('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let clock_rate = parts.next().and_then(number).filter(|&rate| rate > 0)?;
    Some((name.to_owned(), clock_rate))
}

/// Returns the encoding of a video payload type that needs no `rtpmap` (RFC 3551 §6), if it is supported.
fn static_encoding(payload_type: u8) -> Option<(String, u32)> {
    match payload_type {
        26 => Some(("JPEG".into(), 90_000)),
        33 => Some(("MP2T".into(), 90_000)),
        _ => None,
    }
}
