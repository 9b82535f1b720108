//! Tests of which figures count, and from when.

use super::*;
use crate::cli::{Cli, Command};
use clap::Parser as _;
use evenkeel_codec::Codec;
use evenkeel_media::event::{Event, EventKind as MediaEvent};
use evenkeel_media::report::ShownFrame;
use evenkeel_rtp::session;

/// Of a two-way call through a link, frames and rates of one direction count; a peer may leave at either end.
#[test]
fn figures_of_two_ends_are_those_of_one_stream() {
    let at = Instant::ZERO;
    let media = |kind| CallEvent::Media(Event { at, kind });
    let timestamp = 0;
    let sent = media(MediaEvent::Sent {
        timestamp,
        age: Duration::ZERO,
    });
    let completed = media(MediaEvent::Completed {
        timestamp,
        late: false,
    });
    let left = CallEvent::Session(session::Event {
        at,
        kind: SessionEvent::PeerLeft,
    });
    let [first, last, alone] = [(true, false), (false, true), (true, true)]
        .map(|(is_first, is_last)| Place { is_first, is_last });
    let counted = |place: Place| [&sent, &completed, &left].map(|event| place.counts(event));
    assert_eq!(counted(first), [true, false, true]);
    assert_eq!(counted(last), [false, true, true]);
    assert_eq!(counted(alone), [true; 3]);
}

/// Returns a monitor without ends, with half a minute of warm-up in a run of ten minutes.
fn monitor() -> Monitor {
    let words = ["evenkeel", "demo", "--warmup", "30", "--seconds", "600"];
    let cli = Cli::try_parse_from(words).expect("well formed");
    let Command::Demo(demo) = cli.command else {
        panic!("another command");
    };
    let config = MonitorConfig {
        clock: Clock::start(),
        stop: Stop::default(),
        page: None,
        outputs: Outputs::open(&demo.run, None).expect("no file"),
        link: None,
        seed: 1,
        deadline: Duration::from_millis(150),
        receiver: None,
        signalling: None,
        replies: None,
    };
    Monitor::new(config, &demo.run, Vec::new())
}

/// The figures of a call do not cover the wait for the other end.
#[test]
fn figures_begin_anew_when_the_peer_comes() {
    for (came, measured_from) in [(100, 130), (580, 590)] {
        let mut monitor = monitor();
        let start = monitor.until.expect("an end") - Duration::from_secs(600);
        let now = start + Duration::from_secs(came);
        let before = ShownFrame {
            at: start + Duration::from_secs(40),
            codec: Codec::H264,
            delay: None,
            psnr: None,
            damaged: false,
            concealed: 0,
        };
        monitor.report.handle_shown(&before);
        let line = PeerLine::Encrypted("the words".into());
        monitor.handle_peer(now, line).expect("a line");
        let expected = start + Duration::from_secs(measured_from);
        assert_eq!(monitor.measured_from, expected);
        assert_eq!(monitor.report.summary().frames_shown, 0);
    }
}
