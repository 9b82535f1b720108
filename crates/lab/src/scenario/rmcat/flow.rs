//! The flows of a case.

use std::ops::RangeInclusive;

use evenkeel_codec::source::{Format, FrameRate, Scene};
use evenkeel_link::Random;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_rtp::session::ReceiveConfig;
use evenkeel_sim::{
    MediaEnd, Pattern, Pictures, Shooting, Sink, Source, TcpReceiver, TcpSender, TfrcConfig,
    TfrcReceiver, TfrcSender, Traffic, WebConfig, WebReceiver, WebSender,
};
use serde::Deserialize;
use tfrc::SenderConfig;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};

use crate::error::{Impossible, RunError, broken, require};
use crate::network::{Tcp, TcpVariant, Tfrc};
use crate::units::{BitRate, Time};

/// One flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// In legends and names of metrics.
    pub(super) name: String,
    pub(super) kind: Kind,
    #[serde(default = "zero")]
    pub(super) start: Time,
    pub(super) stop: Time,
    /// The camera gives nothing from the first of these to the second.
    pub(super) pause: Option<[Time; 2]>,
    /// One-way propagation delay.
    pub(super) delay: Time,
    /// Its data flows in the opposite direction.
    #[serde(default)]
    pub(super) backward: bool,
    /// The most that a call asks for; RFC 8867's unless given.
    max_rate: Option<BitRate>,
    /// The call leaves losses that no lower rate avoids out of p.
    #[serde(default)]
    random_loss: bool,
    /// Width and height of the pictures of `call-sizes`; 144p unless given.
    picture: Option<[usize; 2]>,
    /// Loss recovery of this TCP flow, in place of the scenario's.
    variant: Option<TcpVariant>,
    /// The only bottleneck that it crosses, from 0; all of them unless given.
    pub(super) hop: Option<usize>,
}

fn zero() -> Time {
    Time(Duration::ZERO)
}

/// What a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// The product's call with pictures of the built-in scene.
    Call,
    /// The same with frames of the sizes that these would have.
    CallSizes,
    /// TFRC with data without end.
    Tfrc,
    /// TCP with data without end.
    Tcp,
    /// Short TCP connections, one after the other (RFC 8868 §5.1); the first begins at once.
    Web,
    /// The same, but the first begins after an idle time.
    WebOff,
    /// Audio: 20 kb/s in packets of 20 ms.
    Audio,
}

/// RFC 8867 §4.3: 1.5 Mb/s of video at most; 144p is the least of its resolutions, and the only one at which
/// intra-coded pictures can have as little as its 150 kb/s.
const MAX_VIDEO_RATE: f64 = 1.5e6;
const FORMAT: (usize, usize, u32) = (176, 144, 25);
/// Pixels of a side of a picture (RFC 2435 §3.1.5).
const PICTURE_SIDES: RangeInclusive<usize> = 8..=2040;
/// Audio of 20 kb/s (RFC 8867 §4.3), 50 packets a second with the headers of RTP, UDP and IPv4.
const AUDIO_PACKET: Bytes = Bytes::new(50 + 40);
const AUDIO_RATE: f64 = 36e3;
/// Of a TFRC flow that is no call: as a call's largest, 1,200 bytes and the headers of UDP and IPv4.
const TFRC_PACKET: Bytes = Bytes::new(1_228);
/// Of a TCP flow (RFC 8868 §5.3: the path MTU, 1500 bytes).
const TCP_PACKET: Bytes = Bytes::new(1_500);

impl Kind {
    pub(super) fn is_media(self) -> bool {
        matches!(self, Self::Call | Self::CallSizes | Self::Tfrc)
    }

    pub(super) fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::CallSizes)
    }

    /// Does it take a share of a bottleneck for all of its time?
    pub(super) fn is_long(self) -> bool {
        self.is_media() || self == Self::Tcp
    }
}

/// What the ends of a call are made of, whatever controls its rate.
#[derive(Debug)]
pub struct CallSetup {
    /// When the camera captures, and the largest rate of the encoder.
    pub shooting: Shooting,
    /// The frames, with their own random stream.
    pub pictures: Pictures,
    /// Losses that no lower rate avoids are left out of p, if the controller can.
    pub random_loss: bool,
    /// The seed of everything else in the call.
    pub seed: u64,
}

/// Makes the sender and the receiver of a call.
pub type CallEnds<'a> = dyn Fn(CallSetup) -> [Traffic; 2] + 'a;

impl CallSetup {
    /// The product's own call.
    pub(super) fn product_ends(self, tfrc: &Tfrc, ecn: bool) -> [Traffic; 2] {
        let start = self.shooting.start;
        let follow = tfrc.follow(SenderConfig::default());
        let standard = tfrc.edition.standard();
        let policy = PolicyConfig {
            random_loss: self.random_loss,
            ..PolicyConfig::new(self.pictures.format().frame_rate.interval())
        };
        let (pictures, shooting, seed) = (self.pictures, self.shooting, self.seed);
        [
            MediaEnd::sender_by(policy, start, pictures, shooting, follow, ecn, seed).into(),
            MediaEnd::receiver(start, start, standard, seed).into(),
        ]
    }
}

impl Flow {
    /// A flow across all bottlenecks.
    pub(super) fn new(name: String, kind: Kind, [start, stop]: [Time; 2], delay: Time) -> Self {
        Self {
            name,
            kind,
            start,
            stop,
            pause: None,
            delay,
            backward: false,
            max_rate: None,
            random_loss: false,
            picture: None,
            variant: None,
            hop: None,
        }
    }

    /// The most that it asks for, in bits per second.
    pub(super) fn max_rate(&self) -> f64 {
        let usual = if self.kind.is_call() {
            MAX_VIDEO_RATE
        } else {
            f64::INFINITY
        };
        self.max_rate.map_or(usual, |rate| rate.0.bits_per_sec())
    }

    pub(super) fn verify(&self, hops: usize) -> Result<(), Impossible> {
        require(self.start < self.stop, "stop", "after start")?;
        let hop = self.hop.is_none_or(|hop| hop < hops);
        require(hop, "hop", "the number of a bottleneck, from 0")?;
        let capped = self.max_rate.is_none() || self.kind.is_call();
        require(capped, "max_rate", "given for a call alone")?;
        let seeks = !self.random_loss || self.kind.is_call();
        require(seeks, "random_loss", "given for a call alone")?;
        if let Some(picture) = self.picture {
            let sized = self.kind == Kind::CallSizes;
            require(sized, "picture", "given for call-sizes alone")?;
            let carried = picture.iter().all(|side| PICTURE_SIDES.contains(side));
            require(carried, "picture", "[width, height], 8 to 2040 pixels each")?;
        }
        let recovers = self.variant.is_none() || self.kind == Kind::Tcp;
        require(recovers, "variant", "given for a TCP flow alone")?;
        let Some([from, to]) = self.pause else {
            return Ok(());
        };
        let inside = self.start < from && from < to && to < self.stop;
        let pausable = self.kind.is_call() && inside;
        require(pausable, "pause", "[from, to] within a call's time")
    }

    /// Is it under way at this time in seconds?
    pub(super) fn is_active(&self, at: f64) -> bool {
        let paused = self
            .pause
            .is_some_and(|[from, to]| (from.secs()..to.secs()).contains(&at));
        (self.start.secs()..self.stop.secs()).contains(&at) && !paused
    }

    /// Does its data cross this bottleneck, in the direction of most?
    pub(super) fn crosses(&self, hop: usize) -> bool {
        !self.backward && self.hop.is_none_or(|only| only == hop)
    }

    /// Its sender and its receiver; `call` makes both ends of a call. `random` is its own.
    pub(super) fn ends(
        &self,
        tcp: &Tcp,
        tfrc: &Tfrc,
        ecn: bool,
        mut random: Random,
        call: &CallEnds<'_>,
    ) -> Result<[Traffic; 2], RunError> {
        let [start, stop] = [self.start, self.stop].map(|time| Instant::ZERO + time.0);
        let follow = tfrc.follow(SenderConfig::default());
        match self.kind {
            Kind::Call | Kind::CallSizes => {
                let seed = random.next_u64();
                // Nobody's cameras tick together: at a full queue, who comes last would lose most.
                let phase = Duration::from_secs(1) / FORMAT.2;
                let start = start + duration_from_secs(phase.as_secs_f64() * random.unit());
                let shooting = Shooting {
                    start,
                    stop,
                    pause: self.pause.map(|pause| pause.map(|at| Instant::ZERO + at.0)),
                    most: Rate::from_bits_per_sec(self.max_rate()),
                };
                let pictures = self.pictures(seed, random)?;
                Ok(call(CallSetup {
                    shooting,
                    pictures,
                    random_loss: self.random_loss,
                    seed,
                }))
            }
            Kind::Tfrc => Ok([
                TfrcSender::new(TfrcConfig {
                    start,
                    stop: Some(stop),
                    packet_size: TFRC_PACKET,
                    ecn,
                    tfrc: follow,
                })
                .into(),
                TfrcReceiver::new(tfrc.follows(ReceiveConfig::new(0).tfrc)).into(),
            ]),
            Kind::Tcp => {
                let variant = self.variant.unwrap_or(tcp.variant);
                let config = Tcp { variant, ..*tcp }.config(TCP_PACKET);
                let sender = TcpSender::new(&config, start, stop);
                let receiver = TcpReceiver::new(&config);
                Ok([
                    sender.map_err(|error| broken(&error))?.into(),
                    receiver.map_err(|error| broken(&error))?.into(),
                ])
            }
            Kind::Web | Kind::WebOff => {
                let config = WebConfig {
                    tcp: tcp.config(TCP_PACKET),
                    start,
                    stop,
                    first_gap: self.kind == Kind::WebOff,
                    ..WebConfig::default()
                };
                let sender = WebSender::new(config.clone(), random);
                let receiver = WebReceiver::new(&config);
                Ok([
                    sender.map_err(|error| broken(&error))?.into(),
                    receiver.map_err(|error| broken(&error))?.into(),
                ])
            }
            Kind::Audio => {
                let pattern = Pattern::Constant {
                    size: AUDIO_PACKET,
                    rate: Rate::from_bits_per_sec(AUDIO_RATE),
                };
                let source = Source::new(pattern, start, stop, random);
                Ok([
                    source.map_err(|error| broken(&error))?.into(),
                    Sink::default().into(),
                ])
            }
        }
    }

    fn pictures(&self, seed: u64, random: Random) -> Result<Pictures, RunError> {
        let (width, height, per_second) = FORMAT;
        let [width, height] = self.picture.unwrap_or([width, height]);
        let frame_rate = FrameRate::new(per_second, 1)
            .ok_or_else(|| RunError::Failed("no such frame rate".to_owned()))?;
        let format = Format {
            width,
            height,
            frame_rate,
        };
        if self.kind == Kind::CallSizes {
            return Ok(Pictures::Sizes(format, random));
        }
        let scene = Scene::new(format, seed).map_err(|error| broken(&error))?;
        Ok(Pictures::Coded(Box::new(scene)))
    }
}
