//! Puts a JPEG image together from RTP payloads (RFC 2435) of any sender, in any order, with holes.

use std::collections::BTreeMap;

use evenkeel_codec::picture::{JpegImage, QuantTables, Sampling};
use evenkeel_rtp::packet::payload::jpeg::{JpegHeader, JpegType, Restart, Tables, WHOLE_FRAME};
use evenkeel_rtp::session::MediaPacket;

use super::Refused;
use super::chunk::{Chunks, WholeScan, split_intervals};
use crate::event::NotShown;
use crate::packetize::tables::TableCache;

/// An image that is being put together.
#[derive(Debug)]
pub(super) struct JpegAssembly {
    /// The image without its intervals and tables.
    image: JpegImage,
    q: u8,
    tables: Option<QuantTables>,
    /// The number of intervals in the whole image.
    expected: usize,
    intervals: BTreeMap<usize, Vec<u8>>,
    chunks: Chunks,
    whole: WholeScan,
}

impl JpegAssembly {
    /// Creates an image for a packet with this header.
    pub(super) fn new(header: &JpegHeader<'_>) -> Self {
        let image = JpegImage {
            width: header.width,
            height: header.height,
            sampling: sampling(header),
            tables: QuantTables {
                luma: [0; 64],
                chroma: [0; 64],
            },
            restart_interval: header.restart.map_or(0, |restart| restart.interval),
            intervals: Vec::new(),
        };
        let expected = match image.restart_interval {
            0 => 1,
            mcus => image.mcus().div_ceil(usize::from(mcus)),
        };
        Self {
            image,
            q: header.q,
            tables: None,
            expected,
            intervals: BTreeMap::new(),
            chunks: Chunks::default(),
            whole: WholeScan::default(),
        }
    }

    /// Returns true if the fields agree that must be the same in all packets of a frame (RFC 2435 §3.1).
    pub(super) fn matches(&self, header: &JpegHeader<'_>) -> bool {
        let image = &self.image;
        (image.width, image.height, image.sampling, self.q)
            == (header.width, header.height, sampling(header), header.q)
            && image.restart_interval == header.restart.map_or(0, |restart| restart.interval)
    }

    /// Records a packet that [matches](Self::matches) and did not arrive before. `cache` has the tables of the
    /// stream, and learns the tables of the packet.
    pub(super) fn push(
        &mut self,
        header: &JpegHeader<'_>,
        data: &[u8],
        packet: &MediaPacket<'_>,
        cache: &mut TableCache,
    ) -> Result<(), Refused> {
        match header.restart {
            Some(restart) if restart.count != WHOLE_FRAME => {
                self.push_chunk(restart, data, packet.sequence)?;
            }
            _ => self.push_whole(header.offset, data, packet.marker),
        }
        // A refused packet teaches the cache nothing.
        if let Some(Tables::InBand(bytes)) = header.tables {
            let tables = quant_tables(bytes);
            cache.learn(header.q, &tables);
            self.tables = Some(tables);
        } else if self.tables.is_none() {
            self.tables = cache.get(header.q);
        }
        Ok(())
    }

    fn push_chunk(&mut self, restart: Restart, data: &[u8], sequence: u64) -> Result<(), Refused> {
        if usize::from(restart.count) >= self.expected {
            return Err(Refused::Inconsistent);
        }
        if let Some(chunk) = self.chunks.push(restart, data, sequence) {
            self.add_intervals(usize::from(restart.count), &chunk);
        }
        Ok(())
    }

    fn push_whole(&mut self, offset: u32, data: &[u8], marker: bool) {
        if let Some(scan) = self.whole.push(offset, data, marker) {
            if self.image.restart_interval == 0 {
                self.intervals.insert(0, scan);
            } else {
                self.add_intervals(0, &scan);
            }
        }
    }

    fn add_intervals(&mut self, first: usize, chunk: &[u8]) {
        for (index, interval) in split_intervals(first, chunk) {
            if index < self.expected {
                self.intervals
                    .entry(index)
                    .or_insert_with(|| interval.to_vec());
            }
        }
    }

    /// Returns true if every interval has arrived, and the tables are known.
    pub(super) fn is_complete(&self) -> bool {
        self.intervals.len() == self.expected && self.tables.is_some()
    }

    /// Returns the image, with its missing parts.
    pub(super) fn finish(mut self) -> Result<JpegImage, NotShown> {
        if self.intervals.is_empty() {
            return Err(NotShown::Empty);
        }
        self.image.tables = self.tables.ok_or(NotShown::NoTables)?;
        self.image.intervals = (0..self.expected)
            .map(|index| self.intervals.remove(&index))
            .collect();
        Ok(self.image)
    }
}

fn sampling(header: &JpegHeader<'_>) -> Sampling {
    match header.kind {
        JpegType::Yuv422 => Sampling::Yuv422,
        JpegType::Yuv420 => Sampling::Yuv420,
    }
}

/// Reads luma and chroma in the layout of the quantisation table header.
fn quant_tables(bytes: &[u8; 128]) -> QuantTables {
    let mut tables = QuantTables {
        luma: [0; 64],
        chroma: [0; 64],
    };
    tables.luma.copy_from_slice(&bytes[..64]);
    tables.chroma.copy_from_slice(&bytes[64..]);
    tables
}
