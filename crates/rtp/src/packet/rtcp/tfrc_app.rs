//! TFRC in APP packets, as the `hdtv` paper has it: a sender's reports take the round-trip time along, a
//! receiver's the loss event rate.
//!
//! ```text
//! | V=2 | subtype 0 | PT=204 |  length                   |
//! |           SSRC of the packet's sender               |
//! |           name "TFRC"                               |
//! |  R, microseconds; 0 if none is known                |
//!
//! | V=2 | subtype 1 | PT=204 |  length                   |
//! |           SSRC of the packet's sender               |
//! |           name "TFRC"                               |
//! |           SSRC of the media                         |
//! |  from the highest packet's arrival to here, in µs   |
//! |  receive rate, bytes per second, rounded up         |
//! |  p times 2^32 - 1, rounded up                       |
//! ```
//!
//! The paper gives no layout, and names R and p alone. X_recv accompanies p, because no rate follows without it
//! (RFC 5348 §4.3).
//!
//! The reception report in the same datagram names the highest packet that arrived (RFC 3550 §6.4.1), which gives R
//! together with t_delay. LSR and DLSR would not: they concern a sender report, which may have left many round
//! trips before.

use std::time::Duration;

use tfrc::units::{LossEventRate, Rate};

use super::app::App;
use super::feedback::TfrcFeedback;
use super::header::{APPLICATION, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// The name of the packets.
pub const NAME: [u8; 4] = *b"TFRC";

/// The content of a packet of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TfrcApp {
    /// The R that the sender of media measured, in microseconds; 0 without a measurement.
    RoundTrip(u32),
    /// The measurements of the receiver of media.
    Reception(Reception),
}

/// The measurements of a receiver, in the units of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The source of the media.
    pub media_ssrc: u32,
    /// *t_delay*: the time from the arrival of the highest packet to this report, in microseconds.
    pub delay_micros: u32,
    /// The receive rate *X_recv* in bytes per second.
    pub receive_rate: u32,
    /// The loss event rate *p* times 2^32 - 1.
    pub loss_event_rate: u32,
}

impl Reception {
    /// Rounds the values as [`TfrcFeedback::new`] does.
    pub fn new(media_ssrc: u32, delay: Duration, rate: Rate, p: LossEventRate) -> Self {
        let feedback = TfrcFeedback::new(0, delay, rate, p);
        Self {
            media_ssrc,
            delay_micros: feedback.delay_micros,
            receive_rate: feedback.receive_rate,
            loss_event_rate: feedback.loss_event_rate,
        }
    }

    /// Returns the delay as a duration.
    pub const fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_micros as u64)
    }

    /// Returns the same report in TFRC's own message, about the packet with this timestamp.
    pub const fn about(&self, timestamp: u32) -> TfrcFeedback {
        TfrcFeedback {
            timestamp,
            delay_micros: self.delay_micros,
            receive_rate: self.receive_rate,
            loss_event_rate: self.loss_event_rate,
            transit: None,
        }
    }
}

impl TfrcApp {
    /// The length of a packet with the round-trip time.
    pub const ROUND_TRIP_LEN: usize = 16;
    /// The length of a packet with p.
    pub const RECEPTION_LEN: usize = 28;

    /// Converts a round-trip time to the unit of the wire, rounded up to a microsecond and limited to 71 minutes.
    pub fn round_trip(rtt: Option<Duration>) -> Self {
        let micros = rtt.map_or(0, |rtt| rtt.as_nanos().div_ceil(1_000));
        Self::RoundTrip(u32::try_from(micros).unwrap_or(u32::MAX))
    }

    /// Reads a packet of this name; `None` if its subtype is unknown.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(app: &App<'_>) -> Result<Option<Self>, ParseError> {
        let mut reader = Reader::new(app.data);
        let this = match app.subtype {
            ROUND_TRIP => Self::RoundTrip(reader.u32("APP round-trip time")?),
            RECEPTION => Self::Reception(Reception {
                media_ssrc: reader.u32("APP media SSRC")?,
                delay_micros: reader.u32("APP delay")?,
                receive_rate: reader.u32("APP receive rate")?,
                loss_event_rate: reader.u32("APP loss event rate")?,
            }),
            _ => return Ok(None),
        };
        reader.end("APP data")?;
        Ok(Some(this))
    }

    /// Writes the whole RTCP packet of the source `ssrc` and returns its length; `None` if `buf` is too short.
    pub fn emit(&self, ssrc: u32, buf: &mut [u8]) -> Option<usize> {
        let (subtype, len) = match self {
            Self::RoundTrip(_) => (ROUND_TRIP, Self::ROUND_TRIP_LEN),
            Self::Reception(_) => (RECEPTION, Self::RECEPTION_LEN),
        };
        let mut writer = Writer::new(buf);
        emit_header(&mut writer, subtype, APPLICATION, len - 4)?;
        writer.u32(ssrc)?;
        writer.bytes(&NAME)?;
        match self {
            Self::RoundTrip(micros) => writer.u32(*micros)?,
            Self::Reception(reception) => {
                writer.u32(reception.media_ssrc)?;
                writer.u32(reception.delay_micros)?;
                writer.u32(reception.receive_rate)?;
                writer.u32(reception.loss_event_rate)?;
            }
        }
        Some(writer.len())
    }
}

const ROUND_TRIP: u8 = 0;
const RECEPTION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::super::app::read;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_packets_are_laid_out_as_drawn() {
        let mut buf = [0xaa; 28];
        let round_trip = TfrcApp::round_trip(Some(Duration::from_nanos(131_999_001)));
        assert_eq!(round_trip.emit(7, &mut buf), Some(16));
        let expected = [
            0x80, 204, 0, 3, 0, 0, 0, 7, b'T', b'F', b'R', b'C', 0, 2, 3, 0xa0,
        ];
        assert_eq!(buf[..16], expected);
        let rate = Rate::from_bytes_per_sec(0.5);
        let delay = Duration::from_micros(258);
        let reception = Reception::new(8, delay, rate, LossEventRate::ONE);
        assert_eq!(TfrcApp::Reception(reception).emit(7, &mut buf), Some(28));
        let expected = [
            0x81, 204, 0, 6, 0, 0, 0, 7, b'T', b'F', b'R', b'C', //
            0, 0, 0, 8, 0, 0, 1, 2, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff,
        ];
        assert_eq!(buf, expected);
    }

    #[test]
    fn a_round_trip_time_that_is_not_known_is_zero() {
        assert_eq!(TfrcApp::round_trip(None), TfrcApp::RoundTrip(0));
        let longest = TfrcApp::round_trip(Some(Duration::MAX));
        assert_eq!(longest, TfrcApp::RoundTrip(u32::MAX));
    }

    #[test]
    fn other_lengths_are_errors_and_other_subtypes_are_another_s() {
        for (subtype, len) in [(0, 4), (1, 16)] {
            let data = [1; 32];
            for cut in (0..=32).filter(|cut| *cut != len) {
                let app = App {
                    subtype,
                    ssrc: 7,
                    name: NAME,
                    data: &data[..cut],
                };
                assert!(TfrcApp::parse(&app).is_err(), "{subtype} {cut}");
            }
        }
        let app = App {
            subtype: 2,
            ssrc: 7,
            name: NAME,
            data: &[],
        };
        assert_eq!(TfrcApp::parse(&app), Ok(None));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(words: [u32; 5], ssrc: u32) {
            let reception = Reception {
                media_ssrc: words[0],
                delay_micros: words[4],
                receive_rate: words[1],
                loss_event_rate: words[2],
            };
            for packet in [TfrcApp::RoundTrip(words[3]), TfrcApp::Reception(reception)] {
                let mut buf = [0; 28];
                let len = packet.emit(ssrc, &mut buf).unwrap();
                let app = read(&buf[..len]);
                prop_assert_eq!((app.ssrc, TfrcApp::parse(&app)), (ssrc, Ok(Some(packet))));
                prop_assert_eq!(packet.emit(ssrc, &mut buf[..len - 1]), None);
            }
            // TFRC's own message carries the same values.
            let own = reception.about(words[3]);
            let rebuilt = Reception::new(reception.media_ssrc, own.delay(), own.rate(), own.p());
            prop_assert_eq!(own.timestamp, words[3]);
            prop_assert_eq!((rebuilt.delay_micros, rebuilt.receive_rate), (reception.delay_micros, reception.receive_rate));
            prop_assert!(rebuilt.loss_event_rate.abs_diff(reception.loss_event_rate) <= 1);
        }

        #[test]
        fn arbitrary_bytes_are_no_panic(subtype in 0..32u8, data: Vec<u8>) {
            let app = App { subtype, ssrc: 0, name: NAME, data: &data };
            if let Ok(Some(packet)) = TfrcApp::parse(&app) {
                prop_assert!(packet.emit(0, &mut [0; 28]).is_some());
            }
        }
    }
}
