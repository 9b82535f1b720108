//! Constructors that document a panic refuse an invalid argument with the message that names it.

use tfrc::loss::{Average, LossEstimator, Weights};
use tfrc::sent_packets::{Arrivals, MeteredArrivals, SentPacketTracker};
use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Receiver, ReceiverConfig, Sender, SenderConfig};

fn segment_size(bytes: u64) -> SenderConfig {
    SenderConfig {
        segment_size: Bytes::new(bytes),
        ..SenderConfig::default()
    }
}

fn rtt_weight(rtt_weight: f64) -> SenderConfig {
    SenderConfig {
        rtt_weight,
        ..SenderConfig::default()
    }
}

fn report_quarters(report_quarters: u32) -> ReceiverConfig {
    ReceiverConfig {
        report_quarters,
        ..ReceiverConfig::default()
    }
}

fn average(average: Average) -> ReceiverConfig {
    ReceiverConfig {
        average,
        ..ReceiverConfig::default()
    }
}

#[test]
#[should_panic(expected = "segment_size is 0 and must be from 1 to 65535")]
fn sender_panics_on_no_segment() {
    Sender::new(Instant::ZERO, segment_size(0));
}

#[test]
#[should_panic(expected = "rtt_weight is NaN and must be from 0.001 to 1")]
fn sender_panics_on_weight_not_a_number() {
    Sender::new(Instant::ZERO, rtt_weight(f64::NAN));
}

#[test]
#[should_panic(expected = "rtt_weight is inf and must be from 0.001 to 1")]
fn sender_panics_on_infinite_weight() {
    Sender::new(Instant::ZERO, rtt_weight(f64::INFINITY));
}

#[test]
#[should_panic(expected = "segment_size is 65536 and must be from 1 to 65535")]
fn returning_sender_panics_on_large_segment() {
    Sender::returning(Instant::ZERO, segment_size(65_536));
}

#[test]
#[should_panic(expected = "report_quarters is 0 and must be 1 or more")]
fn receiver_panics_on_no_report_interval() {
    Receiver::new(report_quarters(0));
}

#[test]
#[should_panic(expected = "average is 33 and must be from 1 to 32 intervals")]
fn estimator_panics_on_too_many_intervals() {
    LossEstimator::new(&average(Average::Plain(33)));
}

#[test]
#[should_panic(expected = "average is NaN and must be above 0, at most 1")]
fn estimator_panics_on_weight_not_a_number() {
    LossEstimator::new(&average(Average::Ewma(f64::NAN)));
}

#[test]
#[should_panic(expected = "average is inf and must be above 0, at most 1")]
fn estimator_panics_on_infinite_weight() {
    LossEstimator::new(&average(Average::Ewma(f64::INFINITY)));
}

#[test]
#[should_panic(expected = "report_quarters is 0 and must be 1 or more")]
fn tracker_panics_on_no_report_interval() {
    SentPacketTracker::<64>::new(0, report_quarters(0));
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 0")]
fn arrivals_panic_on_reports_of_no_packet() {
    Arrivals::<64>::new(0);
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 1")]
fn arrivals_panic_on_reports_of_one_packet() {
    Arrivals::<64>::new(1);
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 2")]
fn arrivals_panic_on_reports_of_two_packets() {
    Arrivals::<64>::new(2);
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 3")]
fn arrivals_panic_on_reports_of_three_packets() {
    Arrivals::<64>::new(3);
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 65")]
fn arrivals_panic_on_reports_beyond_the_ring() {
    Arrivals::<64>::new(65);
}

#[test]
#[should_panic(expected = "a report must be of 4 to 64 packets, not 3")]
fn metered_arrivals_panic_on_reports_of_three_packets() {
    MeteredArrivals::<64>::new(3);
}

#[test]
#[should_panic(expected = "there must be 32 weights or fewer")]
fn falling_weights_panic_beyond_the_history() {
    Weights::falling(33);
}

#[test]
#[should_panic(expected = "there must be 32 weights or fewer")]
fn falling_weights_panic_on_a_hundred() {
    Weights::falling(100);
}

#[test]
#[should_panic(expected = "there must be 1 weight or more")]
fn falling_weights_panic_on_none() {
    Weights::falling(0);
}

#[test]
#[should_panic(expected = "there must be 1 weight or more")]
fn equal_weights_panic_on_none() {
    Weights::equal(0);
}

#[test]
#[should_panic(expected = "there must be 32 weights or fewer")]
fn equal_weights_panic_beyond_the_history() {
    Weights::equal(33);
}
