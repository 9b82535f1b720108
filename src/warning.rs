//! What the one who runs a sender must know of its receiver, in a sentence each.

use evenkeel_rtp::session::{Breach, EventKind, RateSource};

/// The warning that goes with an event, if one does.
pub(crate) fn of(event: &EventKind) -> Option<&'static str> {
    Some(match event {
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
        EventKind::GaveUp => "no report for as long as --give-up allows: media has stopped",
        _ => return None,
    })
}
