//! What is measured: the same calls on the same packets for instructions and for nanoseconds.

mod traffic;

use std::time::Duration;

use tfrc::loss::Arrived;
use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Arrival, Feedback, FeedbackPacket, Receiver, ReceiverConfig, Sender, SenderConfig};

pub(crate) use traffic::{IN_ORDER, LIGHT_PATH, SIZE, Traffic};

/// How late a timer wakes a sender.
pub(crate) const LATENESS: Duration = Duration::from_micros(60);
/// Reports that bring a sender to a steady rate.
pub(crate) const WARM_UP: u64 = 20;
/// Eight packets a round trip, so that each loss is an event of its own: a sender that loses one packet
/// in ten sends no more than two a round trip.
pub(crate) const LOSSY: Traffic = Traffic {
    spacing: Duration::from_micros(7_500),
    rtt: Duration::from_millis(60),
    lost: Some(10),
    reordered: true,
};

/// Uncompressed HDTV: 75,000 packets a second, with more loss than the equation grants such a rate.
pub(crate) const HDTV: Traffic = Traffic {
    spacing: Duration::from_nanos(13_333),
    rtt: Duration::from_millis(60),
    lost: Some(1_000),
    reordered: true,
};

pub(crate) fn receiver() -> Receiver {
    Receiver::new(ReceiverConfig::default())
}

/// What a caller does with a packet that comes.
#[inline]
pub(crate) fn receive(receiver: &mut Receiver, arrival: &Arrival) -> Arrived {
    receiver.handle_data(arrival)
}

/// What it then asks.
#[inline]
pub(crate) fn report(receiver: &mut Receiver, now: Instant) -> Option<FeedbackPacket> {
    receiver.poll_report(now)
}

/// A sender that has its rate from the equation, after the first reports.
pub(crate) fn sender() -> Sender {
    let mut sender = Sender::new(Instant::ZERO, SenderConfig::default());
    for (now, feedback) in reports(WARM_UP) {
        send_until(&mut sender, now);
        feed_back(&mut sender, (now, &feedback));
    }
    sender
}

/// Sends all that may leave up to a time, each packet when it is due.
pub(crate) fn send_until(sender: &mut Sender, end: Instant) {
    while sender.next_departure(end) <= end {
        let due = sender.next_departure(end);
        sender.handle_sent(due, SIZE);
    }
}

/// Reports a round trip apart, no two alike: R and p wander, the receiver sees what was sent.
pub(crate) fn reports(count: u64) -> Vec<(Instant, Feedback)> {
    (1..=count)
        .map(|i| {
            let now = Instant::from_millis(60 * i);
            let feedback = Feedback {
                sent_at: now - Duration::from_micros(60_000 + i * 7_919 % 20_000),
                delay: Duration::from_micros(i * 104_729 % 3_000),
                receive_rate: Rate::from_bytes_per_sec(4e5 + (i * 31 % 97) as f64),
                loss_event_rate: LossEventRate::new(1e-3 + (i * 17 % 89) as f64 * 1e-5),
            };
            (now, feedback)
        })
        .collect()
}

/// What a caller does with a report.
#[inline]
pub(crate) fn feed_back(sender: &mut Sender, (now, feedback): (Instant, &Feedback)) -> Trace {
    sender.handle_feedback(now, feedback)
}

/// What a caller does to send a packet: it asks when it may leave, and says that it left.
#[inline]
pub(crate) fn decide(sender: &mut Sender, (now, size): (Instant, Bytes)) -> Instant {
    let due = sender.next_departure(now);
    sender.handle_sent(now, size);
    due
}
