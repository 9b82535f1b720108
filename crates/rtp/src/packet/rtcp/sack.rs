//! The SACK vector of the `light` paper: a bit a packet and the receive rate, in an APP packet.
//!
//! ```text
//! | V=2 | subtype 0 | PT=204 |  length                   |
//! |           SSRC of the packet's sender               |
//! |           name "SACK"                               |
//! |           SSRC of the media                         |
//! |  first packet            |  packets                 |
//! |  receive rate, bytes per second, rounded up         |
//! |  from the highest packet's arrival to here, in µs   |
//! |  the vector, from the most significant bit on: 1 for a packet that arrived …
//! ```
//!
//! The paper gives no layout, and two polarities. Here the zeros that pad the vector to a word read as packets that
//! did not arrive. The paper's offset is the first packet here; its TimeStamp is left out, as in its figure 7.

use std::ops::Range;
use std::time::Duration;

use tfrc::sent_packets::AckVector;
use tfrc::units::Rate;

use super::app::App;
use super::feedback::to_wire_rate;
use super::header::{APPLICATION, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// The name of the packet.
pub const NAME: [u8; 4] = *b"SACK";

/// A vector that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sack<'a> {
    /// The media source that the vector concerns.
    pub media_ssrc: u32,
    /// The fields of the report except its bits.
    pub vector: AckVector,
    count: u16,
    bits: &'a [u8],
}

impl<'a> Sack<'a> {
    /// Reads a packet of this name, which has only one kind.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(app: &App<'a>) -> Result<Self, ParseError> {
        let mut reader = Reader::new(app.data);
        let media_ssrc = reader.u32("SACK media SSRC")?;
        let first = reader.u16("SACK first packet")?;
        let count = reader.u16("SACK packet count")?;
        let receive_rate = Rate::from_bytes_per_sec(reader.u32("SACK receive rate")?.into());
        let delay = Duration::from_micros(reader.u32("SACK delay")?.into());
        let bits = reader.take(usize::from(count).div_ceil(8), "SACK vector")?;
        Ok(Self {
            media_ssrc,
            vector: AckVector {
                first,
                receive_rate,
                delay,
            },
            count,
            bits,
        })
    }

    /// Returns true for each packet that arrived.
    pub fn received(&self) -> Received<'a> {
        Received {
            bits: self.bits,
            left: 0..self.count,
        }
    }
}

/// Iterates over the bits of a vector, with random access.
#[derive(Clone, Debug)]
pub struct Received<'a> {
    bits: &'a [u8],
    left: Range<u16>,
}

impl Received<'_> {
    #[inline]
    const fn bit(&self, index: u16) -> bool {
        self.bits[index as usize / 8] << (index % 8) & 0x80 != 0
    }
}

impl Iterator for Received<'_> {
    type Item = bool;

    #[inline]
    fn next(&mut self) -> Option<bool> {
        self.left.next().map(|index| self.bit(index))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<bool> {
        self.left.nth(n).map(|index| self.bit(index))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for Received<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<bool> {
        self.left.next_back().map(|index| self.bit(index))
    }

    #[inline]
    fn nth_back(&mut self, n: usize) -> Option<bool> {
        self.left.nth_back(n).map(|index| self.bit(index))
    }
}

impl ExactSizeIterator for Received<'_> {}

/// Returns the length of the whole RTCP packet about `count` packets.
pub const fn packet_len(count: usize) -> usize {
    28 + count.div_ceil(8).next_multiple_of(4)
}

/// Returns the bits of a vector, eight packets a byte.
pub fn bits_of(mut received: impl Iterator<Item = bool>) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let first = received.next()?;
        let others = (0..7).map(|_| received.next() == Some(true));
        Some(others.fold(u8::from(first), |byte, bit| byte << 1 | u8::from(bit)))
    })
}

/// Writes the whole packet: the fields, then the bits of `count` packets in the order of [`bits_of`]. Returns
/// `None` if the packet does not fit, covers too many packets or lacks bits.
pub fn emit(
    (sender_ssrc, media_ssrc): (u32, u32),
    vector: &AckVector,
    count: usize,
    bits: impl IntoIterator<Item = u8>,
    buf: &mut [u8],
) -> Option<usize> {
    let mut writer = Writer::new(buf);
    emit_header(&mut writer, 0, APPLICATION, packet_len(count) - 4)?;
    writer.u32(sender_ssrc)?;
    writer.bytes(&NAME)?;
    writer.u32(media_ssrc)?;
    writer.u16(vector.first)?;
    writer.u16(u16::try_from(count).ok()?)?;
    writer.u32(to_wire_rate(vector.receive_rate))?;
    writer.u32(u32::try_from(vector.delay.as_micros()).unwrap_or(u32::MAX))?;
    let mut bits = bits.into_iter();
    for byte in writer.space(count.div_ceil(8))? {
        *byte = bits.next()?;
    }
    writer.pad_to_word()?;
    Some(writer.len())
}

#[cfg(test)]
mod tests {
    use super::super::app::read;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_vector_is_laid_out_as_drawn() {
        let vector = AckVector {
            first: 0xfffe,
            receive_rate: Rate::from_bytes_per_sec(0.5),
            delay: Duration::from_micros(258),
        };
        let received = (0..9).map(|index| index != 1);
        let mut buf = [0xaa; 64];
        let len = emit((1, 7), &vector, 9, bits_of(received), &mut buf).unwrap();
        let expected = [
            0x80, 204, 0, 7, 0, 0, 0, 1, b'S', b'A', b'C', b'K', 0, 0, 0, 7, //
            0xff, 0xfe, 0, 9, 0, 0, 0, 1, 0, 0, 1, 2, 0xbf, 0x80, 0, 0,
        ];
        assert_eq!(buf[..len], expected);
        for cut in 0..22 {
            let data = &read(&buf[..len]).data[..cut.min(17)];
            let app = App {
                data,
                ..read(&buf[..len])
            };
            assert!(Sack::parse(&app).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(first: u16, rate: u32, delay: u32, received in proptest::collection::vec(any::<bool>(), 0..1_100)) {
            let vector = AckVector {
                first,
                receive_rate: Rate::from_bytes_per_sec(rate.into()),
                delay: Duration::from_micros(delay.into()),
            };
            let mut buf = [0; 512];
            let bits = bits_of(received.iter().copied());
            let len = emit((1, 7), &vector, received.len(), bits, &mut buf).unwrap();
            prop_assert_eq!(len, packet_len(received.len()));
            let app = read(&buf[..len]);
            let sack = Sack::parse(&app).unwrap();
            prop_assert_eq!((app.ssrc, sack.media_ssrc, sack.vector), (1, 7, vector));
            prop_assert_eq!(sack.received().collect::<Vec<_>>(), received.clone());
            let some = received.len() / 3;
            prop_assert_eq!(sack.received().skip(some).collect::<Vec<_>>(), &received[some..]);
            let last = received[..some].iter().rposition(|received| *received);
            prop_assert_eq!(sack.received().take(some).rposition(|received| received), last);
        }

        #[test]
        fn arbitrary_bytes_are_no_panic(data: Vec<u8>) {
            let app = App { subtype: 0, ssrc: 0, name: NAME, data: &data };
            if let Ok(sack) = Sack::parse(&app) {
                prop_assert_eq!(sack.received().count(), usize::from(sack.count));
            }
        }
    }
}
