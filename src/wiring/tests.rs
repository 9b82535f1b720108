//! What a description says, and what a receiver makes of it.

use super::*;
use crate::inputs::DEFAULT_FRAME_RATE;

#[test]
fn repair_window_is_the_deadline_of_the_run() {
    let clock = Clock::start();
    let mut sender = session("send", Role::Sends, Codec::Mjpeg, None, 1, &clock);
    assert!(set_filler(&mut sender, Filler::Fec).is_ok());
    let format = Format {
        width: 640,
        height: 480,
        frame_rate: DEFAULT_FRAME_RATE,
    };
    let to = ([192, 0, 2, 7], DEFAULT_PORT).into();
    let deadline = Duration::from_millis(300);
    let described = describe(&sender, Codec::Mjpeg, &format, to, deadline);
    let repair = described.repair.expect("repair packets");
    assert_eq!(repair.window, deadline);
}

/// A sender's session that works with this format, and what a receiver makes of its description.
fn described(feedback: FeedbackMode) -> (session::Config, String, session::Config) {
    let clock = Clock::start();
    let end = |name, role| session(name, role, Codec::Mjpeg, None, 1, &clock);
    let mut sender = end("send", Role::Sends);
    set_feedback(&mut sender, Some(feedback));
    let format = Format {
        width: 640,
        height: 480,
        frame_rate: DEFAULT_FRAME_RATE,
    };
    let to = ([192, 0, 2, 7], DEFAULT_PORT).into();
    let text = describe(&sender, Codec::Mjpeg, &format, to, PolicyConfig::DEADLINE).to_string();
    let mut receiver = end("recv", Role::Receives);
    let followed = follow(&text.parse().unwrap(), &mut receiver);
    assert!(followed.is_ok());
    (sender, text, receiver)
}

#[test]
fn a_receiver_takes_its_format_from_a_senders_description() {
    for feedback in FeedbackMode::ALL {
        let (_, text, receiver) = described(feedback);
        let receive = receiver.receive.unwrap();
        assert_eq!(receive.feedback, feedback, "{text}");
        assert_eq!(
            receive.transit_bounds,
            feedback == FeedbackMode::Tfrc,
            "{text}"
        );
        let line = "draft-holmer-rmcat-transport-wide-cc-extensions";
        let has_number = feedback == FeedbackMode::Twcc;
        assert_eq!(text.contains(line), has_number, "{text}");
    }
}

/// RFC 8888 §7: a description with `ccfb` of media that is ECN-capable would have to say so.
#[test]
fn media_that_is_described_is_not_ecn_capable_and_no_description_says_that_it_is() {
    let (sender, text, _) = described(FeedbackMode::Ccfb);
    assert!(!sender.ecn && !text.contains("ecn-capable"), "{text}");
}

#[test]
fn identifiers_differ_from_run_to_run_unless_the_seed_is_given() {
    assert_eq!(network_seed(Some(7)), 7);
    assert_ne!(network_seed(None), network_seed(None));
}
