//! Joins the packets of one scan: chunks of restart intervals, or fragments of the whole.

use std::collections::BTreeMap;

use evenkeel_rtp::packet::payload::jpeg::Restart;

/// Packets of chunks that have not all arrived (RFC 2435 §3.1.7: from F to L, in sequence).
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    fragments: BTreeMap<u64, Fragment>,
}

#[derive(Debug)]
struct Fragment {
    restart: Restart,
    data: Vec<u8>,
}

impl Chunks {
    /// Records a packet's data, and returns the chunk that it completes.
    pub(crate) fn push(&mut self, restart: Restart, data: &[u8], sequence: u64) -> Option<Vec<u8>> {
        if restart.first && restart.last {
            return Some(data.to_vec());
        }
        let data = data.to_vec();
        self.fragments.insert(sequence, Fragment { restart, data });
        // The search goes forwards first. In order there is nothing ahead, so a chunk that never ends costs one
        // step a packet and not one for each earlier packet.
        let last = self.find(sequence, restart.count, false)?;
        let first = self.find(sequence, restart.count, true)?;
        let mut chunk = Vec::new();
        for sequence in first..=last {
            chunk.append(&mut self.fragments.remove(&sequence)?.data);
        }
        Some(chunk)
    }

    /// Returns the packet that begins (or ends) the chunk of `sequence`, if all packets between have arrived.
    fn find(&self, mut sequence: u64, count: u16, backwards: bool) -> Option<u64> {
        loop {
            let fragment = self.fragments.get(&sequence)?;
            if fragment.restart.count != count {
                return None;
            }
            let Restart { first, last, .. } = fragment.restart;
            let end = if backwards { first } else { last };
            if end {
                return Some(sequence);
            }
            let next = if backwards {
                sequence.checked_sub(1)?
            } else {
                sequence.checked_add(1)?
            };
            sequence = next;
        }
    }
}

/// The fragments of a scan that can only be read whole: one without restart markers, or one whose packets are not
/// aligned with them (restart count 0x3FFF, §4.4).
#[derive(Debug, Default)]
pub(crate) struct WholeScan {
    fragments: BTreeMap<u32, Vec<u8>>,
    /// The bytes that are held, which are the length of the scan once it is whole.
    held: usize,
    /// The end of the packet with the marker bit.
    end: Option<usize>,
}

impl WholeScan {
    /// Records a fragment, and returns the scan if it is whole.
    pub(crate) fn push(&mut self, offset: u32, data: &[u8], marker: bool) -> Option<Vec<u8>> {
        if marker {
            self.end = Some(offset as usize + data.len());
        }
        let is_new = !data.is_empty() && !self.fragments.contains_key(&offset);
        if is_new {
            self.held += data.len();
            self.fragments.insert(offset, data.to_vec());
        }
        // A fragment without new bytes completes nothing, and must not cost a search of all fragments.
        if !(is_new || marker) || self.end != Some(self.held) || !self.is_contiguous() {
            return None;
        }
        let mut scan = Vec::with_capacity(self.held);
        self.fragments
            .values()
            .for_each(|data| scan.extend_from_slice(data));
        Some(scan)
    }

    /// Returns true if the fragments follow each other from the beginning, without a gap or an overlap.
    fn is_contiguous(&self) -> bool {
        let mut at = 0;
        self.fragments.iter().all(|(&offset, data)| {
            let follows = offset as usize == at;
            at += data.len();
            follows
        })
    }
}

/// Returns the restart intervals in a chunk whose first one has the index `first`, without their markers.
///
/// The numbers in the markers, modulo 8, must agree with the indices; from the first contradiction on, the chunk is
/// ignored. Fill bytes before a marker (§3.1.9) and an EOI at the end are left out.
pub(crate) fn split_intervals(first: usize, chunk: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut index = first;
    let mut rest = Some(chunk);
    std::iter::from_fn(move || {
        loop {
            let data = rest?;
            let marker = next_marker(data);
            let (interval, after) = match marker {
                Some((at, _)) => (&data[..at], Some(&data[at + 2..])),
                None => (data, None),
            };
            let this = index;
            let empty = trim_fill(interval).is_empty();
            // A marker before the chunk's first interval has the number of that interval, not the next.
            if !(empty && this == first) {
                index += 1;
            }
            let agrees = |number: u8| index > 0 && (index - 1) % 8 == usize::from(number);
            rest = match marker {
                Some((_, Marker::Restart(number))) if agrees(number) => after,
                _ => None,
            };
            if !empty {
                return Some((this, trim_fill(interval)));
            }
        }
    })
}

enum Marker {
    Restart(u8),
    End,
}

/// Returns the first marker in entropy-coded data and the offset of its 0xFF.
fn next_marker(data: &[u8]) -> Option<(usize, Marker)> {
    data.windows(2)
        .enumerate()
        .find_map(|(at, pair)| match pair {
            [0xff, code @ 0xd0..=0xd7] => Some((at, Marker::Restart(code & 7))),
            [0xff, 0xd9] => Some((at, Marker::End)),
            _ => None,
        })
}

fn trim_fill(data: &[u8]) -> &[u8] {
    let end = data.iter().rposition(|&byte| byte != 0xff);
    &data[..end.map_or(0, |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(first: usize, chunk: &[u8]) -> Vec<(usize, Vec<u8>)> {
        split_intervals(first, chunk)
            .map(|(index, data)| (index, data.to_vec()))
            .collect()
    }

    #[test]
    fn a_chunk_splits_at_its_markers() {
        let first = [1, 2, 0xff, 0xd0, 3, 0xff, 0xd1, 4, 5];
        let expected = vec![(0, vec![1, 2]), (1, vec![3]), (2, vec![4, 5])];
        assert_eq!(split(0, &first), expected);
        // Interval 9 follows RST0, whose marker may be present or left out.
        let expected = vec![(9, vec![7]), (10, vec![8])];
        assert_eq!(split(9, &[0xff, 0xd0, 7, 0xff, 0xd1, 8]), expected);
        assert_eq!(split(9, &[7, 0xff, 0xd1, 8]), expected);
    }

    #[test]
    fn fill_stuffing_and_end_marker_are_distinguished() {
        let chunk = [1, 0xff, 0x00, 0xff, 0xff, 0xff, 0xd0, 2, 0xff, 0xd9, 9, 9];
        assert_eq!(
            split(0, &chunk),
            vec![(0, vec![1, 0xff, 0x00]), (1, vec![2])]
        );
    }

    #[test]
    fn data_after_unexpected_marker_is_dropped() {
        assert_eq!(split(0, &[1, 0xff, 0xd5, 2]), vec![(0, vec![1])]);
        assert_eq!(split(3, &[0xff, 0xd7, 2]), vec![]);
    }
}
