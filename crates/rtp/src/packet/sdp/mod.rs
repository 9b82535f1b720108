//! The description of one video stream in SDP (RFC 8866): what a receiver needs to open it.

mod parse;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tfrc::units::Rate;

use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// A description longer than this is refused: one stream needs a few hundred bytes.
const MAX_LEN: usize = 16 * 1024;

/// The RTP profile of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `RTP/AVP` (RFC 3551), for receivers that refuse any other, VLC among them. It has no feedback.
    Avp,
    /// `RTP/AVPF` (RFC 4585): TFRC's feedback, reduced-size RTCP.
    Avpf,
}

/// Which way media flows, as the one who describes it sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Out only.
    SendOnly,
    /// In only.
    ReceiveOnly,
    /// Both ways, the default (RFC 8866 §6.7).
    #[default]
    SendReceive,
}

/// One video stream, on one port with its RTCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The number of the session, unique to its origin.
    pub session_id: u64,
    /// The host that describes it.
    pub origin: IpAddr,
    /// The session's name; a line break in it is written as a space.
    pub name: String,
    /// Where the media goes.
    pub address: IpAddr,
    /// The UDP port it goes to.
    pub port: u16,
    /// The profile. With [`Profile::Avp`] neither `feedback` nor `reduced_size` is written.
    pub profile: Profile,
    /// The RTP payload type.
    pub payload_type: u8,
    /// What the payload is, as `rtpmap` names it: `JPEG`.
    pub encoding: String,
    /// Ticks of the media clock in a second.
    pub clock_rate: u32,
    /// What else the encoding has to say (`fmtp`); a line break in it is written as a space.
    pub parameters: Option<String>,
    /// The identifier of the `rtt-sendts` header extension, if it is sent.
    pub extension_id: Option<u8>,
    /// The identifier of the transport-wide sequence number, if it is sent.
    pub transport_sequence_id: Option<u8>,
    /// Repair packets beside the media (RFC 8627), if there may be any.
    pub repair: Option<Repair>,
    /// What `rtcp-fb` names of the feedback that TFRC works with, the preferred first.
    pub feedback: Vec<FeedbackMode>,
    /// The sender takes TFRC's reports with transit times (`rtcp-fb` with `tfrc transit`, ours), beside those without.
    pub transit_bounds: bool,
    /// Keyframes may be asked for by PLI and FIR (`rtcp-fb` with `nack pli`, `ccm fir`).
    pub keyframe_requests: bool,
    /// RTCP may be of reduced size (RFC 5506).
    pub reduced_size: bool,
    /// RTP and RTCP share the port (RFC 5761).
    pub mux: bool,
    /// Frames in a second.
    pub frame_rate: Option<f64>,
    /// Which way media flows.
    pub direction: Direction,
    /// The session's bandwidth (`b=AS`, whole kilobits).
    pub bandwidth: Option<Rate>,
    /// RTCP's bandwidth of senders (`b=RS`, whole bits; RFC 3556).
    pub sender_reports: Option<Rate>,
    /// RTCP's bandwidth of receivers (`b=RR`, whole bits; RFC 3556).
    pub receiver_reports: Option<Rate>,
}

/// The repair packets of a stream (RFC 8627 §5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Their RTP payload type.
    pub payload_type: u8,
    /// How far apart a packet and what repairs it may be, in whole microseconds.
    pub window: Duration,
    /// The synchronisation sources of media and repair packets, where they are known (`ssrc-group` with
    /// `FEC-FR`, RFC 5956 §4.3).
    pub ssrcs: Option<[u32; 2]>,
}

impl Description {
    /// A stream under TFRC, sent one way: AVPF, RTCP multiplexed and of reduced size.
    pub fn new(origin: IpAddr, address: IpAddr, port: u16, payload_type: u8) -> Self {
        Self {
            session_id: 0,
            origin,
            name: "Evenkeel".into(),
            address,
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

/// Why a description cannot be used, and at which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdpError {
    /// Longer than 16 KiB.
    TooLong,
    /// A line that does not read as its type demands; lines count from 1.
    Line {
        /// The line's number.
        line: usize,
        /// What it should hold.
        field: &'static str,
    },
    /// Nothing says this.
    Missing(&'static str),
}

impl fmt::Display for SdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the description is longer than {MAX_LEN} bytes"),
            Self::Line { line, field } => write!(f, "line {line}: {field} is invalid"),
            Self::Missing(what) => write!(f, "the description has no {what}"),
        }
    }
}

impl std::error::Error for SdpError {}

/// Writes the description, with the line ends of RFC 8866.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (origin, address) = (Address(self.origin), Address(self.address));
        let line = |text: &str| text.replace(['\r', '\n', '\0'], " ");
        let name = line(&self.name);
        let payload_type = self.payload_type;
        write!(f, "v=0\r\no=- {0} {0} {origin}\r\n", self.session_id)?;
        // RFC 8866 §5.3: a session without a name is called "-".
        write!(f, "s={}\r\n", if name.is_empty() { "-" } else { &name })?;
        write!(f, "c={address}\r\nt=0 0\r\n")?;
        let profile = match self.profile {
            Profile::Avp => "RTP/AVP",
            Profile::Avpf => "RTP/AVPF",
        };
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
        if self.profile == Profile::Avpf {
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
        f.write_str(match self.direction {
            Direction::SendOnly => "a=sendonly\r\n",
            Direction::ReceiveOnly => "a=recvonly\r\n",
            Direction::SendReceive => "a=sendrecv\r\n",
        })
    }
}

/// How `rtcp-fb` names a kind of feedback, and whether for all payload types, as RFC 8888 §6 asks. What the
/// last profile draft calls `tfrc` reports p; with `sack`, a parameter of ours, the vector, and with `app`,
/// another, p in APP packets.
const fn feedback_value(mode: FeedbackMode) -> (bool, &'static str) {
    match mode {
        FeedbackMode::Tfrc => (false, "tfrc"),
        FeedbackMode::Ccfb => (true, "ack ccfb"),
        FeedbackMode::Twcc => (false, "transport-cc"),
        FeedbackMode::Sack => (false, "tfrc sack"),
        FeedbackMode::App => (false, "tfrc app"),
    }
}

/// What `rtpmap`, `fmtp` and `ssrc-group` call repair packets.
const REPAIR_ENCODING: &str = "flexfec";
const REPAIR_WINDOW: &str = "repair-window";
const REPAIR_GROUP: &str = "FEC-FR";

/// How `rtcp-fb` asks for transit times in TFRC's reports. It stands beside `tfrc` alone, which older receivers follow.
const TRANSIT_BOUNDS: &str = "tfrc transit";

/// How `rtcp-fb` names requests for a keyframe (RFC 4585 §4.2, RFC 5104 §7.1).
const KEYFRAME_REQUESTS: [&str; 2] = ["nack pli", "ccm fir"];

struct Address(IpAddr);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.0.is_ipv4() { "IP4" } else { "IP6" };
        write!(f, "IN {family} {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const TEXT: &str = "v=0\r\no=- 7 7 IN IP4 192.0.2.1\r\ns=Evenkeel\r\nc=IN IP4 192.0.2.2\r\n\
        t=0 0\r\nm=video 5004 RTP/AVPF 26\r\nb=AS:3000\r\nb=RS:40000\r\nb=RR:60000\r\n\
        a=rtpmap:26 JPEG/90000\r\na=extmap:1 urn:ietf:params:rtp-hdrext:rtt-sendts\r\n\
        a=rtcp-fb:26 tfrc\r\na=rtcp-rsize\r\na=rtcp-mux\r\na=framerate:25\r\na=sendonly\r\n";

    fn described() -> Description {
        let host = |last| IpAddr::from([192, 0, 2, last]);
        let kbps = |kbps: f64| Some(Rate::from_bits_per_sec(kbps * 1e3));
        Description {
            session_id: 7,
            frame_rate: Some(25.0),
            bandwidth: kbps(3_000.0),
            sender_reports: kbps(40.0),
            receiver_reports: kbps(60.0),
            ..Description::new(host(1), host(2), 5004, 26)
        }
    }

    #[test]
    fn a_stream_under_tfrc_is_described_line_by_line() {
        assert_eq!(described().to_string(), TEXT);
        assert_eq!(TEXT.parse(), Ok(described()));
        assert_eq!(TEXT.replace("\r\n", "\n").parse(), Ok(described()));
    }

    #[test]
    fn transit_bounds_are_asked_for_beside_plain_reports() {
        let described = Description {
            transit_bounds: true,
            ..described()
        };
        let text = described.to_string();
        let lines = "a=rtcp-fb:26 tfrc\r\na=rtcp-fb:26 tfrc transit\r\n";
        assert!(text.contains(lines), "{text}");
        assert_eq!(text.parse(), Ok(described));
        let read = |from, to| text.replace(from, to).parse::<Description>().unwrap();
        assert!(!read("26 tfrc transit", "99 tfrc transit").transit_bounds);
        // Receivers pass over parameters that they do not know, as those before this one pass over it.
        let unknown = read("tfrc transit", "tfrc other");
        assert_eq!(unknown.feedback, [FeedbackMode::Tfrc]);
        assert!(!unknown.transit_bounds);
    }

    #[test]
    fn requests_for_keyframes_are_announced_and_read() {
        let described = Description {
            keyframe_requests: true,
            ..described()
        };
        let text = described.to_string();
        let lines = "a=rtcp-fb:26 nack pli\r\na=rtcp-fb:26 ccm fir\r\n";
        assert!(text.contains(lines), "{text}");
        assert_eq!(text.parse(), Ok(described));
        let of_others = text
            .replace("fb:26 nack", "fb:99 nack")
            .replace("fb:26 ccm", "fb:99 ccm");
        let read: Description = of_others.parse().unwrap();
        assert!(!read.keyframe_requests);
    }

    #[test]
    fn repair_packets_have_a_payload_type_and_a_source_of_their_own() {
        let described = Description {
            repair: Some(Repair {
                payload_type: 97,
                window: Duration::from_millis(200),
                ssrcs: Some([1, 2]),
            }),
            ..described()
        };
        let text = described.to_string();
        let lines = "a=rtpmap:97 flexfec/90000\r\na=fmtp:97 repair-window=200000\r\n\
            a=ssrc-group:FEC-FR 1 2\r\n";
        assert!(text.contains(lines), "{text}");
        assert!(text.contains("RTP/AVPF 26 97\r\n"), "{text}");
        assert_eq!(text.parse(), Ok(described));
        // A payload type that is not in the list of the stream is not one of its own.
        let unlisted: Description = text.replace(" 26 97", " 26").parse().unwrap();
        assert_eq!(unlisted.repair, None);
    }

    #[test]
    fn feedback_that_tells_arrivals_is_named_as_others_name_it() {
        let text = Description {
            feedback: FeedbackMode::ALL.to_vec(),
            transport_sequence_id: Some(5),
            ..described()
        }
        .to_string();
        for line in [
            "a=rtcp-fb:* ack ccfb\r\n",
            "a=rtcp-fb:26 transport-cc\r\n",
            "a=rtcp-fb:26 tfrc sack\r\n",
            "a=rtcp-fb:26 tfrc app\r\n",
            "a=extmap:5 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }

    #[test]
    fn of_several_payload_types_the_first_that_is_known_is_read() {
        // Lines about a payload type may come before the one that says what it is.
        let text = TEXT.replace("AVPF 26", "AVPF 98 99 26").replace(
            "a=rtpmap:26 JPEG/90000\r\n",
            "a=fmtp:98 x=1\r\na=fmtp:99 packetization-mode=1\r\na=rtcp-fb:99 nack pli\r\n\
                 a=rtpmap:98 VP8/90000\r\na=rtpmap:99 H264/90000\r\n",
        );
        let read = |known: &[&str]| Description::read(&text, |name| known.contains(&name)).unwrap();
        let jpeg = read(&["JPEG"]);
        assert_eq!(jpeg, described());
        let h264 = read(&["JPEG", "H264"]);
        assert_eq!((h264.payload_type, h264.encoding.as_str()), (99, "H264"));
        assert_eq!(h264.parameters.as_deref(), Some("packetization-mode=1"));
        assert!(h264.keyframe_requests && h264.feedback.is_empty());
        for (known, encoding) in [(&["AV1"][..], "VP8"), (&["VP8"], "VP8")] {
            let first = read(known);
            assert_eq!(
                (first.payload_type, first.encoding.as_str()),
                (98, encoding)
            );
        }
    }

    #[test]
    fn the_old_profile_has_no_feedback() {
        let plain = Description {
            profile: Profile::Avp,
            ..described()
        };
        let text = plain.to_string();
        assert!(text.contains("m=video 5004 RTP/AVP 26\r\n"));
        assert!(!text.contains("rtcp-fb") && !text.contains("rsize"));
    }

    #[test]
    fn other_media_and_unknown_lines_are_skipped() {
        let text = "v=0\no=- 1 1 IN IP6 ::1\ns=-\ni=note\nc=IN IP6 ::1\nt=0 0\n\
            m=audio 4000 RTP/AVP 0\na=recvonly\n\
            m=video 5004 RTP/AVP 33\na=extmap:3/sendonly urn:example:other\n\
            m=video 6000 RTP/AVPF 26\na=rtcp-mux\n";
        let read: Description = text.parse().unwrap();
        assert_eq!((read.port, read.encoding.as_str()), (5004, "MP2T"));
        assert_eq!(read.direction, Direction::SendReceive);
        assert!(!read.mux && read.extension_id.is_none());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (from, to, line, field) in [
            ("v=0", "v=1", 1, "version"),
            ("o=- 7", "o=- x", 2, "origin"),
            ("IP4 192.0.2.2", "IP6 192.0.2.2", 4, "connection"),
            ("5004", "65536", 6, "port"),
            ("RTP/AVPF", "RTP/SAVPF", 6, "profile"),
            ("AVPF 26", "AVPF 128", 6, "payload type"),
            ("AVPF 26", "AVPF 72", 6, "payload type"),
            ("AS:3000", "AS:-1", 7, "bandwidth"),
            ("JPEG/90000", "JPEG", 10, "rtpmap"),
            ("extmap:1", "extmap:15", 11, "extmap"),
            ("framerate:25", "framerate:NaN", 15, "framerate"),
            ("t=0 0", "t", 5, "type=value"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            let error = SdpError::Line { line, field };
            assert_eq!(text.parse::<Description>(), Err(error), "{to}");
        }
        assert_eq!(
            "v=0".parse::<Description>(),
            Err(SdpError::Missing("origin"))
        );
        let long = "a=".repeat(MAX_LEN);
        assert_eq!(long.parse::<Description>(), Err(SdpError::TooLong));
    }

    proptest! {
        #[test]
        fn parsing_undoes_writing(
            (session_id, v4, v6, port) in any::<(u64, u32, u128, u16)>(),
            (payload_type, clock_rate) in (96..128u8, 1..=u32::MAX),
            (name, encoding) in ("[a-zA-Z0-9 ]{1,20}", "[A-Za-z0-9-]{1,12}"),
            parameters in proptest::option::of("[a-z0-9=:;]{1,30}"),
            extension_id in proptest::option::of(1..=14u8),
            transport_sequence_id in proptest::option::of(1..=14u8),
            repair in proptest::option::of((96..128u8, 0..1u64 << 40, any::<Option<[u32; 2]>>())),
            feedback in proptest::sample::subsequence(FeedbackMode::ALL.to_vec(), 0..=5).prop_shuffle(),
            (avpf, reduced_size, mux) in any::<(bool, bool, bool)>(),
            frame_rate in proptest::option::of(0.01..1_000.0f64),
            direction in prop_oneof![
                Just(Direction::SendOnly), Just(Direction::ReceiveOnly), Just(Direction::SendReceive)],
            kbps in proptest::option::of(0..1u32 << 24),
        ) {
            let description = Description {
                session_id,
                origin: Ipv4Addr::from(v4).into(),
                name,
                address: Ipv6Addr::from(v6).into(),
                port,
                profile: if avpf { Profile::Avpf } else { Profile::Avp },
                payload_type,
                encoding,
                clock_rate,
                parameters,
                extension_id,
                transport_sequence_id,
                repair: repair.filter(|repair| repair.0 != payload_type).map(|repair| Repair {
                    payload_type: repair.0,
                    window: Duration::from_micros(repair.1),
                    ssrcs: repair.2,
                }),
                feedback: if avpf { feedback } else { Vec::new() },
                transit_bounds: avpf && port % 2 == 0,
                keyframe_requests: mux && avpf,
                reduced_size: reduced_size && avpf,
                mux,
                frame_rate,
                direction,
                bandwidth: kbps.map(|kbps| Rate::from_bits_per_sec(f64::from(kbps) * 1e3)),
                sender_reports: None,
                receiver_reports: kbps.map(|bits| Rate::from_bits_per_sec(f64::from(bits))),
            };
            prop_assert_eq!(description.to_string().parse(), Ok(description));
        }

        #[test]
        fn arbitrary_text_never_panics(
            lines in proptest::collection::vec("[vosctmba]=[ -~]{0,40}|a=(rtpmap|extmap|rtcp-fb):[ -~]{0,20}|\\PC{0,20}", 0..20)
        ) {
            drop(lines.join("\r\n").parse::<Description>());
        }
    }
}
