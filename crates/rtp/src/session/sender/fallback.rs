//! The rate towards a receiver without TFRC feedback.
//!
//! Reception reports set the rate if the receiver sends them. Without any report the rate is fixed and low.

use std::time::Duration;

use tfrc::equation;
use tfrc::units::{Bytes, LossEventRate, Rate};

use super::reception::{REMEMBERED, Reception};

/// The rate without any report: the rate of two telephone calls, which the Internet carries without congestion control
/// (RFC 3714 §3). A video gets a picture a second or more.
pub(super) const BLIND_RATE: Rate = Rate::from_bytes_per_sec(16_000.0);
/// The time without RTCP after which none is expected: a report is due within half its interval of five seconds at
/// first, randomised by half (RFC 3550 §6.2, §6.3.1).
pub(super) const BLIND_AFTER: Duration = Duration::from_secs(5);
/// The time from the first packet after which reception reports without feedback show that the receiver sends none.
pub(super) const REPORTS_AFTER: Duration = Duration::from_secs(2);
/// The share by which the rate grows in a second, over at most [`LONGEST_STEP`] of an interval between reports. The
/// rate thus overfills a queue by at most a fifth within an interval, and by a twentieth after a loss.
const GROWTH: f64 = 0.05;
const GROWTH_AFTER_LOSS: f64 = 0.01;
const LONGEST_STEP: Duration = Duration::from_secs(5);
/// The round trip where no report gives one (RFC 8085 §3.1.1).
pub(super) const UNKNOWN_ROUND_TRIP: Duration = Duration::from_secs(1);
/// t_mbi: a packet in this time is always allowed (RFC 5348 §4.3).
const MAX_BACKOFF: Duration = Duration::from_secs(64);

/// Returns the next rate after `rate`, for packets of this size.
///
/// The equation bounds the rate, at the largest of the last loss, the average loss and the inherited p of the host.
/// The rate approaches this bound slowly, and stays below twice the rate at which packets arrived.
pub(super) fn next_rate(
    rate: Rate,
    packet: Bytes,
    reception: &Reception,
    inherited: LossEventRate,
) -> Rate {
    let step = reception.newest().min(LONGEST_STEP).as_secs_f64();
    let most = reception.receive_rate(packet) * 2.0;
    let growth = if reception.has_lost() {
        GROWTH_AFTER_LOSS
    } else {
        GROWTH
    };
    let grown = (rate * (1.0 + growth * step)).min(most.max(rate));
    let reported_loss = reception
        .confirmed_loss(1)
        .max(reception.confirmed_loss(REMEMBERED));
    let loss = reported_loss.max(inherited.get());
    let allowed_at = |rtt| equation::rate(packet, rtt, LossEventRate::new(loss));
    let allowed = reception.rtt().map_or_else(
        || allowed_at(UNKNOWN_ROUND_TRIP).min(BLIND_RATE),
        allowed_at,
    );
    grown.min(allowed).max(packet / MAX_BACKOFF)
}

#[cfg(test)]
pub(super) mod tests {
    use tfrc::time::Instant;

    use super::super::reception::tests::report;
    use super::*;

    pub(crate) const PACKET: Bytes = Bytes::new(1_200);
    pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(100);

    /// Returns the state after reports five seconds apart, each with this share of 256 packets lost.
    pub(crate) fn reported(lost: &[u8], round_trip: Option<Duration>) -> Reception {
        let mut reception = Reception::default();
        let mut total = 0;
        for (index, fraction) in (0..).zip([&[0], lost].concat()) {
            // A fraction is rounded down (RFC 3550 §A.3).
            total += (10_000 * u32::from(fraction)).div_ceil(256).cast_signed();
            let at = Instant::from_secs(u64::from(index) * 5);
            report(
                &mut reception,
                at,
                (index * 10_000, fraction, total),
                round_trip,
            );
        }
        reception
    }

    /// Returns the next rate at a host without an inherited p.
    fn clean(rate: Rate, reception: &Reception) -> Rate {
        next_rate(rate, PACKET, reception, LossEventRate::ZERO)
    }

    #[test]
    fn without_loss_the_rate_grows_by_a_quarter_in_five_seconds() {
        let rate = clean(BLIND_RATE, &reported(&[0], Some(ROUND_TRIP)));
        assert!((rate / BLIND_RATE - 1.25).abs() < 1e-9);
        let unknown = clean(BLIND_RATE, &reported(&[0], None));
        assert_eq!(unknown, BLIND_RATE);
    }

    #[test]
    fn a_loss_gives_the_rate_of_the_equation_and_is_remembered() {
        let wide = Rate::from_bits_per_sec(2e7);
        let at_once = clean(wide, &reported(&[26], Some(ROUND_TRIP)));
        let p = LossEventRate::new(26.0 / 256.0);
        assert_eq!(at_once, equation::rate(PACKET, ROUND_TRIP, p));
        // The average over eight reports limits the rate after the loss is over.
        let after = clean(wide, &reported(&[26, 0], Some(ROUND_TRIP)));
        assert!(at_once < after && after < at_once * 4.0, "{after:?}");
        let unknown = clean(wide, &reported(&[26], None));
        assert!(unknown < at_once / 9.0);
    }

    #[test]
    fn a_loss_gives_no_more_than_none_where_no_report_shows_a_round_trip() {
        let wide = Rate::from_bits_per_sec(2e7);
        let (silent, rare) = (reported(&[0], None), LossEventRate::new(1e-4));
        assert_eq!(next_rate(wide, PACKET, &silent, rare), BLIND_RATE);
        // The reports show a loss of one packet in 256 now and then.
        let reported_loss = reported(&[1, 0, 0, 0, 0, 0, 0, 0], None);
        assert!(clean(wide, &reported_loss) <= BLIND_RATE);
    }

    #[test]
    fn what_the_host_bore_with_feedback_bounds_it_as_a_loss_does() {
        let wide = Rate::from_bits_per_sec(2e7);
        let bore = LossEventRate::new(0.01);
        let rate = next_rate(wide, PACKET, &reported(&[0], Some(ROUND_TRIP)), bore);
        assert_eq!(rate, equation::rate(PACKET, ROUND_TRIP, bore));
    }
}
