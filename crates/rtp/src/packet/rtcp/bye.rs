//! BYE: sources that leave (RFC 3550 §6.6).

use super::header::{GOODBYE, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// A BYE whose lengths have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bye<'a> {
    sources: &'a [u8],
    /// The reason for leaving, if stated; not necessarily UTF-8.
    pub reason: Option<&'a [u8]>,
}

impl<'a> Bye<'a> {
    /// Reads a packet's body; `count` is the number of sources that its header claims.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(count: u8, body: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(body);
        let sources = reader.take(usize::from(count) * 4, "BYE sources")?;
        let reason = if reader.rest().is_empty() {
            None
        } else {
            let len = reader.u8("BYE reason length")?;
            Some(reader.take(len.into(), "BYE reason")?)
        };
        Ok(Self { sources, reason })
    }

    /// Returns the sources that leave.
    pub fn sources(&self) -> impl Iterator<Item = u32> + use<'a> {
        let mut reader = Reader::new(self.sources);
        std::iter::from_fn(move || reader.u32("BYE source").ok())
    }

    /// Writes the BYE of one source, without a reason, and returns its length; `None` if `buf` is too short.
    pub fn emit(ssrc: u32, buf: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(buf);
        emit_header(&mut writer, 1, GOODBYE, 4)?;
        writer.u32(ssrc)?;
        Some(writer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_reason_are_read() {
        let body = [0, 0, 0, 1, 0, 0, 0, 2, 3, b'e', b'n', b'd'];
        let bye = Bye::parse(2, &body).unwrap();
        assert_eq!(bye.sources().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(bye.reason, Some(&b"end"[..]));
        for cut in [0, 7, 9, 11] {
            assert!(Bye::parse(2, &body[..cut]).is_err());
        }
        assert_eq!(Bye::parse(2, &body[..8]).unwrap().reason, None);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut buf = [0; 8];
        assert_eq!(Bye::emit(0x0102_0304, &mut buf), Some(8));
        assert_eq!(buf, [0x81, 203, 0, 1, 1, 2, 3, 4]);
        let bye = Bye::parse(1, &buf[4..]).unwrap();
        assert_eq!(bye.sources().collect::<Vec<_>>(), [0x0102_0304]);
        assert_eq!(Bye::emit(1, &mut [0; 7]), None);
    }
}
