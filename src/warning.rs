//! What the one who runs an end must know of the other, in a sentence each.

use std::borrow::Cow;

use evenkeel_rtp::session::{Breach, EventKind, Lie, RateSource};

/// What becomes of a receiver that was caught at reporting this.
macro_rules! caught {
    ($reported:literal) => {
        concat!(
            "the receiver reports ",
            $reported,
            ": its reports count as none from now on, and the rate falls until media stops; \
             mend or replace it, then start this end again (--trace has its address)"
        )
    };
}

/// The warning that goes with an event, if one does.
pub(crate) fn of(event: &EventKind) -> Option<Cow<'static, str>> {
    let text = match event {
        EventKind::UnknownPayloadType { payload_type } => {
            return Some(
                format!(
                    "RTP of payload type {payload_type} comes, which this end does not take: nothing is shown of it; \
                     give recv the sender's description (send --sdp FILE, recv --sdp FILE), \
                     or both ends the same --codec"
                )
                .into(),
            );
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
            "a receiver at the address of one that was caught is held for it, whatever its name: \
             start this end again once the receiver there was mended or replaced"
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
        EventKind::GaveUp => "no report for as long as --give-up allows: media has stopped",
        _ => return None,
    };
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_type_that_is_not_taken_is_told_with_its_number_and_what_helps() {
        let event = EventKind::UnknownPayloadType { payload_type: 97 };
        let text = of(&event).expect("a warning");
        assert!(text.contains("type 97") && text.contains("--sdp"), "{text}");
    }

    #[test]
    fn a_receiver_that_was_caught_is_warned_of_with_what_it_did_and_what_helps() {
        let told = |lie, again| {
            let address = ([192, 0, 2, 7], 5004).into();
            let caught = EventKind::ReceiverLied {
                address,
                ssrc: 1,
                lie,
                again,
            };
            of(&caught).expect("a warning")
        };
        let texts = [
            (told(Lie::NeverSent, false), "never sent"),
            (told(Lie::ReceiveRate, false), "receive rate"),
            (told(Lie::NeverSent, true), "whatever its name"),
        ];
        for (text, what) in texts {
            assert!(text.contains(what), "{text}");
            assert!(text.contains("start this end again"), "{text}");
        }
    }
}
