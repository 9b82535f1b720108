//! A session refuses an invalid configuration of TFRC with the message that names the field.

use evenkeel_rtp::session::{Config, ReceiveConfig, SendConfig, Session};
use tfrc::time::Instant;

use crate::pair::PAYLOAD_TYPE;

fn start_with_rtt_weight(rtt_weight: f64) {
    let mut send = SendConfig::new(PAYLOAD_TYPE);
    send.tfrc.rtt_weight = rtt_weight;
    let mut config = Config::new("sender", 1);
    config.send = Some(send);
    Session::new(Instant::ZERO, config);
}

#[test]
#[should_panic(expected = "rtt_weight is NaN and must be from 0.001 to 1")]
fn session_panics_on_weight_not_a_number() {
    start_with_rtt_weight(f64::NAN);
}

#[test]
#[should_panic(expected = "rtt_weight is inf and must be from 0.001 to 1")]
fn session_panics_on_infinite_weight() {
    start_with_rtt_weight(f64::INFINITY);
}

#[test]
#[should_panic(expected = "report_quarters is 0 and must be 1 or more")]
fn session_panics_on_no_estimator_interval() {
    let mut send = SendConfig::new(PAYLOAD_TYPE);
    send.estimator.report_quarters = 0;
    let mut config = Config::new("sender", 1);
    config.send = Some(send);
    Session::new(Instant::ZERO, config);
}

#[test]
#[should_panic(expected = "report_quarters is 0 and must be 1 or more")]
fn session_panics_on_no_report_interval() {
    let mut receive = ReceiveConfig::new(PAYLOAD_TYPE);
    receive.tfrc.report_quarters = 0;
    let mut config = Config::new("receiver", 1);
    config.receive = Some(receive);
    Session::new(Instant::ZERO, config);
}
