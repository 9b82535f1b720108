//! A call of uncompressed pictures over links that do not carry all of them, in virtual time.

mod two_ends;

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::picture::Picture;
use evenkeel_media::call::Call;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_rtp::session::{Config, FeedbackMode, ReceiveConfig, SendConfig};
use tfrc::time::Instant;
use tfrc::units::Rate;

use self::two_ends::{TwoEnds, address};

const SIZE: (usize, usize) = (160, 120);
const INTERVAL_MS: u64 = 40;
const INTERVAL: Duration = Duration::from_millis(INTERVAL_MS);

/// What all pictures come to, with the headers of their packets.
const WHOLE: Rate = Rate::from_bits_per_sec(7.9e6);

const CAPTURED: u64 = 750;

fn calls() -> [Call; 2] {
    [0, 1].map(|index| {
        let mut config = Config::new("end", index as u64 + 1);
        config.peer = Some(address(1 - index));
        if index == 0 {
            let mut send = SendConfig::new(Codec::Raw.payload_type());
            send.feedback = FeedbackMode::Ccfb;
            config.send = Some(send);
        } else {
            let mut receive = ReceiveConfig::new(Codec::Raw.payload_type());
            receive.feedback = FeedbackMode::Ccfb;
            config.receive = Some(receive);
        }
        let payload = Codec::Raw.payload(SIZE).expect("possible size");
        Call::new(Instant::ZERO, config, PolicyConfig::new(INTERVAL), payload)
    })
}

/// Which of the captured pictures are shown, over a link of so much of what all of them take.
fn shown(share: f64) -> Vec<u64> {
    let mut ends = TwoEnds::new(calls(), WHOLE * share, 0.0, 7);
    let picture = Picture::new(SIZE.0, SIZE.1);
    let mut encoder = Codec::Raw.encoder(INTERVAL);
    let mut shown = Vec::new();
    for ms in 0..CAPTURED * INTERVAL_MS {
        let now = Instant::from_millis(ms);
        if ms % INTERVAL_MS == 0 {
            let call = &mut ends.calls[0];
            call.sender_mut().expect("it sends").set_codec(Codec::Raw);
            ends.capture(now, &picture, &mut *encoder);
        }
        ends.step(
            now,
            |_, frame| shown.push(u64::from(frame.timestamp) / 90),
            |_| true,
        );
    }
    let start = shown[0];
    shown.iter().map(|at| (at - start) / INTERVAL_MS).collect()
}

/// The pictures from one shown to the next, once the path is known.
fn gaps(share: f64) -> Vec<u64> {
    let shown = shown(share);
    let known = shown.iter().filter(|&&number| number > CAPTURED / 3);
    let known: Vec<u64> = known.copied().collect();
    known.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn pictures_are_sent_evenly_within_the_rate() {
    for (share, every) in [(0.2, 6), (0.3, 4), (0.4, 3), (0.6, 2), (1.1, 1)] {
        let gaps = gaps(share);
        println!("{share}: {gaps:?}");
        assert!(gaps.iter().all(|&gap| gap == every), "{share}: {gaps:?}");
    }
}

#[test]
fn share_is_at_least_the_slower_rhythm() {
    for (share, least) in [(0.65, 0.5), (0.8, 2.0 / 3.0), (0.9, 0.75)] {
        let gaps = gaps(share);
        println!("{share}: {gaps:?}");
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!(1.0 / mean >= 0.99 * least, "{share}: {gaps:?}");
        assert!(gaps.iter().all(|&gap| gap <= 3), "{share}: {gaps:?}");
    }
}
