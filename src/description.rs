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
use evenkeel_rtp::packet::sdp::{self, Description};
use evenkeel_rtp::session::{self, FeedbackMode, ReceiveConfig};

use crate::failure::Failure;
use crate::outputs::cannot;
use crate::wiring::{self, Stream};

/// Reads `--sdp`.
pub(crate) fn read(path: &Path) -> Result<Description, Failure> {
    let bytes =
        whole_file::read(path, FileKind::Settings).map_err(|error| cannot("read", path, &error))?;
    let read = match String::from_utf8(bytes) {
        Err(_) => Err("it is no text".to_owned()),
        Ok(text) if text.trim().is_empty() => Err("it is empty".to_owned()),
        Ok(text) => Description::read(&text, |name| codec_of(name).is_some())
            .map_err(|error| error.to_string()),
    };
    read.map_err(|why| {
        Failure::usage(format!(
            "--sdp {}: {why}; give the session description that evenkeel send --sdp FILE writes, of lines as v=0 and m=video",
            path.display()
        ))
    })
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
    description.extension_id = Some(session.extension_id);
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

/// Returns the codec of this encoding name.
fn codec_of(encoding: &str) -> Option<Codec> {
    let mut codecs = Codec::ALL.into_iter();
    codecs.find(|codec| codec.encoding().eq_ignore_ascii_case(encoding))
}

/// Configures a session to receive the stream of a description.
pub(crate) fn follow(
    description: &Description,
    session: &mut session::Config,
) -> Result<Stream, Failure> {
    let Some(codec) = codec_of(&description.encoding) else {
        return Err(Failure::usage(format!(
            "--sdp: payload type {} ({}/{}) cannot be received; send JPEG or H.264",
            description.payload_type, description.encoding, description.clock_rate
        )));
    };
    let parameters = description.parameters.as_deref().unwrap_or_default();
    let payload = Payload::described(codec, parameters)
        .map_err(|error| Failure::usage(format!("--sdp: {error}")))?;
    session.extension_id = description
        .extension_id
        .unwrap_or(session::Config::EXTENSION_ID);
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
    wiring::set_feedback(session, description.feedback.first().copied());
    Ok(Stream {
        codec,
        payloads: payload.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::DEFAULT_FRAME_RATE;
    use crate::wiring::{Role, session};
    use evenkeel_media::policy::PolicyConfig;
    use evenkeel_net::Clock;
    use evenkeel_rtp::session::RepairConfig;

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
        let followed = follow(&text.parse().unwrap(), &mut receiver);
        assert!(followed.is_ok());
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
        let stream = follow(&text.parse().unwrap(), &mut receiver);
        assert!(stream.is_ok_and(|stream| stream.codec == Codec::H264));
        let feedback = receiver.receive.map(|receive| receive.feedback);
        assert!(feedback.is_some_and(|feedback| !feedback.needs_send_times()));
    }

    #[test]
    fn undecodable_encoding_is_named_with_a_remedy() {
        let text = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n\
            m=video 5004 RTP/AVP 96\na=rtpmap:96 VP8/90000\n";
        let clock = Clock::start();
        let mut receiver = session("recv", Role::Receives, Codec::Mjpeg, None, 1, &clock);
        let refused = follow(&text.parse().unwrap(), &mut receiver).err().unwrap();
        let said = refused.to_string();
        for words in ["payload type 96 (VP8/90000)", "JPEG or H.264"] {
            assert!(said.contains(words), "{said}");
        }
    }

    /// Media that is ECN-capable would require another description with `ccfb` (RFC 8888 §7).
    #[test]
    fn described_media_is_not_ecn_capable() {
        let (sender, text, _) = described(FeedbackMode::Ccfb);
        assert!(!sender.ecn && !text.contains("ecn-capable"), "{text}");
    }
}
