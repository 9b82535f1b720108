//! H.264 over a link that loses packets, in virtual time: the picture stops at a loss, a keyframe is
//! asked for, and it goes on.

#[path = "../two_ends/mod.rs"]
mod two_ends;
mod world;

use std::time::Duration;

use evenkeel_media::filler::Filler;
use evenkeel_rtp::session::FeedbackMode;

use self::world::{Setting, run};

#[test]
fn lossless_call_shows_every_picture_without_keyframe_requests() {
    // Where the sender reads arrivals it leaves numbers out, which nobody may see.
    for feedback in [FeedbackMode::Tfrc, FeedbackMode::Ccfb] {
        let outcome = run(&Setting {
            feedback,
            ..Setting::new(0.0, Filler::None)
        });
        println!("{feedback:?}: {outcome:?}");
        assert!(outcome.shown_share() > 0.98);
        assert_eq!((outcome.requests, outcome.frozen), (0, 0));
        assert!(outcome.psnr.iter().all(|&psnr| psnr > 30.0));
    }
}

#[test]
fn picture_resumes_with_keyframe_after_a_loss() {
    let outcome = run(&Setting::new(0.02, Filler::None));
    println!("{outcome:?}");
    assert!(outcome.requests > 0 && outcome.keyframes >= outcome.requests / 2);
    assert!(outcome.frozen > 0);
    // Nothing smeared is ever shown, and half of all is.
    assert!(outcome.psnr.iter().all(|&psnr| psnr > 25.0));
    assert!(outcome.shown_share() > 0.5);
    assert!(outcome.longest_gap < Duration::from_millis(1_500));
}

#[test]
fn repair_packets_leave_the_picture_standing_less() {
    for loss in [0.02, 0.05] {
        let [without, with] = [Filler::None, Filler::Fec].map(|filler| {
            run(&Setting {
                feedback: FeedbackMode::Ccfb,
                ..Setting::new(loss, filler)
            })
        });
        println!("{without:?}\n{with:?}");
        assert!(with.shown_share() >= without.shown_share() + 0.05);
        assert!(with.requests * 2 < without.requests);
        assert!(with.longest_gap < Duration::from_millis(1_000));
    }
}

#[test]
fn stream_without_first_packet_begins_at_requested_keyframe() {
    let outcome = run(&Setting {
        loses_first: true,
        seconds: 6,
        ..Setting::new(0.0, Filler::None)
    });
    println!("{outcome:?}");
    assert!(outcome.requests > 0 && outcome.frozen > 0);
    assert_eq!(outcome.undecodable, 0);
    assert!(outcome.shown_share() > 0.95);
}

#[test]
fn repair_packets_hardly_delay_pictures_at_rare_losses() {
    let outcome = run(&Setting {
        seconds: 63,
        seed: 1,
        ..Setting::new(0.001, Filler::Fec)
    });
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (in_time, shown) = (mean(&outcome.in_time), mean(&outcome.psnr));
    assert!(in_time > shown - 1.0, "{in_time} dB in time of {shown}");
}
