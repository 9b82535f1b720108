//! Writes the lines of offers and answers.

use std::fmt;

use super::{
    Direction, DtlsSetup, FeedbackTypes, LocalDescription, MediaFormat, MediaSection,
    NegotiatedVideo, PlayoutDelay, ProfileLevelId, TransportSequence,
};
use crate::packet::rtcp::FeedbackMode;

/// The lines before the first section.
pub(super) struct SessionLines<'a> {
    pub(super) session_id: u64,
    /// The sections that share one transport.
    pub(super) bundle: Vec<&'a str>,
}

impl fmt::Display for SessionLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The number is positive in 64 bits with a sign (RFC 9429 §5.2.1).
        let session_id = self.session_id >> 1;
        write!(
            f,
            "v=0\r\no=- {session_id} 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
        )?;
        if !self.bundle.is_empty() {
            write!(f, "a=group:BUNDLE {}\r\n", self.bundle.join(" "))?;
        }
        f.write_str("a=ice-options:trickle\r\n")
    }
}

/// ICE and DTLS of this end.
struct TransportLines<'a> {
    local: &'a LocalDescription,
    setup: DtlsSetup,
}

impl fmt::Display for TransportLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LocalDescription {
            credentials,
            fingerprint,
            candidates,
            ..
        } = self.local;
        write!(f, "a=ice-ufrag:{}\r\n", credentials.ufrag)?;
        write!(f, "a=ice-pwd:{}\r\n", credentials.password)?;
        write!(f, "a=fingerprint:sha-256 {fingerprint}\r\n")?;
        write!(f, "a=setup:{}\r\n", self.setup.name())?;
        for candidate in candidates {
            write!(f, "a=candidate:{candidate}\r\n")?;
        }
        // After an offer servers may report further addresses, after an answer nothing carries them (RFC 8838 §13).
        if self.setup == DtlsSetup::ActPass {
            return Ok(());
        }
        f.write_str("a=end-of-candidates\r\n")
    }
}

/// A video stream that is used.
pub(super) struct VideoSection<'a> {
    pub(super) local: &'a LocalDescription,
    pub(super) setup: DtlsSetup,
    pub(super) protocol: &'a str,
    pub(super) video: &'a NegotiatedVideo,
    /// The profile, and the level that this end receives.
    pub(super) profile_level_id: ProfileLevelId,
    pub(super) level_asymmetry: bool,
    /// The feedback that the peer has; of this, what `video` says is written.
    pub(super) feedback: FeedbackTypes,
}

impl fmt::Display for VideoSection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let video = self.video;
        let payload_type = video.payload_type;
        write_section_start(
            f,
            "video",
            self.protocol,
            payload_type,
            video.mid.as_deref(),
        )?;
        if video.reduced_size {
            f.write_str("a=rtcp-rsize\r\n")?;
        }
        let transport = TransportLines {
            local: self.local,
            setup: self.setup,
        };
        let direction = Direction::of(video.sends, video.receives).name();
        write!(f, "{transport}a={direction}\r\n")?;
        let id = self.profile_level_id;
        write!(
            f,
            "a=rtpmap:{payload_type} H264/90000\r\na=fmtp:{payload_type} "
        )?;
        if self.level_asymmetry {
            f.write_str("level-asymmetry-allowed=1;")?;
        }
        write!(f, "packetization-mode=1;profile-level-id={id}\r\n")?;
        let offers_both = self.setup == DtlsSetup::ActPass;
        let uses = |mode| offers_both || video.feedback == Some(mode);
        for (of, value, is_written) in [
            (
                "*",
                "ack ccfb",
                self.feedback.rfc8888 && uses(FeedbackMode::Ccfb),
            ),
            (
                "",
                "transport-cc",
                self.feedback.transport_wide && uses(FeedbackMode::Twcc),
            ),
            ("", "nack pli", self.feedback.pli),
            ("", "ccm fir", self.feedback.fir),
        ] {
            if is_written && of.is_empty() {
                write!(f, "a=rtcp-fb:{payload_type} {value}\r\n")?;
            } else if is_written {
                write!(f, "a=rtcp-fb:{of} {value}\r\n")?;
            }
        }
        if let Some(id) = video.transport_sequence_id {
            write!(f, "a=extmap:{id} {}\r\n", TransportSequence::URI)?;
        }
        if let Some(id) = video.playout_delay_id {
            write!(f, "a=extmap:{id}/sendonly {}\r\n", PlayoutDelay::URI)?;
        }
        if video.sends {
            let ssrc = self.local.ssrc;
            write!(
                f,
                "a=msid:evenkeel video\r\na=ssrc:{ssrc} cname:evenkeel\r\n"
            )?;
        }
        Ok(())
    }
}

/// An audio stream that is accepted and carries nothing, so that sound needs no new section.
pub(super) struct InactiveAudio<'a> {
    pub(super) local: &'a LocalDescription,
    pub(super) setup: DtlsSetup,
    pub(super) section: &'a MediaSection,
    pub(super) format: &'a MediaFormat,
}

impl fmt::Display for InactiveAudio<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MediaSection { protocol, mid, .. } = self.section;
        let payload_type = self.format.payload_type;
        write_section_start(f, "audio", protocol, payload_type, mid.as_deref())?;
        let transport = TransportLines {
            local: self.local,
            setup: self.setup,
        };
        write!(f, "{transport}a={}\r\n", Direction::Inactive.name())?;
        write!(f, "a=rtpmap:{payload_type} opus/48000/2\r\n")
    }
}

/// A stream that is refused (RFC 3264 §6).
pub(super) struct RefusedSection<'a>(pub(super) &'a MediaSection);

impl fmt::Display for RefusedSection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MediaSection {
            kind,
            protocol,
            first_format,
            mid,
            ..
        } = self.0;
        write!(
            f,
            "m={kind} 0 {protocol} {first_format}\r\nc=IN IP4 0.0.0.0\r\n"
        )?;
        if let Some(mid) = mid {
            write!(f, "a=mid:{mid}\r\n")?;
        }
        Ok(())
    }
}

/// Writes the first lines of a section that is used. Its address is in its candidates (RFC 8840 §4.1.1).
fn write_section_start(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    protocol: &str,
    payload_type: u8,
    mid: Option<&str>,
) -> fmt::Result {
    write!(
        f,
        "m={kind} 9 {protocol} {payload_type}\r\nc=IN IP4 0.0.0.0\r\n"
    )?;
    if let Some(mid) = mid {
        write!(f, "a=mid:{mid}\r\n")?;
    }
    f.write_str("a=rtcp-mux\r\n")
}
