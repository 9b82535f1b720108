//! RTP header extensions (RFC 8285), among them the element of TFRC.

use std::time::Duration;

use crate::packet::wire::{ParseError, Reader, Writer};

/// The "defined by profile" field that announces one-byte element headers (RFC 8285 §4.2).
pub const ONE_BYTE_PROFILE: u16 = 0xbede;
/// The "defined by profile" field that announces two-byte element headers; its lower four bits belong to the
/// application (§4.3).
pub const TWO_BYTE_PROFILE: u16 = 0x1000;

/// One element of a header extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// The local identifier: 1 to 14 in the one-byte form, 1 to 255 in the two-byte form.
    pub id: u8,
    /// The data: 1 to 16 bytes in the one-byte form, 0 to 255 in the two-byte form.
    pub data: &'a [u8],
}

impl Element<'_> {
    /// Returns the length of this element in the one-byte form, before padding.
    pub const fn one_byte_len(&self) -> usize {
        1 + self.data.len()
    }
}

/// Iterates over the elements of an extension, up to the first error.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    reader: Reader<'a>,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    OneByte,
    TwoByte,
    /// The extension has ended, or RFC 8285 does not describe it.
    Over,
}

/// Returns the elements of an extension with the given "defined by profile" field. An unknown profile has no
/// elements, because RFC 3550 §5.3.1 lets a receiver ignore it.
pub const fn elements(profile: u16, data: &[u8]) -> Elements<'_> {
    let form = if profile == ONE_BYTE_PROFILE {
        Form::OneByte
    } else if profile & 0xfff0 == TWO_BYTE_PROFILE {
        Form::TwoByte
    } else {
        Form::Over
    };
    Elements {
        reader: Reader::new(data),
        form,
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.form == Form::Over || self.reader.rest().is_empty() {
                return None;
            }
            match self.element() {
                Ok(None) => {}
                Ok(Some(element)) => return Some(Ok(element)),
                Err(error) => {
                    self.form = Form::Over;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<'a> Elements<'a> {
    /// Reads the next element; `None` for a byte of padding and for the end marker.
    fn element(&mut self) -> Result<Option<Element<'a>>, ParseError> {
        let head = self.reader.u8("element id")?;
        if head == 0 {
            return Ok(None);
        }
        let (id, len) = match self.form {
            Form::TwoByte => (head, usize::from(self.reader.u8("element length")?)),
            Form::OneByte | Form::Over => (head >> 4, usize::from(head & 0xf) + 1),
        };
        if self.form == Form::OneByte && matches!(id, 0 | 15) {
            // Identifier 15, and identifier 0 with a length, end the processing of the extension (§4.1.2, §4.2).
            self.form = Form::Over;
            return Ok(None);
        }
        let data = self.reader.take(len, "element data")?;
        Ok(Some(Element { id, data }))
    }
}

/// Returns the length of an extension in the one-byte form: its header, the elements and their padding.
pub fn one_byte_len(elements: &[Element<'_>]) -> usize {
    let data: usize = elements.iter().map(Element::one_byte_len).sum();
    4 + data.next_multiple_of(4)
}

/// Writes a whole extension in the one-byte form. Returns `None` if `buf` is too short or an element does not fit
/// the form.
pub(crate) fn emit_one_byte(elements: &[Element<'_>], writer: &mut Writer<'_>) -> Option<()> {
    let words = (one_byte_len(elements) - 4) / 4;
    writer.u16(ONE_BYTE_PROFILE)?;
    writer.u16(u16::try_from(words).ok()?)?;
    for element in elements {
        if !matches!(element.id, 1..=14) || !matches!(element.data.len(), 1..=16) {
            return None;
        }
        writer.u8(element.id << 4 | (element.data.len() - 1) as u8)?;
        writer.bytes(element.data)?;
    }
    writer.pad_to_word()
}

/// The `rtt-sendts` element (draft-ietf-avt-tfrc-profile-10): R and the send time, which a TFRC sender states in
/// each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSendTs {
    /// The sender's round-trip time in microseconds, 24 bits; 0 before it knows one.
    pub rtt_micros: u32,
    /// The departure of the packet on the sender's clock, in microseconds modulo 2^32.
    pub send_time: u32,
}

impl RttSendTs {
    /// The URI that SDP maps to an identifier.
    pub const URI: &'static str = "urn:ietf:params:rtp-hdrext:rtt-sendts";
    /// The identifier of the element in our SDP.
    pub const DEFAULT_ID: u8 = 1;
    /// The length of the data in bytes.
    pub const LEN: usize = 7;
    const MAX_RTT_MICROS: u32 = (1 << 24) - 1;

    /// Creates the element. A known round-trip time is at least 1 µs, so that it does not read as unknown, and at
    /// most the 16.8 s that fit into the field.
    pub fn new(rtt: Option<Duration>, send_time: u32) -> Self {
        let rtt_micros = rtt.map_or(0, |rtt| {
            rtt.as_micros().clamp(1, u128::from(Self::MAX_RTT_MICROS)) as u32
        });
        Self {
            rtt_micros,
            send_time,
        }
    }

    /// Returns the round-trip time, if the sender knows one.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt_micros != 0).then(|| Duration::from_micros(self.rtt_micros.into()))
    }

    /// Reads the data of an element, which must be exactly [`LEN`](Self::LEN) bytes.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(data);
        let this = Self {
            rtt_micros: reader.u24("round-trip time")?,
            send_time: reader.u32("send timestamp")?,
        };
        reader.end("rtt-sendts")?;
        Ok(this)
    }

    /// Returns the data of the element.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let [_, r1, r2, r3] = self.rtt_micros.min(Self::MAX_RTT_MICROS).to_be_bytes();
        let [t1, t2, t3, t4] = self.send_time.to_be_bytes();
        [r1, r2, r3, t1, t2, t3, t4]
    }
}

/// The transport-wide sequence number, by which [`crate::packet::rtcp::twcc`] names a packet.
///
/// The number has two bytes (draft-holmer-rmcat-transport-wide-cc-extensions-01 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportSequence(pub u16);

impl TransportSequence {
    /// The URI that SDP maps to an identifier.
    pub const URI: &'static str =
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
    /// The identifier of the element in our SDP.
    pub const DEFAULT_ID: u8 = 2;
    /// The length of the data in bytes.
    pub const LEN: usize = 2;

    /// Returns the data of the element.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

/// The `playout-delay` element: the least and the largest delay from capture to display that a sender wants of a receiver.
///
/// libwebrtc documents it (docs/native-code/rtp-hdrext/playout-delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayoutDelay {
    /// The least delay, at most 40.95 s; a receiver of libwebrtc has no jitter buffer if it is 0.
    pub min: Duration,
    /// The largest delay, within the same bound.
    pub max: Duration,
}

impl PlayoutDelay {
    /// The URI that SDP maps to an identifier.
    pub const URI: &'static str = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay";
    /// The length of the data in bytes.
    pub const LEN: usize = 3;
    const UNIT_MILLIS: u128 = 10;
    const MAX_UNITS: u128 = (1 << 12) - 1;

    /// Returns the data of the element.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let [min, max] = [self.min, self.max]
            .map(|delay| (delay.as_millis() / Self::UNIT_MILLIS).min(Self::MAX_UNITS) as u32);
        let [_, bytes @ ..] = (min << 12 | max).to_be_bytes();
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect(profile: u16, data: &[u8]) -> Vec<(u8, &[u8])> {
        elements(profile, data)
            .map(|e| e.map(|e| (e.id, e.data)).unwrap())
            .collect()
    }

    #[test]
    fn the_examples_of_rfc_8285_read_as_drawn() {
        // §4.2: a 1-byte element, a 2-byte element, padding, a 4-byte element.
        let one = [0x10, 1, 0x21, 2, 3, 0, 0, 0x33, 4, 5, 6, 7];
        assert_eq!(
            collect(ONE_BYTE_PROFILE, &one),
            [(1, &[1][..]), (2, &[2, 3]), (3, &[4, 5, 6, 7])]
        );
        // §4.3: an empty element, a 1-byte element, padding, a 4-byte element.
        let two = [1, 0, 2, 1, 9, 0, 3, 4, 4, 5, 6, 7];
        assert_eq!(
            collect(TWO_BYTE_PROFILE | 5, &two),
            [(1, &[][..]), (2, &[9]), (3, &[4, 5, 6, 7])]
        );
        assert_eq!(collect(0xabcd, &one), []);
    }

    #[test]
    fn playout_delay_has_twelve_bits_a_bound() {
        for (min, max, data) in [(10, 150, [0, 0x10, 15]), (0, 50_000, [0, 0x0f, 0xff])] {
            let [min, max] = [min, max].map(Duration::from_millis);
            assert_eq!(PlayoutDelay { min, max }.to_bytes(), data);
        }
    }

    #[test]
    fn identifier_15_and_a_long_identifier_0_end_the_extension() {
        for end in [0xf0, 0x01] {
            assert_eq!(
                collect(ONE_BYTE_PROFILE, &[0x10, 1, end, 1, 1, 0x20, 2]),
                [(1, &[1][..])]
            );
        }
    }

    #[test]
    fn rtt_sendts_is_seven_bytes_and_eight_with_its_header() {
        let element = RttSendTs::new(Some(Duration::from_micros(0x01_0203)), 0x0405_0607);
        assert_eq!(element.to_bytes(), [1, 2, 3, 4, 5, 6, 7]);
        let data = element.to_bytes();
        let elements = [Element { id: 1, data: &data }];
        let mut buf = [0; 16];
        let mut writer = Writer::new(&mut buf);
        emit_one_byte(&elements, &mut writer).unwrap();
        assert_eq!(writer.len(), one_byte_len(&elements));
        assert_eq!(buf[..12], [0xbe, 0xde, 0, 2, 0x16, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_known_rtt_never_reads_as_unknown() {
        assert_eq!(RttSendTs::new(None, 0).rtt(), None);
        let tiny = RttSendTs::new(Some(Duration::from_nanos(1)), 0);
        assert_eq!(tiny.rtt(), Some(Duration::from_micros(1)));
        let huge = RttSendTs::new(Some(Duration::MAX), 0);
        assert_eq!(huge.rtt(), Some(Duration::from_micros(0xff_ffff)));
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            list in proptest::collection::vec(
                (1..=14u8, proptest::collection::vec(any::<u8>(), 1..=16)), 0..6)
        ) {
            let elements: Vec<_> =
                list.iter().map(|(id, data)| Element { id: *id, data }).collect();
            let mut buf = [0; 256];
            let mut writer = Writer::new(&mut buf);
            emit_one_byte(&elements, &mut writer).unwrap();
            let len = writer.len();
            prop_assert_eq!(len, one_byte_len(&elements));
            let read: Result<Vec<_>, _> =
                super::elements(ONE_BYTE_PROFILE, &buf[4..len]).collect();
            prop_assert_eq!(read, Ok(elements));
        }

        #[test]
        fn arbitrary_bytes_end_in_one_error_at_most(profile in prop_oneof![
            Just(ONE_BYTE_PROFILE), Just(TWO_BYTE_PROFILE), any::<u16>()], data: Vec<u8>) {
            let results: Vec<_> = elements(profile, &data).collect();
            let errors = results.iter().filter(|r| r.is_err()).count();
            prop_assert!(errors == 0 || (errors == 1 && results.last().is_some_and(Result::is_err)));
        }

        #[test]
        fn rtt_sendts_round_trips(rtt in 0..1u32 << 24, send_time: u32, cut in 0..7usize) {
            let element = RttSendTs { rtt_micros: rtt, send_time };
            let bytes = element.to_bytes();
            prop_assert_eq!(RttSendTs::parse(&bytes), Ok(element));
            prop_assert!(RttSendTs::parse(&bytes[..cut]).is_err());
            prop_assert!(RttSendTs::parse(&[&bytes[..], &[0]].concat()).is_err());
        }
    }
}
