//! The payload structures of RTP's H.264 format: a single NAL unit, an aggregate, a fragment.
//!
//! Packetisation modes 0 and 1 (RFC 6184 §5.6, §5.7.1, §5.8) are supported.

use crate::packet::wire::{ParseError, Reader};

/// The bits F (an error) and NRI (the importance).
const IMPORTANCE: u8 = 0xe0;
const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// Returns the type of a NAL unit with this header (RFC 6184 §1.3, ITU-T H.264 table 7-1).
pub const fn unit_type(header: u8) -> u8 {
    header & 0x1f
}

/// The content of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum H264Payload<'a> {
    /// A NAL unit, its header first.
    Single(&'a [u8]),
    /// NAL units that fit into a packet together (STAP-A).
    Aggregate(Aggregate<'a>),
    /// A part of a NAL unit that fits into no packet (FU-A).
    Fragment(Fragment<'a>),
}

/// A fragment of a NAL unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The NAL unit's header, which the fragments carry in a different form.
    pub header: u8,
    /// True if the unit begins here.
    pub start: bool,
    /// True if the unit ends here.
    pub end: bool,
    /// The data after the header; never empty.
    pub data: &'a [u8],
}

impl<'a> H264Payload<'a> {
    /// Reads a payload, and refuses types of the interleaved mode and unknown types.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(payload: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(payload);
        let first = reader.u8("NAL unit header")?;
        match unit_type(first) {
            1..=23 => Ok(Self::Single(payload)),
            STAP_A => {
                let units = Aggregate {
                    rest: reader.rest(),
                };
                units.check()?;
                Ok(Self::Aggregate(units))
            }
            FU_A => {
                let fu = reader.u8("FU header")?;
                let (start, end) = (fu & START != 0, fu & END != 0);
                // A fragment with both bits would be a whole unit (§5.8).
                let valid = matches!(unit_type(fu), 1..=23) && !(start && end);
                if !valid {
                    return Err(invalid("FU header", 1));
                }
                let data = reader.rest();
                if data.is_empty() {
                    return Err(ParseError::Truncated {
                        field: "fragment",
                        offset: 2,
                    });
                }
                Ok(Self::Fragment(Fragment {
                    header: first & IMPORTANCE | unit_type(fu),
                    start,
                    end,
                    data,
                }))
            }
            _ => Err(invalid("NAL unit type", 0)),
        }
    }
}

/// The NAL units of a STAP-A, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate<'a> {
    rest: &'a [u8],
}

impl<'a> Aggregate<'a> {
    /// Checks that each unit is complete, not empty, and not itself a structure of RTP.
    fn check(self) -> Result<(), ParseError> {
        let mut reader = Reader::new(self.rest);
        loop {
            let offset = 1 + reader.offset();
            let len = reader.u16("NAL unit size")?;
            let unit = reader.take(len.into(), "NAL unit")?;
            if !unit
                .first()
                .is_some_and(|header| matches!(unit_type(*header), 1..=23))
            {
                return Err(invalid("NAL unit size", offset));
            }
            if reader.rest().is_empty() {
                return Ok(());
            }
        }
    }
}

impl<'a> Iterator for Aggregate<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.rest.split_first_chunk()?;
        let (unit, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        self.rest = rest;
        Some(unit)
    }
}

/// Appends a STAP-A of these units, each with its length. F and NRI are the strongest among the units (§5.7).
///
/// Appends nothing and returns `false` if there is no unit, or one that is empty or above 65,535 bytes.
pub fn aggregate<'a>(units: impl Iterator<Item = &'a [u8]> + Clone, buf: &mut Vec<u8>) -> bool {
    let sized = |unit: &[u8]| !unit.is_empty() && u16::try_from(unit.len()).is_ok();
    if units.clone().next().is_none() || !units.clone().all(sized) {
        return false;
    }
    let errors = units.clone().fold(0, |bits, unit| bits | unit[0] & 0x80);
    let importance = units.clone().map(|unit| unit[0] & 0x60).max();
    buf.push(errors | importance.unwrap_or(0) | STAP_A);
    for unit in units {
        buf.extend_from_slice(&(unit.len() as u16).to_be_bytes());
        buf.extend_from_slice(unit);
    }
    true
}

/// The length of an FU-A before its data.
pub const FRAGMENT_HEADERS: usize = 2;

impl Fragment<'_> {
    /// Appends the fragment as a payload.
    pub fn emit(&self, buf: &mut Vec<u8>) {
        let flags = if self.start { START } else { 0 } | if self.end { END } else { 0 };
        buf.extend_from_slice(&[
            self.header & IMPORTANCE | FU_A,
            flags | unit_type(self.header),
        ]);
        buf.extend_from_slice(self.data);
    }
}

const fn invalid(field: &'static str, offset: usize) -> ParseError {
    ParseError::Invalid { field, offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_unit_by_itself_is_its_own_payload() {
        let slice = [0x65, 1, 2, 3];
        assert_eq!(H264Payload::parse(&slice), Ok(H264Payload::Single(&slice)));
    }

    #[test]
    fn an_aggregate_takes_the_strongest_importance() {
        let (sps, slice): (&[u8], &[u8]) = (&[0x27, 9], &[0x41, 5, 6]);
        let mut payload = Vec::new();
        assert!(aggregate([sps, slice].into_iter(), &mut payload));
        assert_eq!(payload, [0x58, 0, 2, 0x27, 9, 0, 3, 0x41, 5, 6]);
        let Ok(H264Payload::Aggregate(units)) = H264Payload::parse(&payload) else {
            panic!("an aggregate");
        };
        assert_eq!(units.collect::<Vec<_>>(), [sps, slice]);
        assert!(!aggregate(std::iter::empty(), &mut payload));
        assert!(!aggregate([sps, &[]].into_iter(), &mut payload));
    }

    #[test]
    fn a_fragment_carries_the_header_in_two_halves() {
        let fragment = Fragment {
            header: 0x65,
            start: true,
            end: false,
            data: &[7, 8],
        };
        let mut payload = Vec::new();
        fragment.emit(&mut payload);
        assert_eq!(payload, [0x7c, 0x85, 7, 8]);
        assert_eq!(
            H264Payload::parse(&payload),
            Ok(H264Payload::Fragment(fragment))
        );
    }

    #[test]
    fn what_is_not_of_these_modes_is_refused_by_name() {
        for (payload, error) in [
            (&[0x00, 1][..], invalid("NAL unit type", 0)),
            (&[0x19, 0, 0, 0, 1, 0x65], invalid("NAL unit type", 0)),
            (&[0x1c, 0xc5, 1], invalid("FU header", 1)),
            (&[0x1c, 0x98, 1], invalid("FU header", 1)),
            (&[0x18, 0, 0], invalid("NAL unit size", 1)),
            (&[0x18, 0, 1, 0x65, 0, 1, 0x78], invalid("NAL unit size", 4)),
        ] {
            assert_eq!(H264Payload::parse(payload), Err(error), "{payload:02x?}");
        }
        for truncated in [
            &[][..],
            &[0x1c],
            &[0x1c, 0x85],
            &[0x18],
            &[0x18, 0, 2, 0x65],
        ] {
            let error = H264Payload::parse(truncated);
            assert!(
                matches!(error, Err(ParseError::Truncated { .. })),
                "{truncated:02x?}"
            );
        }
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(H264Payload::Aggregate(units)) = H264Payload::parse(&bytes) {
                let total: usize = units.map(|unit| unit.len() + 2).sum();
                prop_assert_eq!(total + 1, bytes.len());
            }
        }

        #[test]
        fn what_is_written_is_read(
            units in proptest::collection::vec((1..24_u8, proptest::collection::vec(any::<u8>(), 0..9)), 1..4),
        ) {
            let units: Vec<Vec<u8>> = units
                .into_iter()
                .map(|(kind, mut unit)| { unit.insert(0, 0x60 | kind); unit })
                .collect();
            let mut payload = Vec::new();
            prop_assert!(aggregate(units.iter().map(Vec::as_slice), &mut payload));
            let Ok(H264Payload::Aggregate(read)) = H264Payload::parse(&payload) else {
                return Err(TestCaseError::fail("no aggregate"));
            };
            prop_assert!(read.eq(units.iter().map(Vec::as_slice)));
        }
    }
}
