//! Offers and answers of encrypted calls (JSEP, RFC 9429), as browsers and the servers of WHIP and WHEP exchange them.
//!
//! [`RemoteDescription::parse`] reads what the peer wrote. [`Answer::new`] answers an offer, and [`Offer::accept`] reads the answer
//! to an offer of this end. Both give the [`NegotiatedVideo`] and the [`PeerTransport`]. One video stream of H.264 is negotiated;
//! an audio stream is answered as inactive, and any other stream and simulcast (RFC 8853 §5.3) are refused.

mod answer;
mod fragment;
mod h264;
mod offer;
mod parse;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use answer::Answer;
pub use fragment::IceFragment;
pub use h264::{PictureFormat, ProfileLevelId};
pub use offer::Offer;

use super::{Direction, SdpError};
use crate::packet::ext::{PlayoutDelay, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// The longest offer or answer that is read, in bytes: a browser with ten codecs writes 8 KiB.
pub const MAX_SESSION_LEN: usize = 64 * 1024;

/// The most media sections of a description.
const MAX_SECTIONS: usize = 32;

/// The most ICE candidates that are read. Further ones are skipped, because a path is found among the first.
const MAX_CANDIDATES: usize = 32;

/// The user fragment and the password of one end of ICE (RFC 8839 §5.4).
#[derive(Clone, PartialEq, Eq)]
pub struct IceCredentials {
    /// The user fragment: 4 to 256 letters, digits, `+` and `/`.
    pub ufrag: String,
    /// The password: 22 to 256 of the same characters.
    pub password: String,
}

/// Leaves out the password, which authenticates the end.
impl fmt::Debug for IceCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ufrag, .. } = self;
        f.debug_struct("IceCredentials")
            .field("ufrag", ufrag)
            .finish_non_exhaustive()
    }
}

/// A password of ICE, which no debug text has.
#[derive(Clone, PartialEq)]
struct IcePassword(String);

impl fmt::Debug for IcePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IcePassword")
    }
}

/// The part of an end in the DTLS handshake (RFC 8842 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtlsSetup {
    /// The answerer chooses.
    ActPass,
    /// The end begins the handshake: the client.
    Active,
    /// The end awaits the handshake: the server.
    Passive,
}

impl DtlsSetup {
    const ALL: [Self; 3] = [Self::ActPass, Self::Active, Self::Passive];

    const fn name(self) -> &'static str {
        match self {
            Self::ActPass => "actpass",
            Self::Active => "active",
            Self::Passive => "passive",
        }
    }
}

/// What this end says of itself in an offer or an answer.
#[derive(Clone, Debug)]
pub struct LocalDescription {
    /// The number of the session, unique to its origin.
    pub session_id: u64,
    /// The ICE credentials of this end.
    pub credentials: IceCredentials,
    /// The SHA-256 of this end's certificate: pairs of hexadecimal digits with colons in between (RFC 8122 §5).
    pub fingerprint: String,
    /// The addresses of this end, each as in `a=candidate:` without these words (RFC 8839 §5.1).
    pub candidates: Vec<String>,
    /// The synchronisation source of the video that this end sends.
    pub ssrc: u32,
    /// The pictures that this end would send; `None` if it only receives.
    pub sends: Option<PictureFormat>,
    /// True if this end would receive.
    pub receives: bool,
}

/// How the peer is reached, and by what it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTransport {
    /// The ICE credentials of the peer.
    pub credentials: IceCredentials,
    /// The SHA-256 of the peer's certificate, as text.
    pub fingerprint: String,
    /// The peer's part in the DTLS handshake: [`DtlsSetup::Active`] or [`DtlsSetup::Passive`].
    pub setup: DtlsSetup,
    /// The addresses of the peer, each as in `a=candidate:` without these words.
    pub candidates: Vec<String>,
    /// True if the peer only answers checks (RFC 8445 §2.5).
    pub ice_lite: bool,
}

/// The video stream on which both ends agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiatedVideo {
    /// The identification of its media section (RFC 5888).
    pub mid: Option<String>,
    /// The payload type, in both directions.
    pub payload_type: u8,
    /// True if this end sends.
    pub sends: bool,
    /// True if this end receives.
    pub receives: bool,
    /// The reports of arrivals, in both directions: RFC 8888 where both have it, or transport-wide feedback. `None` if the peer
    /// has neither.
    pub feedback: Option<FeedbackMode>,
    /// The identifier of the transport-wide sequence number, if it is sent.
    pub transport_sequence_id: Option<u8>,
    /// The identifier of the playout delay in what this end sends, if the peer reads one.
    pub playout_delay_id: Option<u8>,
    /// Keyframes may be requested by PLI or FIR.
    pub keyframe_requests: bool,
    /// RTCP may be of reduced size (RFC 5506).
    pub reduced_size: bool,
    /// The profile of the stream, and the highest level that the peer decodes.
    pub peer_level: ProfileLevelId,
}

/// A description of the peer: an offer or an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteDescription {
    sections: Vec<MediaSection>,
    /// The groups of sections that share one transport (RFC 9143), by their identifications.
    bundles: Vec<Vec<String>>,
    ice_lite: bool,
}

/// One `m=` line with its attributes. Those of the session apply where the section has none of its own.
#[derive(Clone, Debug, Default, PartialEq)]
struct MediaSection {
    /// The number of its `m=` line, from 1.
    line: usize,
    /// The media type, such as `video`.
    kind: String,
    port: u16,
    protocol: String,
    /// The first format, which a refusal repeats.
    first_format: String,
    /// The payload types, the preferred first.
    formats: Vec<MediaFormat>,
    mid: Option<String>,
    direction: Direction,
    /// The port is 0 because the section has the transport of its group (RFC 9143 §6).
    bundle_only: bool,
    mux: bool,
    reduced_size: bool,
    ufrag: Option<String>,
    password: Option<IcePassword>,
    fingerprint: Option<String>,
    setup: Option<DtlsSetup>,
    candidates: Vec<String>,
    transport_sequence_id: Option<u8>,
    playout_delay_id: Option<u8>,
}

/// One payload type.
#[derive(Clone, Debug, Default, PartialEq)]
struct MediaFormat {
    payload_type: u8,
    /// The encoding name of `rtpmap`; empty if there is none.
    encoding: String,
    clock_rate: u32,
    h264: h264::H264Parameters,
    feedback: FeedbackTypes,
}

/// The values of `rtcp-fb` that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FeedbackTypes {
    transport_wide: bool,
    rfc8888: bool,
    pli: bool,
    fir: bool,
}

impl FeedbackTypes {
    fn insert(&mut self, value: &str) {
        match value {
            "transport-cc" => self.transport_wide = true,
            "ack ccfb" => self.rfc8888 = true,
            "nack pli" => self.pli = true,
            "ccm fir" => self.fir = true,
            _ => {}
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            transport_wide: self.transport_wide || other.transport_wide,
            rfc8888: self.rfc8888 || other.rfc8888,
            pli: self.pli || other.pli,
            fir: self.fir || other.fir,
        }
    }

    /// Returns the format of reports, of which RFC 8888 is preferred: it has the ECN field of each packet.
    fn mode(self, transport_sequence_id: Option<u8>) -> Option<FeedbackMode> {
        let transport_wide = self.transport_wide && transport_sequence_id.is_some();
        let transport_wide = transport_wide.then_some(FeedbackMode::Twcc);
        self.rfc8888
            .then_some(FeedbackMode::Ccfb)
            .or(transport_wide)
    }
}

impl MediaSection {
    /// Returns true if the section is neither refused nor withdrawn.
    const fn is_open(&self) -> bool {
        self.port != 0 || self.bundle_only
    }

    fn invalid(&self, field: &'static str, value: &str, remedy: &'static str) -> SdpError {
        SdpError::line(self.line, field, value, remedy)
    }
}

impl RemoteDescription {
    /// Returns the open video section that is used, the first one, with its index.
    fn video(&self) -> Result<(usize, &MediaSection), SdpError> {
        let mut sections = self.sections.iter().enumerate();
        let video = sections.find(|(_, section)| section.kind == "video" && section.is_open());
        let (index, video) = video.ok_or(SdpError::Missing("video stream"))?;
        if !video.protocol.ends_with("RTP/SAVPF") {
            let remedy = "write UDP/TLS/RTP/SAVPF: media must be encrypted by DTLS-SRTP";
            return Err(video.invalid("profile", &video.protocol, remedy));
        }
        if !video.mux {
            let remedy = "add a=rtcp-mux: RTCP has no port of its own here (RFC 8834 §4.5)";
            return Err(video.invalid("video", &video.port.to_string(), remedy));
        }
        Ok((index, video))
    }

    /// Returns the open sections that share the transport of this one, itself among them, in the order of their group: the
    /// first has the transport (RFC 9143 §7.2.1).
    fn bundled(&self, index: usize) -> Vec<usize> {
        let mid = self.sections[index].mid.as_ref();
        let mut bundles = self.bundles.iter();
        let bundle = mid.and_then(|mid| bundles.find(|bundle| bundle.contains(mid)));
        let Some(bundle) = bundle else {
            return vec![index];
        };
        let place = |mid: &String| {
            let mut sections = self.sections.iter();
            sections.position(|section| section.mid.as_ref() == Some(mid) && section.is_open())
        };
        bundle.iter().filter_map(place).collect()
    }

    /// Returns the transport of a group of sections, of which any may state a part (RFC 9143 §7.1.3). `setup` is the
    /// peer's part in the handshake.
    fn transport(&self, bundled: &[usize], setup: DtlsSetup) -> Result<PeerTransport, SdpError> {
        let sections = || bundled.iter().map(|&index| &self.sections[index]);
        let ufrag = sections().find_map(|section| section.ufrag.clone());
        let password = sections().find_map(|section| section.password.clone());
        let fingerprint = sections().find_map(|section| section.fingerprint.clone());
        let mut candidates = Vec::new();
        for candidate in sections().flat_map(|section| &section.candidates) {
            if !candidates.contains(candidate) {
                candidates.push(candidate.clone());
            }
        }
        Ok(PeerTransport {
            credentials: IceCredentials {
                ufrag: ufrag.ok_or(SdpError::Missing("a=ice-ufrag"))?,
                password: password.ok_or(SdpError::Missing("a=ice-pwd"))?.0,
            },
            fingerprint: fingerprint.ok_or(SdpError::Missing("a=fingerprint of sha-256"))?,
            setup,
            candidates,
            ice_lite: self.ice_lite,
        })
    }
}

/// Returns what both ends use on a payload type.
fn negotiated(
    section: &MediaSection,
    format: &MediaFormat,
    sends: bool,
    receives: bool,
) -> NegotiatedVideo {
    let feedback = format.feedback.mode(section.transport_sequence_id);
    NegotiatedVideo {
        mid: section.mid.clone(),
        payload_type: format.payload_type,
        sends,
        receives,
        feedback,
        transport_sequence_id: section
            .transport_sequence_id
            .filter(|_| feedback == Some(FeedbackMode::Twcc)),
        playout_delay_id: section.playout_delay_id.filter(|_| sends),
        keyframe_requests: format.feedback.pli || format.feedback.fir,
        reduced_size: section.reduced_size,
        peer_level: format.h264.profile_level_id,
    }
}
