//! A call whose codec, policy and filler change as it runs, over a link that loses packets, in virtual
//! time.

mod two_ends;

use std::collections::BTreeSet;
use std::time::Duration;

use evenkeel_codec::source::{Scene, Source as _};
use evenkeel_codec::test_support::scene;
use evenkeel_codec::{Codec, StreamDecoder, VideoDecoder, VideoEncoder};
use evenkeel_media::call::Call;
use evenkeel_media::filler::Filler;
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_media::policy::{PolicyConfig, Rules};
use evenkeel_media::reassemble::{Payloads, Refused};
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_rtp::session::{Config, ReceiveConfig, RepairConfig, SendConfig};
use tfrc::time::Instant;
use tfrc::units::Rate;

use self::two_ends::{TwoEnds, address};

const INTERVAL_MS: u64 = 100;
const INTERVAL: Duration = Duration::from_millis(INTERVAL_MS);
const SIZE: (usize, usize) = (160, 120);

/// What is asked of the sending end for a while.
#[derive(Clone, Copy)]
struct Part {
    codec: Codec,
    rules: Rules,
    filler: Filler,
    pictures: usize,
}

/// What came of it.
#[derive(Debug, Default)]
struct Outcome {
    /// Pictures decoded, by the codec that made them.
    shown: Vec<Codec>,
    /// The most pictures captured between two shown.
    longest_gap: usize,
    payload_types: BTreeSet<u8>,
    repairs: u64,
    bytes: u64,
}

struct World {
    ends: TwoEnds,
    scene: Scene,
    encoder: (Codec, Box<dyn VideoEncoder>),
    decoder: StreamDecoder,
    step: u64,
}

fn calls() -> [Call; 2] {
    let payload = |codec: Codec| codec.payload(SIZE).expect("possible size");
    let others = [Codec::H264, Codec::Raw].map(|codec| (codec.payload_type(), payload(codec)));
    [0, 1].map(|index| {
        let mut config = Config::new("end", index as u64 + 1);
        config.peer = Some(address(1 - index));
        if index == 0 {
            let mut send = SendConfig::new(Codec::Mjpeg.payload_type());
            send.repair = Some(RepairConfig {
                payload_type: RepairConfig::PAYLOAD_TYPE,
                ssrc: None,
            });
            config.send = Some(send);
        } else {
            config.receive = Some(ReceiveConfig {
                alternatives: others.map(|(number, _)| number).to_vec(),
                repair: Some(RepairConfig::PAYLOAD_TYPE),
                ..ReceiveConfig::new(Codec::Mjpeg.payload_type())
            });
        }
        let payloads = Payloads::new(payload(Codec::Mjpeg), others.to_vec());
        Call::new(Instant::ZERO, config, PolicyConfig::new(INTERVAL), payloads)
    })
}

impl World {
    fn new(kbps: u32, loss: f64) -> Self {
        let rate = Rate::from_bits_per_sec(f64::from(kbps) * 1e3);
        Self {
            ends: TwoEnds::new(calls(), rate, loss, 7),
            scene: scene(SIZE, 10),
            encoder: (Codec::Mjpeg, Codec::Mjpeg.encoder(INTERVAL)),
            decoder: StreamDecoder::new(Codec::Mjpeg),
            step: 0,
        }
    }

    fn run(&mut self, part: Part) -> Outcome {
        let mut outcome = Outcome::default();
        let before = self.ends.calls[0].session().statistics().clone();
        let mut gap = 0;
        for _ in 0..part.pictures {
            self.capture(part);
            gap += 1;
            for _ in 0..INTERVAL_MS {
                let shown = self.pass(&mut outcome.payload_types);
                if !shown.is_empty() {
                    outcome.longest_gap = outcome.longest_gap.max(gap);
                    gap = 0;
                }
                outcome.shown.extend(shown);
            }
        }
        outcome.longest_gap = outcome.longest_gap.max(gap);
        let after = self.ends.calls[0].session().statistics();
        outcome.repairs = after.repair_sent - before.repair_sent;
        outcome.bytes = after.bytes_sent - before.bytes_sent;
        outcome
    }

    fn capture(&mut self, part: Part) {
        let now = Instant::from_millis(self.step);
        let picture = self.scene.next().expect("endless").expect("endless");
        let call = &mut self.ends.calls[0];
        let sender = call.sender_mut().expect("it sends");
        sender.set_codec(part.codec);
        sender.set_rules(now, part.rules);
        sender.set_filler(part.filler);
        if self.encoder.0 != part.codec {
            self.encoder = (part.codec, part.codec.encoder(INTERVAL));
        }
        self.ends.capture(now, &picture, &mut *self.encoder.1);
    }

    /// A millisecond: the codecs of what was shown in it.
    fn pass(&mut self, payload_types: &mut BTreeSet<u8>) -> Vec<Codec> {
        let now = Instant::from_millis(self.step);
        self.step += 1;
        let mut shown = Vec::new();
        let decoder = &mut self.decoder;
        let show = |_: &mut Call, frame: ReceivedFrame| {
            let decoded = decoder.decode(&frame.picture).expect("it decodes");
            assert_eq!((decoded.picture.width(), decoded.picture.height()), SIZE);
            shown.push(frame.picture.codec());
        };
        self.ends.step(now, show, |bytes| {
            if !(200..=207).contains(&bytes[1]) {
                payload_types.insert(bytes[1] & 0x7f);
            }
            true
        });
        shown
    }

    fn refused(&self) -> u64 {
        let receiver = self.ends.calls[1].receiver().expect("it receives");
        let reasons = [Refused::Malformed, Refused::Inconsistent];
        reasons.map(|reason| receiver.refused(reason)).iter().sum()
    }
}

const START: Part = Part {
    codec: Codec::Mjpeg,
    rules: Rules::Evenkeel,
    filler: Filler::None,
    pictures: 40,
};

#[test]
fn change_of_codec_loses_no_picture() {
    let mut world = World::new(2_000, 0.0);
    world.run(START);
    for codec in [
        Codec::H264,
        Codec::Mjpeg,
        Codec::Raw,
        Codec::H264,
        Codec::Raw,
        Codec::Mjpeg,
    ] {
        let outcome = world.run(Part { codec, ..START });
        println!("{codec}: {outcome:?}");
        // Uncompressed pictures are of 307 kb: some are left out.
        let most = if codec == Codec::Raw { 10 } else { 2 };
        assert!(outcome.longest_gap <= most, "{codec}: {outcome:?}");
        assert!(outcome.payload_types.contains(&codec.payload_type()));
        // What was under way is still shown, and then nothing else but the new.
        let last = outcome.shown.iter().rposition(|&shown| shown != codec);
        assert!(last.is_none_or(|last| last < 4), "{codec}: {last:?}");
        assert!(outcome.shown.len() >= 10, "{codec}: {outcome:?}");
    }
    assert_eq!(world.refused(), 0);
}

#[test]
fn change_from_h264_ends_keyframe_requests() {
    let mut world = World::new(2_000, 0.05);
    world.run(Part {
        codec: Codec::H264,
        ..START
    });
    let outcome = world.run(START);
    println!("{outcome:?}");
    assert!(outcome.shown.ends_with(&[Codec::Mjpeg; 20]));
    assert!(
        !world.ends.calls[1]
            .receiver()
            .expect("it receives")
            .wants_keyframe()
    );
    assert_eq!(world.refused(), 0);
}

#[test]
fn repair_packets_come_and_go_with_the_filler() {
    let mut world = World::new(2_000, 0.02);
    let with = |filler| Part { filler, ..START };
    let repairs = [Filler::None, Filler::Fec, Filler::Dummy, Filler::None]
        .map(|filler| world.run(with(filler)).repairs);
    println!("{repairs:?}");
    assert_eq!((repairs[0], repairs[3]), (0, 0));
    // How many dummies there are is a matter of what frames leave of X.
    assert!(repairs[1] > 20 && repairs[2] > 0, "{repairs:?}");
}

#[test]
fn the_policy_changes_what_is_sent_and_back() {
    let mut world = World::new(400, 0.0);
    let with = |rules| Part { rules, ..START };
    world.run(START);
    let [ours, theirs, again] =
        [Rules::Evenkeel, Rules::Thesis, Rules::Evenkeel].map(|rules| world.run(with(rules)));
    println!("{ours:?}\n{theirs:?}\n{again:?}");
    assert!(again.shown.len() >= 36 && again.longest_gap <= 3);
    // Where ours makes pictures smaller, the thesis leaves every second one out.
    assert!(ours.shown.len() >= 36 && theirs.shown.len() < 30);
}
