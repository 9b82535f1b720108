//! The description of one video stream in SDP (RFC 8866), with which a receiver opens the stream.

pub mod jsep;
mod parse;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tfrc::units::Rate;

use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// The longest description that is read: one stream needs a few hundred bytes.
const MAX_LEN: usize = 16 * 1024;

/// The RTP profile of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `RTP/AVP` (RFC 3551), for receivers that refuse any other, such as VLC. This profile has no feedback.
    Avp,
    /// `RTP/AVPF` (RFC 4585): TFRC's feedback, reduced-size RTCP.
    Avpf,
    /// `UDP/TLS/RTP/SAVPF` (RFC 5764 §8): that of [`Profile::Avpf`], encrypted by keys that DTLS agrees on.
    Savpf,
}

impl Profile {
    const ALL: [Self; 3] = [Self::Avp, Self::Avpf, Self::Savpf];

    /// Returns the name in a description.
    const fn name(self) -> &'static str {
        match self {
            Self::Avp => "RTP/AVP",
            Self::Avpf => "RTP/AVPF",
            Self::Savpf => "UDP/TLS/RTP/SAVPF",
        }
    }

    /// Returns true if receivers give feedback (RFC 4585).
    const fn has_feedback(self) -> bool {
        !matches!(self, Self::Avp)
    }
}

/// The direction of media, from the side of the describing end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The describing end only sends.
    SendOnly,
    /// The describing end only receives.
    ReceiveOnly,
    /// The describing end sends and receives, the default (RFC 8866 §6.7).
    #[default]
    SendReceive,
    /// The describing end neither sends nor receives media.
    Inactive,
}

impl Direction {
    const ALL: [Self; 4] = [
        Self::SendOnly,
        Self::ReceiveOnly,
        Self::SendReceive,
        Self::Inactive,
    ];

    /// Returns the direction of an end that does either, both or nothing.
    pub const fn of(sends: bool, receives: bool) -> Self {
        match (sends, receives) {
            (true, false) => Self::SendOnly,
            (false, true) => Self::ReceiveOnly,
            (true, true) => Self::SendReceive,
            (false, false) => Self::Inactive,
        }
    }

    /// Returns true if the describing end sends.
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendOnly | Self::SendReceive)
    }

    /// Returns true if the describing end receives.
    pub const fn receives(self) -> bool {
        matches!(self, Self::ReceiveOnly | Self::SendReceive)
    }

    /// Returns the name of the attribute.
    const fn name(self) -> &'static str {
        match self {
            Self::SendOnly => "sendonly",
            Self::ReceiveOnly => "recvonly",
            Self::SendReceive => "sendrecv",
            Self::Inactive => "inactive",
        }
    }
}

/// One video stream, on one port with its RTCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The number of the session, unique to its origin.
    pub session_id: u64,
    /// The host of the describing end; 0.0.0.0 if the description has no address of it.
    pub origin: IpAddr,
    /// The session's name; a line break in it is written as a space.
    pub name: String,
    /// The destination address of the media; 0.0.0.0 if the description has a name or nothing instead.
    pub address: IpAddr,
    /// The time to live of media to an IPv4 group, which is written and read with its address (RFC 8866 §5.7).
    pub ttl: u8,
    /// The only sources of media to the address (`source-filter` with `incl`, RFC 4570); any may send if there are none.
    pub sources: Vec<IpAddr>,
    /// The destination UDP port of the media.
    pub port: u16,
    /// The profile. With [`Profile::Avp`] neither `feedback` nor `reduced_size` is written.
    pub profile: Profile,
    /// The RTP payload type.
    pub payload_type: u8,
    /// The encoding name in `rtpmap`, such as `JPEG`.
    pub encoding: String,
    /// The ticks of the media clock in a second.
    pub clock_rate: u32,
    /// Further parameters of the encoding (`fmtp`); a line break in them is written as a space.
    pub parameters: Option<String>,
    /// The identifier of the `rtt-sendts` header extension, if it is sent.
    pub extension_id: Option<u8>,
    /// The identifier of the transport-wide sequence number, if it is sent.
    pub transport_sequence_id: Option<u8>,
    /// The repair packets beside the media (RFC 8627), if any are permitted.
    pub repair: Option<Repair>,
    /// The feedback modes that TFRC works with (`rtcp-fb`), the preferred first.
    pub feedback: Vec<FeedbackMode>,
    /// The sender accepts TFRC reports with transit times (`rtcp-fb` with `tfrc transit`, an extension of this
    /// project), and also those without.
    pub transit_bounds: bool,
    /// Keyframes may be requested by PLI and FIR (`rtcp-fb` with `nack pli`, `ccm fir`).
    pub keyframe_requests: bool,
    /// RTCP may be of reduced size (RFC 5506).
    pub reduced_size: bool,
    /// RTP and RTCP share the port (RFC 5761).
    pub mux: bool,
    /// The frames in a second.
    pub frame_rate: Option<f64>,
    /// The direction of media.
    pub direction: Direction,
    /// The session's bandwidth (`b=AS`, whole kilobits).
    pub bandwidth: Option<Rate>,
    /// The RTCP bandwidth of senders (`b=RS`, whole bits; RFC 3556).
    pub sender_reports: Option<Rate>,
    /// The RTCP bandwidth of receivers (`b=RR`, whole bits; RFC 3556).
    pub receiver_reports: Option<Rate>,
}

/// The repair packets of a stream (RFC 8627 §5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The RTP payload type of repair packets.
    pub payload_type: u8,
    /// The longest time between a packet and its repair packets, in whole microseconds.
    pub window: Duration,
    /// The synchronisation sources of media and repair packets, where they are known (`ssrc-group` with `FEC-FR`,
    /// RFC 5956 §4.3).
    pub ssrcs: Option<[u32; 2]>,
}

impl Description {
    /// The address of a host that is not known (RFC 8840 §4.1.1).
    const UNKNOWN_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

    /// Creates the description of a one-way stream under TFRC: AVPF, with RTCP multiplexed and of reduced size.
    pub fn new(origin: IpAddr, address: IpAddr, port: u16, payload_type: u8) -> Self {
        Self {
            session_id: 0,
            origin,
            name: "Evenkeel".into(),
            address,
            ttl: 1,
            sources: Vec::new(),
            port,
            profile: Profile::Avpf,
            payload_type,
            encoding: "JPEG".into(),
            clock_rate: 90_000,
            parameters: None,
            extension_id: Some(RttSendTs::DEFAULT_ID),
            transport_sequence_id: None,
            repair: None,
            feedback: vec![FeedbackMode::Tfrc],
            transit_bounds: false,
            keyframe_requests: false,
            reduced_size: true,
            mux: true,
            frame_rate: None,
            direction: Direction::SendOnly,
            bandwidth: None,
            sender_reports: None,
            receiver_reports: None,
        }
    }
}

/// The error that a description cannot be used, with the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdpError {
    /// The description is longer than this number of bytes.
    TooLong(usize),
    /// A line that is needed does not have the format of its type.
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The field that is invalid.
        field: &'static str,
        /// The beginning of its value.
        value: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// No line has this field.
    Missing(&'static str),
}

impl fmt::Display for SdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(
                f,
                "the description is longer than {limit} bytes: shorten it"
            ),
            Self::Line {
                line,
                field,
                value,
                remedy,
            } => write!(f, "line {line}: {field} {value:?} is invalid; {remedy}"),
            Self::Missing(what) => write!(f, "the description has no {what}"),
        }
    }
}

impl std::error::Error for SdpError {}

impl SdpError {
    /// Returns the error that a field of a line is invalid.
    fn line(line: usize, field: &'static str, value: &str, remedy: &'static str) -> Self {
        Self::Line {
            line,
            field,
            value: value.chars().take(MAX_QUOTED).collect(),
            remedy,
        }
    }
}

/// The most characters of a value that an error repeats.
const MAX_QUOTED: usize = 60;

/// Writes the description, with the line ends of RFC 8866.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (origin, address) = (Address(self.origin), Address(self.address));
        let ttl = is_limited(self.address).then(|| format!("/{}", self.ttl));
        let ttl = ttl.unwrap_or_default();
        let line = |text: &str| text.replace(['\r', '\n', '\0'], " ");
        let name = line(&self.name);
        let payload_type = self.payload_type;
        write!(f, "v=0\r\no=- {0} {0} {origin}\r\n", self.session_id)?;
        // A session without a name is called "-" (RFC 8866 §5.3).
        write!(f, "s={}\r\n", if name.is_empty() { "-" } else { &name })?;
        write!(f, "c={address}{ttl}\r\nt=0 0\r\n")?;
        if !self.sources.is_empty() {
            write!(f, "a=source-filter: incl {address}")?;
            for source in &self.sources {
                write!(f, " {source}")?;
            }
            f.write_str("\r\n")?;
        }
        let profile = self.profile.name();
        write!(f, "m=video {} {profile} {payload_type}", self.port)?;
        if let Some(repair) = &self.repair {
            write!(f, " {}", repair.payload_type)?;
        }
        f.write_str("\r\n")?;
        for (kind, rate, unit) in [
            ("AS", self.bandwidth, 1e3),
            ("RS", self.sender_reports, 1.0),
            ("RR", self.receiver_reports, 1.0),
        ] {
            if let Some(rate) = rate {
                write!(
                    f,
                    "b={kind}:{}\r\n",
                    (rate.bits_per_sec() / unit).ceil() as u64
                )?;
            }
        }
        let (encoding, clock_rate) = (&self.encoding, self.clock_rate);
        write!(f, "a=rtpmap:{payload_type} {encoding}/{clock_rate}\r\n")?;
        if let Some(parameters) = &self.parameters {
            write!(f, "a=fmtp:{payload_type} {}\r\n", line(parameters))?;
        }
        if let Some(repair) = &self.repair {
            let (number, window) = (repair.payload_type, repair.window.as_micros());
            write!(f, "a=rtpmap:{number} {REPAIR_ENCODING}/{clock_rate}\r\n")?;
            write!(f, "a=fmtp:{number} {REPAIR_WINDOW}={window}\r\n")?;
            if let Some([media, repair]) = repair.ssrcs {
                write!(f, "a=ssrc-group:{REPAIR_GROUP} {media} {repair}\r\n")?;
            }
        }
        for (id, uri) in [
            (self.extension_id, RttSendTs::URI),
            (self.transport_sequence_id, TransportSequence::URI),
        ] {
            if let Some(id) = id {
                write!(f, "a=extmap:{id} {uri}\r\n")?;
            }
        }
        if self.profile.has_feedback() {
            for mode in &self.feedback {
                let (is_for_all, what) = feedback_value(*mode);
                if is_for_all {
                    write!(f, "a=rtcp-fb:* {what}\r\n")?;
                } else {
                    write!(f, "a=rtcp-fb:{payload_type} {what}\r\n")?;
                }
            }
            if self.transit_bounds {
                write!(f, "a=rtcp-fb:{payload_type} {TRANSIT_BOUNDS}\r\n")?;
            }
            if self.keyframe_requests {
                for request in KEYFRAME_REQUESTS {
                    write!(f, "a=rtcp-fb:{payload_type} {request}\r\n")?;
                }
            }
            if self.reduced_size {
                f.write_str("a=rtcp-rsize\r\n")?;
            }
        }
        if self.mux {
            f.write_str("a=rtcp-mux\r\n")?;
        }
        if let Some(frame_rate) = self.frame_rate {
            write!(f, "a=framerate:{frame_rate}\r\n")?;
        }
        write!(f, "a={}\r\n", self.direction.name())
    }
}

/// Returns the name of a feedback mode in `rtcp-fb`, and true if it applies to all payload types (RFC 8888 §6).
///
/// `tfrc` is the name of reports of p in the last profile draft. Its parameters are of this project: `sack` means
/// the vector, and `app` means p in APP packets.
const fn feedback_value(mode: FeedbackMode) -> (bool, &'static str) {
    match mode {
        FeedbackMode::Tfrc => (false, "tfrc"),
        FeedbackMode::Ccfb => (true, "ack ccfb"),
        FeedbackMode::Twcc => (false, "transport-cc"),
        FeedbackMode::Sack => (false, "tfrc sack"),
        FeedbackMode::App => (false, "tfrc app"),
    }
}

/// The name of repair packets in `rtpmap`, `fmtp` and `ssrc-group`.
const REPAIR_ENCODING: &str = "flexfec";
const REPAIR_WINDOW: &str = "repair-window";
const REPAIR_GROUP: &str = "FEC-FR";

/// The request for transit times in TFRC's reports (`rtcp-fb`). Plain `tfrc` precedes it for older receivers.
const TRANSIT_BOUNDS: &str = "tfrc transit";

/// The names of keyframe requests in `rtcp-fb` (RFC 4585 §4.2, RFC 5104 §7.1).
const KEYFRAME_REQUESTS: [&str; 2] = ["nack pli", "ccm fir"];

/// Returns true for a group whose time to live follows its address (RFC 8866 §5.7).
fn is_limited(address: IpAddr) -> bool {
    address.is_ipv4() && address.is_multicast()
}

struct Address(IpAddr);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.0.is_ipv4() { "IP4" } else { "IP6" };
        write!(f, "IN {family} {}", self.0)
    }
}

#[cfg(test)]
mod tests;
