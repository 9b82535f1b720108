//! Reads and writes big-endian fields without a panic, for the wire formats of this crate and its neighbours.

use std::fmt;

/// The error that bytes are malformed: the field, and its offset in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The input ends before the field does.
    Truncated {
        /// The field.
        field: &'static str,
        /// The offset of the field's first byte.
        offset: usize,
    },
    /// The field has a value that the format forbids or this crate does not read.
    Invalid {
        /// The field.
        field: &'static str,
        /// The offset of the field's first byte.
        offset: usize,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { field, offset } => write!(f, "{field} at byte {offset} is cut short"),
            Self::Invalid { field, offset } => write!(f, "{field} at byte {offset} is invalid"),
        }
    }
}

impl std::error::Error for ParseError {}

/// A cursor over input. A method that reads returns [`ParseError::Truncated`] if the input ends before the field does.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the first of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Returns the number of bytes that were read.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Reads the next `len` bytes.
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], ParseError> {
        let offset = self.offset;
        let taken = self
            .rest()
            .get(..len)
            .ok_or(ParseError::Truncated { field, offset })?;
        self.offset += len;
        Ok(taken)
    }

    /// Reads the next byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, ParseError> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Reads the next two bytes.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, ParseError> {
        Ok(u16::from_be_bytes(self.array(field)?))
    }

    /// Reads the next three bytes.
    pub fn u24(&mut self, field: &'static str) -> Result<u32, ParseError> {
        let [a, b, c] = self.array(field)?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    /// Reads the next four bytes.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, ParseError> {
        Ok(u32::from_be_bytes(self.array(field)?))
    }

    /// Reads the next eight bytes.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, ParseError> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }

    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    /// Checks that no bytes remain, which would belong to `field`.
    pub fn end(&self, field: &'static str) -> Result<(), ParseError> {
        if self.rest().is_empty() {
            Ok(())
        } else {
            let offset = self.offset;
            Err(ParseError::Invalid { field, offset })
        }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], ParseError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }
}

/// A cursor over a buffer; every write returns `None` once the buffer is full.
#[derive(Debug)]
pub struct Writer<'a> {
    buf: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    /// Creates a writer at the first byte of `buf`.
    pub const fn new(buf: &'a mut [u8]) -> Self {
        Self { buf, len: 0 }
    }

    /// Returns the number of bytes that were written.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no bytes were written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.space(bytes.len())?.copy_from_slice(bytes);
        Some(())
    }

    /// Reserves `len` bytes, which keep their content.
    pub fn space(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.len;
        let space = self.buf.get_mut(start..start.checked_add(len)?)?;
        self.len += len;
        Some(space)
    }

    /// Writes one byte.
    pub fn u8(&mut self, value: u8) -> Option<()> {
        self.bytes(&[value])
    }

    /// Writes two bytes.
    pub fn u16(&mut self, value: u16) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes the lower 24 bits.
    pub fn u24(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_be_bytes()[1..])
    }

    /// Writes four bytes.
    pub fn u32(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes eight bytes.
    pub fn u64(&mut self, value: u64) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes zeros up to the next multiple of four.
    pub fn pad_to_word(&mut self) -> Option<()> {
        let missing = self.len.next_multiple_of(4) - self.len;
        self.bytes(&[0; 3][..missing])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_ends_are_errors() {
        let mut buf = [0xff; 20];
        let mut writer = Writer::new(&mut buf);
        writer.u8(1).unwrap();
        writer.u16(2).unwrap();
        writer.u24(3).unwrap();
        writer.u32(4).unwrap();
        writer.pad_to_word().unwrap();
        writer.u64(5).unwrap();
        assert_eq!(writer.len(), 20);
        assert_eq!(writer.u8(0), None);

        let mut reader = Reader::new(&buf);
        assert_eq!(reader.u8("a"), Ok(1));
        assert_eq!(reader.u16("b"), Ok(2));
        assert_eq!(reader.u24("c"), Ok(3));
        assert_eq!(reader.u32("d"), Ok(4));
        assert_eq!(reader.take(2, "pad"), Ok(&[0, 0][..]));
        let error = ParseError::Invalid {
            field: "all",
            offset: 12,
        };
        assert_eq!(reader.end("all"), Err(error));
        assert_eq!(reader.u64("e"), Ok(5));
        assert_eq!(reader.end("all"), Ok(()));
        let error = ParseError::Truncated {
            field: "f",
            offset: 20,
        };
        assert_eq!(reader.u8("f"), Err(error));
        assert_eq!(error.to_string(), "f at byte 20 is cut short");
    }
}
