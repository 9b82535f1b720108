//! Warnings about the peer, in a sentence each.

use std::borrow::Cow;

use evenkeel_media::call::CallEvent;
use evenkeel_media::event::EventKind as MediaEvent;
use evenkeel_rtp::session::{Breach, EventKind, Lie, RateSource};
use tfrc::time::{Duration, Instant};

use crate::description;

/// The warning about a receiver whose reports are false.
macro_rules! caught {
    ($reported:literal) => {
        concat!(
            "the receiver reports ",
            $reported,
            ": its reports are ignored until it passes a test. If media stops, repair or replace the receiver; if \
             media goes on, somebody forges packets (--trace has its address)"
        )
    };
}

/// Returns the warning for an event, if it has one.
pub(crate) fn of(event: &CallEvent) -> Option<Cow<'static, str>> {
    match event {
        CallEvent::Session(event) => of_session(&event.kind),
        CallEvent::Media(event) => match event.kind {
            MediaEvent::OtherSize { sent, received } => Some(
                format!(
                    "uncompressed pictures of {}x{} arrive, but this end takes {}x{}: they are shown in part or not at all; \
                     give both ends the same --size, or recv the sender's description (send --sdp FILE, recv --sdp FILE)",
                    sent.0, sent.1, received.0, received.1
                )
                .into(),
            ),
            _ => None,
        },
    }
}

/// Warns once of a deadline that no frame can keep on this path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopelessDeadline {
    configured: Duration,
    since: Option<Instant>,
    is_told: bool,
}

/// The time for which the path must have been too long: a queue at the start may be in the first round trips.
const HOPELESS_AFTER: Duration = Duration::from_secs(3);

impl HopelessDeadline {
    /// Creates the watch of a configured deadline.
    pub(crate) const fn new(configured: Duration) -> Self {
        Self {
            configured,
            since: None,
            is_told: false,
        }
    }

    /// Handles the shortest deadline that the path permits now; returns the warning, if it is due.
    pub(crate) fn poll(&mut self, now: Instant, least: Option<Duration>) -> Option<String> {
        let least = least.filter(|least| *least > self.configured && !self.is_told);
        let Some(least) = least else {
            self.since = None;
            return None;
        };
        let since = *self.since.get_or_insert(now);
        if now.saturating_since(since) < HOPELESS_AFTER {
            return None;
        }
        self.is_told = true;
        let [configured, least] = [self.configured, least].map(|time| time.as_millis());
        Some(format!(
            "no picture can be shown within the {configured} ms of --deadline: half the round trip, a frame and playout \
             take {least} ms on this path; give --deadline {}ms or more",
            least.next_multiple_of(10)
        ))
    }
}

/// The receiver of a run that only sends, and ends when nothing is sent any more.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedReceiver {
    /// Its address, or words for it.
    pub(crate) name: String,
    pub(crate) give_up: Duration,
}

impl AwaitedReceiver {
    /// Returns the reason for which nothing more is sent, if this event is one.
    pub(crate) fn lost(&self, event: &EventKind) -> Option<String> {
        let Self { name, give_up } = self;
        match event {
            EventKind::GaveUp => Some(format!(
                "no report from {name} for {give_up:?} (--give-up): check that the receiver still runs and that UDP passes both ways, \
                 or add --fixed-rate for a receiver that sends no reports"
            )),
            EventKind::CircuitBreaker { ceased: true, .. } => {
                of_session(event).map(|text| format!("sending to {name} is over: {text}"))
            }
            _ => None,
        }
    }
}

fn of_session(event: &EventKind) -> Option<Cow<'static, str>> {
    let text = match event {
        EventKind::UnknownPayloadType { payload_type: 33 } => {
            return Some(
                format!("payload type 33 (MP2T/90000): {}", description::OF_MPEG_TS).into(),
            );
        }
        EventKind::UnknownPayloadType { payload_type } => {
            return Some(
                format!(
                    "payload type {payload_type} ({}) cannot be received: send JPEG or H.264, and give recv the \
                     sender's description (--sdp FILE), or both ends of a call the same --codec",
                    payload_name(*payload_type)
                )
                .into(),
            );
        }
        EventKind::SecondSender { heard, ignored } => {
            return Some(
                format!(
                    "media from {ignored} is ignored: this end hears {heard}; stop one of the two, \
                     or receive the other at a port of its own"
                )
                .into(),
            );
        }
        EventKind::PeerMoved { .. } => {
            "the peer's address changed, by its router or by another network: this end follows it; \
             nothing is encrypted, so start both ends again if the peer has not moved (--trace has its addresses)"
        }
        EventKind::RateSource(RateSource::ReceptionReports) => {
            "the receiver sends reception reports but no feedback of the kind that --feedback names: \
             the rate follows the loss and the round trip that these report, slowly; \
             a receiver of transport-wide feedback (--feedback twcc) or RFC 8888 (ccfb) lets it follow the path"
        }
        EventKind::RateSource(RateSource::Nothing) => {
            "the receiver sends no RTCP: sending at 128 kb/s, blind to congestion, until --give-up; \
             --fixed-rate sets another rate, for a path that is yours alone"
        }
        EventKind::CircuitBreaker {
            breach,
            ceased: false,
        } => match breach {
            Breach::Congestion => {
                "more than ten times what a TCP would have sent is being lost: the rate is cut to a tenth (RFC 8083)"
            }
            Breach::NoReports | Breach::NoMedia => return None,
        },
        EventKind::CircuitBreaker {
            breach,
            ceased: true,
        } => match breach {
            Breach::Congestion => {
                "the path is still congested at a tenth of the rate: media has stopped (RFC 8083)"
            }
            Breach::NoReports => {
                "reception reports have been missing for 15 s: media has stopped (RFC 8083)"
            }
            Breach::NoMedia => "no packet reaches the receiver: media has stopped (RFC 8083)",
        },
        EventKind::ReceiverLied { again: true, .. } => {
            "a receiver at the address of one that was caught before reports what cannot be true: its reports \
             are ignored until it passes a longer test. Repair or replace the receiver"
        }
        EventKind::ReceiverLied {
            lie: Lie::NeverSent,
            ..
        } => {
            caught!("packets as received that were never sent")
        }
        EventKind::ReceiverLied {
            lie: Lie::ReceiveRate,
            ..
        } => {
            caught!("a receive rate of many times what was sent")
        }
        EventKind::GaveUp => {
            "no report for as long as --give-up allows: media has stopped, until the peer is heard again"
        }
        _ => return None,
    };
    Some(text.into())
}

/// Returns the content of a payload type: its registered name (RFC 3551 §6), or where the name is found.
const fn payload_name(payload_type: u8) -> &'static str {
    match payload_type {
        0 => "PCMU/8000",
        3 => "GSM/8000",
        8 => "PCMA/8000",
        9 => "G722/8000",
        14 => "MPA/90000",
        26 => "JPEG/90000",
        31 => "H261/90000",
        32 => "MPV/90000",
        33 => "MP2T/90000",
        34 => "H263/90000",
        96..=127 => "only the sender's description names its codec",
        _ => "no video",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: u8) -> std::net::SocketAddr {
        ([192, 0, 2, host], 5_004).into()
    }

    #[test]
    fn warnings_name_the_event_and_its_remedy() {
        let lied = |lie, again| EventKind::ReceiverLied {
            address: address(7),
            ssrc: 1,
            lie,
            again,
        };
        let second = EventKind::SecondSender {
            heard: address(7),
            ignored: address(8),
        };
        let unknown = |payload_type| EventKind::UnknownPayloadType { payload_type };
        let moved = EventKind::PeerMoved {
            from: address(7),
            to: address(8),
        };
        let again = "repair or replace";
        for (event, words) in [
            (unknown(97), ["type 97 (only", "--sdp"]),
            (unknown(33), ["type 33 (MP2T/90000)", "-sdp_file"]),
            (moved, ["address changed", "follows"]),
            (second, ["from 192.0.2.8:5004 is", "hears 192.0.2.7:5004"]),
            (lied(Lie::NeverSent, false), ["never sent", again]),
            (lied(Lie::ReceiveRate, false), ["receive rate", again]),
            (
                lied(Lie::NeverSent, true),
                ["caught before", "Repair or replace"],
            ),
        ] {
            let text = of_session(&event).expect("a warning");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn deadline_below_the_path_is_warned_of_once() {
        let ms = Duration::from_millis;
        let mut watch = HopelessDeadline::new(ms(20));
        let mut told = Vec::new();
        for tick in 0..100 {
            // A round trip of the first second was taken with a queue.
            let least = if tick == 10 { ms(20) } else { ms(107) };
            told.extend(watch.poll(Instant::from_millis(tick * 100), Some(least)));
        }
        assert_eq!(told.len(), 1, "{told:?}");
        for words in ["the 20 ms of --deadline", "take 107 ms", "--deadline 110ms"] {
            assert!(told[0].contains(words), "{told:?}");
        }
        let mut possible = HopelessDeadline::new(ms(150));
        assert!((0..100).all(|s| {
            possible
                .poll(Instant::from_secs(s), Some(ms(107)))
                .is_none()
        }));
    }

    #[test]
    fn lost_receiver_is_named_with_timeout_and_remedy() {
        let receiver = AwaitedReceiver {
            name: "192.0.2.7:5004".into(),
            give_up: Duration::from_secs(3),
        };
        let text = receiver.lost(&EventKind::GaveUp).expect("a reason");
        for words in ["192.0.2.7:5004", "3s", "--give-up", "receiver still runs"] {
            assert!(text.contains(words), "{text}");
        }
        let trips = |ceased| EventKind::CircuitBreaker {
            breach: Breach::Congestion,
            ceased,
        };
        assert!(receiver.lost(&trips(true)).is_some());
        assert_eq!(receiver.lost(&trips(false)), None);
    }

    #[test]
    fn uncompressed_size_mismatch_names_both_sizes_and_remedy() {
        let kind = MediaEvent::OtherSize {
            sent: (320, 240),
            received: (640, 480),
        };
        let at = tfrc::time::Instant::ZERO;
        let event = evenkeel_media::event::Event { at, kind };
        let text = of(&CallEvent::Media(event)).expect("a warning");
        for words in ["of 320x240 arrive", "takes 640x480", "--size", "--sdp"] {
            assert!(text.contains(words), "{text}");
        }
    }
}
