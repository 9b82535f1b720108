//! Transport-layer feedback (RFC 4585 §6.1, §6.2), and the TFRC report in it.

use std::time::Duration;

use tfrc::units::{LossEventRate, Rate};

use super::header::{TRANSPORT_FEEDBACK, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// A feedback message of any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// The FMT, which determines the format of the control information.
    pub format: u8,
    /// The source of the message.
    pub sender_ssrc: u32,
    /// The media source that the message concerns.
    pub media_ssrc: u32,
    /// The feedback control information.
    pub fci: &'a [u8],
}

impl<'a> Feedback<'a> {
    /// Reads a packet's body; `format` comes from its header.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(format: u8, body: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            format,
            sender_ssrc: reader.u32("feedback sender SSRC")?,
            media_ssrc: reader.u32("feedback media SSRC")?,
            fci: reader.rest(),
        })
    }
}

/// The transit times of the packets since the report before, in microseconds modulo 2^32.
///
/// A transit time is the arrival on the receiver's clock, which may have any zero, less the send time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitBounds {
    /// The least transit time, in microseconds modulo 2^32.
    pub least: u32,
    /// The largest transit time, in microseconds modulo 2^32.
    pub largest: u32,
}

/// The report of a TFRC receiver, in the units of the wire (draft-ietf-avt-tfrc-profile-10).
///
/// An extension of this project appends transit times, where the sender asked for them:
///
/// ```text
/// |  send time of the last packet, microseconds         |
/// |  delay from its arrival to the report, microseconds |
/// |  receive rate, bytes per second                     |
/// |  loss event rate times 2^32 - 1                     |
/// |  least transit time, microseconds modulo 2^32       |
/// |  largest transit time, microseconds modulo 2^32     |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfrcFeedback {
    /// The send timestamp of the last packet received, microseconds modulo 2^32.
    pub timestamp: u32,
    /// The time from that packet's arrival to this report, in microseconds.
    pub delay_micros: u32,
    /// The receive rate *X_recv* in bytes per second.
    pub receive_rate: u32,
    /// The loss event rate *p* times 2^32 - 1.
    pub loss_event_rate: u32,
    /// The transit times, where they are reported.
    pub transit: Option<TransitBounds>,
}

impl TfrcFeedback {
    /// The length of the control information without transit times.
    pub const FCI_LEN: usize = 16;
    /// The length of the whole RTCP packet without transit times.
    pub const PACKET_LEN: usize = 12 + Self::FCI_LEN;
    /// The length of the transit times.
    pub const TRANSIT_LEN: usize = 8;

    /// Rounds the values to the units of the wire. The rates are rounded up, so that only zero becomes zero. Values
    /// that do not fit become the largest: 71 minutes and 34 Gb/s.
    pub fn new(timestamp: u32, delay: Duration, rate: Rate, p: LossEventRate) -> Self {
        Self {
            timestamp,
            delay_micros: u32::try_from(delay.as_micros()).unwrap_or(u32::MAX),
            receive_rate: to_wire_rate(rate),
            loss_event_rate: to_wire_p(p),
            transit: None,
        }
    }

    /// Returns the length of the whole RTCP packet.
    pub const fn packet_len(&self) -> usize {
        if self.transit.is_some() {
            Self::PACKET_LEN + Self::TRANSIT_LEN
        } else {
            Self::PACKET_LEN
        }
    }

    /// Returns the delay as a duration.
    pub const fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_micros as u64)
    }

    /// Returns *X_recv* as a rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.receive_rate.into())
    }

    /// Returns *p* as a probability.
    pub fn p(&self) -> LossEventRate {
        from_wire_p(self.loss_event_rate)
    }

    /// Reads the control information: [`FCI_LEN`](Self::FCI_LEN) bytes or, with transit times,
    /// [`TRANSIT_LEN`](Self::TRANSIT_LEN) more.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(fci: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(fci);
        let has_transit = fci.len() > Self::FCI_LEN;
        let mut this = Self {
            timestamp: reader.u32("echoed timestamp")?,
            delay_micros: reader.u32("delay")?,
            receive_rate: reader.u32("receive rate")?,
            loss_event_rate: reader.u32("loss event rate")?,
            transit: None,
        };
        if has_transit {
            this.transit = Some(TransitBounds {
                least: reader.u32("least transit time")?,
                largest: reader.u32("largest transit time")?,
            });
        }
        reader.end("TFRC feedback")?;
        Ok(this)
    }

    /// Writes the whole RTCP packet and returns its length; `None` if `buf` is too short or the format is above 31.
    pub fn emit(
        &self,
        format: u8,
        sender_ssrc: u32,
        media_ssrc: u32,
        buf: &mut [u8],
    ) -> Option<usize> {
        let mut writer = Writer::new(buf);
        emit_header(
            &mut writer,
            format,
            TRANSPORT_FEEDBACK,
            self.packet_len() - 4,
        )?;
        writer.u32(sender_ssrc)?;
        writer.u32(media_ssrc)?;
        writer.u32(self.timestamp)?;
        writer.u32(self.delay_micros)?;
        writer.u32(self.receive_rate)?;
        writer.u32(self.loss_event_rate)?;
        if let Some(transit) = self.transit {
            writer.u32(transit.least)?;
            writer.u32(transit.largest)?;
        }
        Some(writer.len())
    }
}

/// Returns *X_recv* in the unit of the wire: bytes per second, rounded up.
pub(super) fn to_wire_rate(rate: Rate) -> u32 {
    rate.bytes_per_sec().ceil() as u32
}

/// Returns *p* in the unit of the wire: times 2^32 - 1, rounded up.
fn to_wire_p(p: LossEventRate) -> u32 {
    (p.get() * f64::from(u32::MAX)).ceil() as u32
}

fn from_wire_p(p: u32) -> LossEventRate {
    LossEventRate::new(f64::from(p) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::{Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_last_profile_draft() {
        let feedback = TfrcFeedback::new(
            0x0102_0304,
            Duration::from_micros(5),
            Rate::from_bytes_per_sec(250_000.0),
            LossEventRate::ONE,
        );
        let mut buf = [0; TfrcFeedback::PACKET_LEN];
        assert_eq!(feedback.emit(2, 7, 8, &mut buf), Some(28));
        assert_eq!(
            buf,
            [
                0x82, 205, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, // RTPFB, FMT 2, from 7 about 8
                1, 2, 3, 4, 0, 0, 0, 5, 0, 3, 0xd0, 0x90, 0xff, 0xff, 0xff, 0xff,
            ]
        );
    }

    #[test]
    fn rounding_never_makes_zero_of_something() {
        let rate = Rate::from_bytes_per_sec(0.1);
        let feedback = TfrcFeedback::new(0, Duration::MAX, rate, LossEventRate::new(1e-12));
        assert_eq!(feedback.receive_rate, 1);
        assert_eq!(feedback.loss_event_rate, 1);
        assert_eq!(feedback.delay_micros, u32::MAX);
        let none = TfrcFeedback::new(0, Duration::ZERO, Rate::ZERO, LossEventRate::ZERO);
        assert!(none.p().is_zero());
        assert_eq!(none.rate(), Rate::ZERO);
    }

    #[test]
    fn transit_times_follow_the_report_of_the_draft() {
        let short = TfrcFeedback {
            timestamp: 1,
            delay_micros: 2,
            receive_rate: 3,
            loss_event_rate: 4,
            transit: None,
        };
        let long = TfrcFeedback {
            transit: Some(TransitBounds {
                least: 0x0102_0304,
                largest: 0x0506_0708,
            }),
            ..short
        };
        let mut buf = [0; 36];
        assert_eq!(long.emit(2, 7, 8, &mut buf[..35]), None);
        assert_eq!(long.emit(2, 7, 8, &mut buf), Some(36));
        assert_eq!(buf[..4], [0x82, 205, 0, 8]);
        assert_eq!(buf[28..], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(TfrcFeedback::parse(&buf[12..]), Ok(long));
        // The first 16 bytes are the report of a receiver without the extension.
        assert_eq!(TfrcFeedback::parse(&buf[12..28]), Ok(short));
        for len in (0..24).filter(|len| *len != 16) {
            assert!(TfrcFeedback::parse(&buf[12..12 + len]).is_err(), "{len}");
        }
        assert!(TfrcFeedback::parse(&[0; 28]).is_err());
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(words: [u32; 6], transit: Option<[u32; 2]>, format in 0..=31u8) {
            let feedback = TfrcFeedback {
                timestamp: words[0],
                delay_micros: words[1],
                receive_rate: words[2],
                loss_event_rate: words[3],
                transit: transit.map(|[least, largest]| TransitBounds { least, largest }),
            };
            let len = feedback.packet_len();
            let mut buf = [0; 36];
            prop_assert_eq!(feedback.emit(format, words[4], words[5], &mut buf), Some(len));
            let Some(Ok(Packet::Feedback(read))) = Packets::parse(&buf[..len]).unwrap().next() else {
                panic!("no feedback");
            };
            prop_assert_eq!((read.format, read.sender_ssrc, read.media_ssrc),
                (format, words[4], words[5]));
            prop_assert_eq!(TfrcFeedback::parse(read.fci), Ok(feedback));
            for cut in 0..16 {
                prop_assert!(TfrcFeedback::parse(&read.fci[..cut]).is_err());
            }
            // The values survive a second conversion unchanged.
            let rebuilt = TfrcFeedback::new(
                feedback.timestamp, feedback.delay(), feedback.rate(), feedback.p());
            prop_assert_eq!(rebuilt.receive_rate, feedback.receive_rate);
            prop_assert!(rebuilt.loss_event_rate.abs_diff(feedback.loss_event_rate) <= 1);
        }
    }
}
