//! Session descriptions (`--sdp`): written by a sender, followed by a receiver.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_lab::whole_file::{self, FileKind};
use evenkeel_media::reassemble::Payload;
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_rtp::packet::sdp::{self, Description, SdpError};
use evenkeel_rtp::session::{self, FeedbackMode, ReceiveConfig};

use crate::address::HeardSources;
use crate::failure::{self, Failure};
use crate::outputs::cannot;
use crate::wiring::{self, Stream};

/// A description with the payload format of its stream.
pub(crate) struct Described {
    pub(crate) description: Description,
    payload: Payload,
}

/// Reads `--sdp`.
pub(crate) fn read(path: &Path) -> Result<Described, Failure> {
    let bytes = whole_file::read(path, FileKind::Settings);
    let bytes = bytes.map_err(|error| cannot("read", path, &error))?;
    parse(&bytes).map_err(|why| Failure::usage(format!("--sdp {}: {why}", path.display())))
}

/// Reads a description of a stream that can be received; the error has the line, its value and what would be right.
fn parse(bytes: &[u8]) -> Result<Described, String> {
    // Names are often in Latin-1, and none of them is used.
    let text = &*String::from_utf8_lossy(bytes);
    let description = Description::read(text, |name| codec_of(name).is_some());
    let description = description.map_err(|error| match error {
        SdpError::Missing(_) | SdpError::TooLong(_) => format!(
            "{error}; give the session description that evenkeel send --sdp FILE writes, of lines as v=0 and m=video"
        ),
        SdpError::Line { .. } => error.to_string(),
    })?;
    let (encoding, number) = (&description.encoding, description.payload_type);
    let codec = codec_of(encoding).ok_or_else(|| {
        let line = line_of(text, "rtpmap", number);
        if encoding.eq_ignore_ascii_case("MP2T") {
            return format!("{line}encoding {encoding:?}: {OF_MPEG_TS}");
        }
        let known = Codec::ALL.map(Codec::encoding).join(", ");
        format!("{line}encoding {encoding:?} cannot be received; let the sender code {known}")
    })?;
    let parameters = description.parameters.as_deref().unwrap_or_default();
    let payload = Payload::described(codec, parameters).map_err(|error| {
        let line = line_of(text, "fmtp", number);
        format!("{line}parameters {parameters:?} cannot be received; {error}")
    })?;
    Ok(Described {
        description,
        payload,
    })
}

/// The remedy for MPEG-TS in RTP (RFC 2250), whose timestamps are of its departure and not of its pictures.
pub(crate) const OF_MPEG_TS: &str = "MPEG-TS cannot be received; let ffmpeg take the video out of it, as in \
    ffmpeg -i rtp://GROUP:PORT -an -c:v copy -f rtp rtp://[::1]:5004 -sdp_file video.sdp (-c:v libx264 unless it is H.264), \
    and give recv --sdp video.sdp";

/// Returns the number of the line with this attribute of the stream's payload type, if it has one, for an error.
fn line_of(text: &str, attribute: &str, payload_type: u8) -> String {
    let start = format!("a={attribute}:{payload_type} ");
    let mut lines = text.lines().enumerate();
    let video = lines.find(|(_, line)| line.starts_with("m=video"));
    let line = video.and_then(|_| lines.find(|(_, line)| line.starts_with(&start)));
    line.map_or_else(String::new, |(index, _)| format!("line {}: ", index + 1))
}

/// Describes a stream, also for receivers of other makers. Repair packets later than `deadline` are of no use.
pub(crate) fn describe(
    session: &session::Config,
    codec: Codec,
    format: &Format,
    peer: SocketAddr,
    deadline: Duration,
) -> Description {
    let mut description = to_peer(peer, codec.payload_type());
    description.encoding = codec.encoding().into();
    description.parameters = codec.parameters((format.width, format.height));
    description.session_id = session.seed;
    description.keyframe_requests = codec == Codec::H264;
    description.extension_id = session.extension_id;
    description.frame_rate = Some(format.frame_rate.per_second());
    description.reduced_size = session.reduced_size;
    if let Some(send) = &session.send {
        description.feedback = vec![send.feedback];
        description.transit_bounds = send.feedback == FeedbackMode::Tfrc;
        let is_counted = send.feedback == FeedbackMode::Twcc || send.repair.is_some();
        description.transport_sequence_id = is_counted.then_some(session.transport_sequence_id);
        description.repair = send.repair.map(|repair| sdp::Repair {
            payload_type: repair.payload_type,
            window: deadline,
            ssrcs: session.ssrc.zip(repair.ssrc).map(<[u32; 2]>::from),
        });
    }
    description
}

/// Returns the description of a stream to this peer, with defaults for the rest.
pub(crate) fn to_peer(peer: SocketAddr, payload_type: u8) -> Description {
    // The origin only names the session, and the address of the writing host is private.
    let origin = if peer.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    Description::new(origin, peer.ip(), peer.port(), payload_type)
}

/// Writes the description to the file that `--sdp` names.
pub(crate) fn write(path: &Path, description: &Description) -> Result<(), Failure> {
    fs::write(path, description.to_string()).map_err(|error| cannot("write", path, &error))
}

/// Returns the only sources of the described group that are to be heard, if it is the one at `local` and names any.
pub(crate) fn sources(description: &Description, local: SocketAddr) -> Option<HeardSources> {
    let names = !description.sources.is_empty() && description.address == local.ip();
    let sources = description.sources.iter();
    let sources = sources.filter(|source| source.is_ipv4() == local.is_ipv4());
    names.then(|| HeardSources(sources.map(|&ip| SocketAddr::new(ip, 0)).collect()))
}

/// Returns the codec of this encoding name.
fn codec_of(encoding: &str) -> Option<Codec> {
    let mut codecs = Codec::ALL.into_iter();
    codecs.find(|codec| codec.encoding().eq_ignore_ascii_case(encoding))
}

/// Configures a session to receive the stream of a description.
pub(crate) fn follow(described: &Described, session: &mut session::Config) -> Stream {
    let Described {
        description,
        payload,
    } = described;
    session.extension_id = description
        .extension_id
        .or(Some(session::Config::EXTENSION_ID));
    session.reduced_size = description.reduced_size;
    if let Some(bandwidth) = description.bandwidth {
        session.bandwidth = bandwidth;
    }
    session.transport_sequence_id = description
        .transport_sequence_id
        .unwrap_or(session::Config::TRANSPORT_SEQUENCE_ID);
    let repair = description.repair.as_ref();
    session.receive = Some(ReceiveConfig {
        repair: repair.map(|repair| repair.payload_type),
        transit_bounds: description.transit_bounds,
        // Plain RTP names no feedback, and these reports need nothing that its packets lack.
        feedback: wiring::CALL_FEEDBACK,
        ..ReceiveConfig::new(description.payload_type)
    });
    // Transport-wide reports need the number that a description may give an identifier that cannot be read.
    let is_possible = |mode: &&FeedbackMode| {
        **mode != FeedbackMode::Twcc || description.transport_sequence_id.is_some()
    };
    let feedback = description.feedback.iter().find(is_possible);
    if feedback.is_none() && !description.feedback.is_empty() {
        failure::warn(
            "--sdp: transport-cc needs an a=extmap line with a number from 1 to 14; \
             reports have another format, which the sender may not understand",
        );
    }
    wiring::set_feedback(session, feedback.copied());
    Stream {
        codec: payload.codec(),
        payloads: (*payload).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::DEFAULT_FRAME_RATE;
    use crate::wiring::{Role, session};
    use evenkeel_media::policy::PolicyConfig;
    use evenkeel_net::Clock;
    use evenkeel_rtp::packet::ext::TransportSequence;
    use evenkeel_rtp::session::RepairConfig;
    use proptest::prelude::*;

    #[test]
    fn repair_window_is_the_deadline_of_the_run() {
        let clock = Clock::start();
        let mut sender = session("send", Role::Sends, Codec::Mjpeg, None, 1, &clock);
        if let Some(send) = &mut sender.send {
            send.repair = Some(RepairConfig {
                payload_type: RepairConfig::PAYLOAD_TYPE,
                ssrc: None,
            });
        }
        let format = Format {
            width: 640,
            height: 480,
            frame_rate: DEFAULT_FRAME_RATE,
        };
        let to = ([192, 0, 2, 7], 5_004).into();
        let deadline = Duration::from_millis(300);
        let described = describe(&sender, Codec::Mjpeg, &format, to, deadline);
        let repair = described.repair.expect("repair packets");
        assert_eq!(repair.window, deadline);
    }

    /// Returns a sender's session with this feedback, its description, and a receiver's session that follows it.
    fn described(feedback: FeedbackMode) -> (session::Config, String, session::Config) {
        let clock = Clock::start();
        let end = |name, role| session(name, role, Codec::Mjpeg, None, 1, &clock);
        let mut sender = end("send", Role::Sends);
        wiring::set_feedback(&mut sender, Some(feedback));
        let format = Format {
            width: 640,
            height: 480,
            frame_rate: DEFAULT_FRAME_RATE,
        };
        let to = ([192, 0, 2, 7], 5_004).into();
        let text = describe(&sender, Codec::Mjpeg, &format, to, PolicyConfig::DEADLINE).to_string();
        let mut receiver = end("recv", Role::Receives);
        follow(&parse(text.as_bytes()).unwrap(), &mut receiver);
        (sender, text, receiver)
    }

    #[test]
    fn receiver_takes_its_format_from_the_description() {
        for feedback in FeedbackMode::ALL {
            let (_, text, receiver) = described(feedback);
            let receive = receiver.receive.unwrap();
            assert_eq!(receive.feedback, feedback, "{text}");
            assert_eq!(
                receive.transit_bounds,
                feedback == FeedbackMode::Tfrc,
                "{text}"
            );
            let line = "draft-holmer-rmcat-transport-wide-cc-extensions";
            let has_number = feedback == FeedbackMode::Twcc;
            assert_eq!(text.contains(line), has_number, "{text}");
        }
    }

    #[test]
    fn plain_description_gives_reports_of_plain_media() {
        let text = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n\
            m=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n";
        let clock = Clock::start();
        let mut receiver = session("recv", Role::Receives, Codec::Mjpeg, None, 1, &clock);
        let described = parse(text.as_bytes()).expect("a stream");
        let stream = follow(&described, &mut receiver);
        assert_eq!(stream.codec, Codec::H264);
        let feedback = receiver.receive.map(|receive| receive.feedback);
        assert!(feedback.is_some_and(|feedback| !feedback.needs_send_times()));
    }

    /// A description of a camera, with this in place of a line of it.
    fn with(line: &str, other: &[u8]) -> Vec<u8> {
        let text = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=No Name\nc=IN IP4 127.0.0.1\nt=0 0\n\
            m=video 6500 RTP/AVP 26\na=rtpmap:26 JPEG/90000\n";
        let (before, after) = text.split_once(line).expect("a line of it");
        [before.as_bytes(), other, after.as_bytes()].concat()
    }

    #[test]
    fn description_is_followed_whatever_nothing_needs() {
        let extension =
            "a=extmap:15 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
        for (line, other) in [
            (
                "o=- 0 0 IN IP4 127.0.0.1",
                &b"o=alice 28908 28908 IN IP4 host.atlanta.example.com"[..],
            ),
            (
                "o=- 0 0 IN IP4 127.0.0.1",
                b"o=- -2208991488 2208991488 IN IP4 127.0.0.1",
            ),
            ("o=- 0 0 IN IP4 127.0.0.1\n", b""),
            ("s=No Name", b"s=Kamera T\xfcr"),
            ("c=IN IP4 127.0.0.1", b"c=IN IP4 localhost"),
            ("c=IN IP4 127.0.0.1", b"c=IN"),
            ("t=0 0", b"b=AS:500.5\nt=0 0"),
            ("video 6500", b"video 6500/2"),
            ("a=rtpmap", b"a=framerate:0\na=rtpmap"),
            ("a=rtpmap", b"a=framerate:25,00\na=rtpmap"),
            ("a=rtpmap", format!("{extension}\na=rtpmap").as_bytes()),
        ] {
            let text = with(line, other);
            let described = parse(&text).unwrap_or_else(|why| panic!("{line}: {why}"));
            let clock = Clock::start();
            let mut receiver = session("recv", Role::Receives, Codec::H264, None, 1, &clock);
            let stream = follow(&described, &mut receiver);
            assert_eq!(stream.codec, Codec::Mjpeg);
            let receive = receiver.receive.expect("media");
            assert_eq!(
                (receive.payload_type, described.description.port),
                (26, 6500)
            );
        }
    }

    #[test]
    fn feedback_that_cannot_be_given_is_passed_over() {
        let feedback = |lines: &str| {
            let media = format!("RTP/AVPF 26\na=rtcp-fb:26 transport-cc\n{lines}");
            let described = parse(&with("RTP/AVP 26", media.as_bytes())).expect("a stream");
            let clock = Clock::start();
            let mut receiver = session("recv", Role::Receives, Codec::Mjpeg, None, 1, &clock);
            follow(&described, &mut receiver);
            receiver.receive.expect("media").feedback
        };
        let extension = |id| format!("a=extmap:{id} {}", TransportSequence::URI);
        assert_eq!(feedback(&extension(14)), FeedbackMode::Twcc);
        assert_ne!(feedback(&extension(15)), FeedbackMode::Twcc);
        let other = format!("{}\na=rtcp-fb:26 tfrc", extension(15));
        assert_eq!(feedback(&other), FeedbackMode::Tfrc);
    }

    #[test]
    fn unusable_line_is_named_with_value_and_remedy() {
        let h264 = "RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=2";
        for (line, other, named) in [
            (
                "RTP/AVP 26",
                "RTP/AVP 96\na=rtpmap:96 VP8/90000",
                ["line 7: ", "\"VP8\"", "H264"],
            ),
            (
                "RTP/AVP 26",
                h264,
                ["line 8: ", "mode=2\"", "must be 0 or 1"],
            ),
            (
                "RTP/AVP 26",
                "RTP/SAVP 26",
                ["line 6: ", "\"RTP/SAVP\"", "RTP/SAVPF"],
            ),
            (
                "RTP/AVP 26\na=rtpmap:26 JPEG/90000",
                "RTP/AVP 33",
                ["\"MP2T\"", "-c:v copy -f rtp", "--sdp video.sdp"],
            ),
            (
                "m=video",
                "m=audio",
                ["no video", "send --sdp FILE", "m=video"],
            ),
        ] {
            let why = parse(&with(line, other.as_bytes())).err().expect("a fault");
            assert!(named.iter().all(|part| why.contains(part)), "{why}");
        }
    }

    /// Media that is ECN-capable would require another description with `ccfb` (RFC 8888 §7).
    #[test]
    fn described_media_is_not_ecn_capable() {
        let (sender, text, _) = described(FeedbackMode::Ccfb);
        assert!(!sender.ecn && !text.contains("ecn-capable"), "{text}");
    }

    proptest! {
        #[test]
        fn arbitrary_description_never_panics(
            line in "[mcoba]=?[ -~]{0,30}|a=(rtpmap|fmtp|extmap|framerate):[ -~]{0,20}|\\PC{0,9}",
            bytes in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let other = [b"m=video 6500 RTP/AVP 26\n", line.as_bytes(), b"\n", &bytes, b"\n"].concat();
            drop(parse(&with("m=video 6500 RTP/AVP 26\n", &other)));
            drop(parse(&bytes));
        }
    }
}
