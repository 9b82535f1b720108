//! Answers an offer: one video stream in H.264, sound laid out but inactive, and nothing else.

use std::fmt;

use super::h264::ProfileLevelId;
use super::write::{InactiveAudio, RefusedSection, SessionLines, VideoSection};
use super::{
    Direction, DtlsSetup, LocalDescription, MediaFormat, MediaSection, NegotiatedVideo,
    PeerTransport, RemoteDescription, SdpError, negotiated,
};

/// The answer to an offer, and what both ends use by it.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// The video stream.
    pub video: NegotiatedVideo,
    /// How the peer is reached.
    pub peer: PeerTransport,
    /// The text for the peer.
    pub text: String,
}

/// Leaves out the text, which has the password of this end.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { video, peer, .. } = self;
        let mut fields = f.debug_struct("Answer");
        fields.field("video", video).field("peer", peer);
        fields.finish_non_exhaustive()
    }
}

impl Answer {
    /// Answers an offer. This end awaits the DTLS handshake, as the offering end controls ICE.
    ///
    /// # Errors
    ///
    /// Returns the line of the offer on which no call is possible.
    pub fn new(offer: &RemoteDescription, local: &LocalDescription) -> Result<Self, SdpError> {
        let (index, section) = offer.video()?;
        let (sends, receives) = directions(section, local)?;
        let format = choose(section, local, sends)?;
        if offer.ice_lite {
            let remedy = "offer full ICE: this end awaits the checks of the end that offers";
            return Err(section.invalid("ICE", "a=ice-lite", remedy));
        }
        let mut accepted = offer.bundled(index);
        accepted.retain(|&place| place == index || opus(&offer.sections[place]).is_some());
        let setup = accepted
            .iter()
            .find_map(|&index| offer.sections[index].setup);
        if !matches!(setup, Some(DtlsSetup::ActPass | DtlsSetup::Active)) {
            let value = setup.map_or("", DtlsSetup::name);
            let remedy = "write a=setup:actpass: this end awaits the DTLS handshake";
            return Err(section.invalid("setup", value, remedy));
        }
        let peer = offer.transport(&accepted, DtlsSetup::Active)?;
        let video = negotiated(section, format, sends, receives);
        let lines = VideoSection {
            local,
            setup: DtlsSetup::Passive,
            protocol: &section.protocol,
            video: &video,
            profile_level_id: own_level(format),
            level_asymmetry: format.h264.level_asymmetry,
            feedback: format.feedback,
        };
        let mut body = String::new();
        for (place, other) in offer.sections.iter().enumerate() {
            let audio = opus(other).filter(|_| accepted.contains(&place));
            if place == index {
                body.push_str(&lines.to_string());
            } else if let Some(format) = audio {
                let audio = InactiveAudio {
                    local,
                    setup: DtlsSetup::Passive,
                    section: other,
                    format,
                };
                body.push_str(&audio.to_string());
            } else {
                body.push_str(&RefusedSection(other).to_string());
            }
        }
        let session = SessionLines {
            session_id: local.session_id,
            bundle: offer.accepted_bundle(index, &accepted),
        };
        Ok(Self {
            video,
            peer,
            text: format!("{session}{body}"),
        })
    }
}

impl RemoteDescription {
    /// Returns the group of a section without what was refused, in its order: its first section has the transport.
    fn accepted_bundle(&self, index: usize, accepted: &[usize]) -> Vec<&str> {
        let mid_of = |&place: &usize| self.sections[place].mid.as_deref();
        let own = self.sections[index].mid.as_ref();
        let mut bundles = self.bundles.iter();
        let bundle = own.and_then(|own| bundles.find(|bundle| bundle.contains(own)));
        let mids = bundle.into_iter().flatten().map(String::as_str);
        mids.filter(|mid| accepted.iter().any(|place| mid_of(place) == Some(mid)))
            .collect()
    }
}

/// Returns whether this end sends and receives.
pub(super) fn directions(
    section: &MediaSection,
    local: &LocalDescription,
) -> Result<(bool, bool), SdpError> {
    let sends = local.sends.is_some() && section.direction.receives();
    let receives = local.receives && section.direction.sends();
    if sends || receives {
        return Ok((sends, receives));
    }
    let remedy = match (local.sends.is_some(), section.direction) {
        (_, Direction::Inactive) => "let video be active",
        (true, _) => "receive video: write sendrecv or recvonly",
        (false, _) => "send video: write sendrecv or sendonly",
    };
    Err(section.invalid("direction", section.direction.name(), remedy))
}

/// Returns the payload type of the preferred profile, and of those the first, as the offering end prefers it.
fn choose<'a>(
    section: &'a MediaSection,
    local: &LocalDescription,
    sends: bool,
) -> Result<&'a MediaFormat, SdpError> {
    let formats = section.formats.iter();
    let usable = formats.filter(|format| format.is_h264() && format.h264.has_fragments);
    let mut usable =
        usable.filter_map(|format| Some((format.h264.profile_level_id.profile()?, format)));
    let fitting = usable.clone();
    let fitting = fitting.filter(|(_, format)| format.admits_pictures(local, sends));
    if let Some((_, format)) = fitting.min_by_key(|(profile, _)| *profile) {
        return Ok(format);
    }
    if let Some((_, format)) = usable.next_back() {
        return Err(level_too_low(section, format));
    }
    let encodings = section.formats.iter().map(|format| &*format.encoding);
    let encodings: Vec<_> = encodings.filter(|name| !name.is_empty()).collect();
    let remedy = "offer H264 with packetization-mode=1 of a baseline, main or high profile";
    Err(section.invalid("encoding", &encodings.join(" "), remedy))
}

pub(super) fn level_too_low(section: &MediaSection, format: &MediaFormat) -> SdpError {
    let level = format.h264.profile_level_id.to_string();
    let remedy = "decode a higher level, or let this end send smaller pictures";
    section.invalid("profile-level-id", &level, remedy)
}

/// Returns the level at which this end sends: without asymmetry both directions have the same.
fn peer_level(format: &MediaFormat) -> ProfileLevelId {
    if format.h264.level_asymmetry {
        format.h264.profile_level_id
    } else {
        own_level(format)
    }
}

/// Returns the level of what this end receives.
fn own_level(format: &MediaFormat) -> ProfileLevelId {
    let offered = format.h264.profile_level_id;
    let own = ProfileLevelId::CONSTRAINED_BASELINE.level();
    if format.h264.level_asymmetry {
        offered.at(own)
    } else {
        offered.at_most(own)
    }
}

fn opus(section: &MediaSection) -> Option<&MediaFormat> {
    let is_audio = section.kind == "audio" && section.is_open() && section.mux;
    let mut formats = section.formats.iter().filter(|_| is_audio);
    formats
        .find(|format| format.encoding.eq_ignore_ascii_case("opus") && format.clock_rate == 48_000)
}

impl MediaFormat {
    /// Returns true if the peer decodes the pictures that this end would send.
    pub(super) fn admits_pictures(&self, local: &LocalDescription, sends: bool) -> bool {
        let picture = local.sends.filter(|_| sends);
        picture.is_none_or(|picture| peer_level(self).admits(picture))
    }

    pub(super) fn is_h264(&self) -> bool {
        self.encoding.eq_ignore_ascii_case("H264") && self.clock_rate == 90_000
    }
}
