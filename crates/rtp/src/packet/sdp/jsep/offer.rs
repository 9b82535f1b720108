//! The offer of this end to a media server, and the answer to it.

use std::fmt;

use super::answer::{directions, level_too_low};
use super::h264::ProfileLevelId;
use super::write::{SessionLines, VideoSection};
use super::{
    DtlsSetup, FeedbackTypes, LocalDescription, NegotiatedVideo, PeerTransport, RemoteDescription,
    SdpError, TransportSequence, negotiated,
};
use crate::packet::rtcp::FeedbackMode;

/// The identification of the one section of an offer.
const MID: &str = "0";

/// An offer of one video stream in H.264 ([`Display`](fmt::Display) is its text). This end controls ICE, and the answering end
/// chooses who begins the DTLS handshake.
#[derive(Clone, Debug)]
pub struct Offer {
    local: LocalDescription,
    video: NegotiatedVideo,
}

impl Offer {
    /// Offers video on this payload type, 96 to 127.
    pub fn new(payload_type: u8, local: LocalDescription) -> Self {
        let sent = local.sends.filter(|_| !local.receives);
        let level = sent.and_then(ProfileLevelId::for_pictures);
        let video = NegotiatedVideo {
            mid: Some(MID.into()),
            payload_type,
            sends: local.sends.is_some(),
            receives: local.receives,
            feedback: Some(FeedbackMode::Twcc),
            transport_sequence_id: Some(TransportSequence::DEFAULT_ID),
            playout_delay_id: None,
            keyframe_requests: true,
            reduced_size: true,
            peer_level: level.unwrap_or(ProfileLevelId::CONSTRAINED_BASELINE),
        };
        Self { local, video }
    }

    /// Reads the answer: what both ends use, and how the peer is reached.
    ///
    /// # Errors
    ///
    /// Returns the line of the answer on which no stream is possible.
    pub fn accept(
        &self,
        answer: &RemoteDescription,
    ) -> Result<(NegotiatedVideo, PeerTransport), SdpError> {
        let (index, section) = answer.video()?;
        let (sends, receives) = directions(section, &self.local)?;
        let mut formats = section.formats.iter();
        let is_offered = |payload_type| payload_type == self.video.payload_type;
        let format = formats.find(|format| is_offered(format.payload_type) && format.is_h264());
        let format = format.filter(|format| {
            let is_usable = format.h264.has_fragments || !sends;
            is_usable && format.h264.profile_level_id.profile().is_some()
        });
        let format = format.ok_or_else(|| {
            let remedy = "answer with the payload type, H264 and packetization-mode=1, as offered";
            section.invalid("payload type", &section.first_format, remedy)
        })?;
        if !format.admits_pictures(&self.local, sends) {
            return Err(level_too_low(section, format));
        }
        let bundled = answer.bundled(index);
        let setup = bundled
            .iter()
            .find_map(|&index| answer.sections[index].setup);
        let setup = setup.filter(|setup| *setup != DtlsSetup::ActPass);
        let setup = setup.ok_or_else(|| {
            let value = setup.map_or("", DtlsSetup::name);
            section.invalid("setup", value, "answer with a=setup:active or passive")
        })?;
        let peer = answer.transport(&bundled, setup)?;
        Ok((negotiated(section, format, sends, receives), peer))
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = SessionLines {
            session_id: self.local.session_id,
            bundle: vec![MID],
        };
        let video = VideoSection {
            local: &self.local,
            setup: DtlsSetup::ActPass,
            protocol: "UDP/TLS/RTP/SAVPF",
            video: &self.video,
            profile_level_id: self.video.peer_level,
            level_asymmetry: true,
            feedback: FeedbackTypes {
                transport_wide: true,
                rfc8888: true,
                pli: true,
                fir: true,
            },
        };
        write!(f, "{session}{video}")
    }
}
