//! Puts one frame together from its packets, in any payload format.

use evenkeel_codec::Codec;
use evenkeel_codec::dif::System;
use evenkeel_codec::picture::CodedPicture;
use evenkeel_rtp::packet::payload::h264::H264Payload;
use evenkeel_rtp::packet::payload::jpeg::JpegHeader;
use evenkeel_rtp::packet::payload::raw::RawPayload;
use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use super::dv::DvAssembly;
use super::dv_payload::DvPayload;
use super::h264::H264Assembly;
use super::jpeg::JpegAssembly;
use super::payload::Payload;
use super::raw::{MAX_FRAME_PACKETS, RawAssembly};
use super::{Reassembler, Refused};
use crate::event::NotShown;
use crate::frame::ReceivedFrame;
use crate::packetize::tables::TableCache;

/// The most bytes of one frame. After one more packet, the removal of the oldest frame brings both frames and bytes
/// back under [`Reassembler::MAX_BYTES`].
const MAX_FRAME_BYTES: usize = Reassembler::MAX_BYTES / 2;

/// A frame that is being put together.
#[derive(Debug)]
pub(super) struct Assembly {
    /// The codec of the frame, which is the same for all its packets.
    pub(super) codec: Codec,
    content: Content,
    /// The timestamp as the packets carry it.
    wire_timestamp: u32,
    /// The sequence numbers of the packets that arrived.
    sequences: Vec<u64>,
    /// The sequence number of the last packet.
    pub(super) marker: Option<u64>,
    /// The bytes stored from the packets.
    pub(super) bytes: usize,
    pub(super) last_arrival: Instant,
}

#[derive(Debug)]
enum Content {
    Jpeg(Box<JpegAssembly>),
    Raw(RawAssembly),
    H264(H264Assembly),
    Dv(DvAssembly),
}

/// The content of one packet.
pub(super) enum Part<'a> {
    Jpeg {
        header: JpegHeader<'a>,
        data: &'a [u8],
    },
    Raw {
        payload: RawPayload<'a>,
        size: (u16, u16),
    },
    H264(&'a [u8]),
    Dv {
        payload: DvPayload<'a>,
        system: System,
        audio: bool,
    },
}

impl<'a> Part<'a> {
    pub(super) fn parse(payload: Payload, bytes: &'a [u8]) -> Option<Self> {
        Some(match payload {
            Payload::Jpeg => {
                let (header, data) = JpegHeader::parse(bytes).ok()?;
                Self::Jpeg { header, data }
            }
            Payload::Raw { width, height } => Self::Raw {
                payload: RawPayload::parse(bytes).ok()?,
                size: (width, height),
            },
            Payload::H264 => {
                H264Payload::parse(bytes).ok()?;
                Self::H264(bytes)
            }
            Payload::Dv { system, audio } => Self::Dv {
                payload: DvPayload::parse(bytes, system).ok()?,
                system,
                audio,
            },
        })
    }

    /// Returns the bytes that storage takes: none in a picture that is allocated as a whole.
    fn stored(&self) -> usize {
        match self {
            Self::Jpeg { data, .. } | Self::H264(data) => data.len(),
            Self::Raw { .. } | Self::Dv { .. } => 0,
        }
    }
}

impl Assembly {
    pub(super) fn new(codec: Codec, part: &Part<'_>, packet: &MediaPacket<'_>) -> Self {
        let content = match part {
            Part::Jpeg { header, .. } => Content::Jpeg(Box::new(JpegAssembly::new(header))),
            Part::Raw { size, .. } => Content::Raw(RawAssembly::new(size.0, size.1)),
            Part::H264(_) => Content::H264(H264Assembly::default()),
            Part::Dv { system, audio, .. } => Content::Dv(DvAssembly::new(*system, *audio)),
        };
        Self {
            codec,
            content,
            wire_timestamp: packet.timestamp,
            sequences: Vec::new(),
            marker: None,
            bytes: 0,
            last_arrival: packet.arrival,
        }
    }

    pub(super) fn push(
        &mut self,
        part: &Part<'_>,
        packet: &MediaPacket<'_>,
        tables: &mut TableCache,
    ) -> Result<(), Refused> {
        if let (Content::Jpeg(image), Part::Jpeg { header, .. }) = (&self.content, part)
            && !image.matches(header)
        {
            return Err(Refused::Inconsistent);
        }
        let Err(place) = self.sequences.binary_search(&packet.sequence) else {
            return Err(Refused::Stale);
        };
        if self.bytes + part.stored() > MAX_FRAME_BYTES || self.sequences.len() == MAX_FRAME_PACKETS
        {
            return Err(Refused::Oversized);
        }
        self.sequences.insert(place, packet.sequence);
        self.bytes += part.stored();
        self.last_arrival = self.last_arrival.max(packet.arrival);
        if packet.marker {
            self.marker = Some(packet.sequence);
        }
        match (&mut self.content, part) {
            (Content::Jpeg(image), Part::Jpeg { header, data }) => {
                image.push(header, data, packet, tables)
            }
            (Content::Raw(picture), Part::Raw { payload, .. }) => picture.push(payload),
            (Content::H264(access_unit), Part::H264(payload)) => {
                access_unit.push(payload, packet.sequence);
                Ok(())
            }
            (Content::Dv(frame), Part::Dv { payload, .. }) => {
                frame.push(payload);
                Ok(())
            }
            // Content and part have the same codec, so this is not reached.
            _ => Err(Refused::Inconsistent),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        match &self.content {
            Content::Jpeg(image) => image.is_complete(),
            Content::Raw(picture) => picture.is_complete(),
            Content::H264(access_unit) => self.is_contiguous() && access_unit.is_closed(),
            Content::Dv(frame) => frame.is_complete(),
        }
    }

    /// Returns true if the packet with the marker bit arrived, and no number before it is missing.
    fn is_contiguous(&self) -> bool {
        let (first, last) = self.span();
        self.marker == Some(last) && last - first == self.sequences.len() as u64 - 1
    }

    /// Returns the first and the last sequence number.
    pub(super) fn span(&self) -> (u64, u64) {
        let ends = self.sequences.first().zip(self.sequences.last());
        ends.map_or((0, 0), |(&first, &last)| (first, last))
    }

    /// Returns the highest sequence number that seems to be missing from the frame.
    pub(super) fn last_missing(&self) -> Option<u64> {
        let (&lowest, &highest) = (self.sequences.first()?, self.sequences.last()?);
        if self.marker.is_none() {
            return Some(highest.saturating_add(1));
        }
        let gap = self
            .sequences
            .windows(2)
            .rev()
            .find(|pair| pair[1] - pair[0] > 1)
            .map(|pair| pair[1] - 1);
        // Without a hole inside, the missing packets precede the frame's first one.
        Some(gap.unwrap_or(lowest.saturating_sub(1)))
    }

    pub(super) fn finish(self, now: Instant) -> Result<ReceivedFrame, NotShown> {
        let due = if self.is_complete() {
            self.last_arrival
        } else {
            now
        };
        let picture = match self.content {
            Content::Jpeg(image) => CodedPicture::Jpeg(image.finish()?),
            Content::Raw(picture) => CodedPicture::Raw(picture.finish()?),
            Content::Dv(frame) => CodedPicture::Dv(frame.finish()?),
            Content::H264(access_unit) => {
                CodedPicture::from(access_unit.finish(self.marker.is_some())?)
            }
        };
        Ok(ReceivedFrame {
            timestamp: self.wire_timestamp,
            due,
            picture,
        })
    }
}
