//! One call over one link: the simulation and its records.

use evenkeel_codec::source::{
    Ffmpeg, FfmpegOptions, Format, FrameRate, Scene, Source, SourceError,
};
use evenkeel_link::{LinkConfig, Loss, QueueLimit, Random};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::{PolicyConfig, Rules};
use evenkeel_media::report::{CallReport, Summary};
use evenkeel_media::sender::SendingSide;
use evenkeel_sim::{
    Access, End, FlowId, LinkId, MediaEnd, Pictures, Shape, Shooting, Simulation, Traffic, Viewer,
};
use serde::Deserialize;
use tfrc::SenderConfig;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::error::{RunError, broken};
use crate::job::Job;
use crate::metrics::used_of_allowed;
use crate::network::{Tfrc, advance};
use crate::units::{BitRate, Size, Time};

/// What pictures are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Content {
    /// The built-in scene, through the real encoder.
    #[default]
    Scene,
    /// Nothing: frames of the sizes that they were asked to be.
    Sizes,
    /// A file that `ffmpeg` reads, scaled, from its start again whenever it ends; through the real encoder.
    Clip(String),
}

impl Content {
    /// The source of the pictures; `None` if there are none.
    fn open(
        &self,
        format: Format,
        seed: u64,
    ) -> Result<Option<Box<dyn Source + Send>>, SourceError> {
        let source: Box<dyn Source + Send> = match self {
            Self::Scene => Box::new(Scene::new(format, seed)?),
            Self::Sizes => return Ok(None),
            Self::Clip(file) => {
                let options = FfmpegOptions {
                    frame_rate: Some(format.frame_rate),
                    size: Some((format.width, format.height)),
                    repeat: true,
                };
                Box::new(Ffmpeg::open(file, &options)?)
            }
        };
        Ok(Some(source))
    }
}

/// A call: what is sent, by which rules, over what.
#[derive(Clone, Debug)]
pub(super) struct CallScene {
    /// Columns and rows.
    pub(super) picture: [usize; 2],
    /// Pictures a second.
    pub(super) fps: u32,
    pub(super) content: Content,
    /// What is shown is decoded and compared with what was captured.
    pub(super) psnr: bool,
    pub(super) rules: Rules,
    pub(super) filler: Filler,
    /// No frame is larger than this rate has it.
    pub(super) most: Rate,
    pub(super) rtt: Time,
    pub(super) rate: BitRate,
    /// What the bottleneck loses on the way forward besides what its queue does not hold.
    pub(super) loss: Loss,
    /// What the bottleneck's drop-tail queue holds.
    pub(super) queue: Size,
    /// When measuring begins, and when the run ends.
    pub(super) measured: [Time; 2],
    /// Edition and t_RTO.
    pub(super) tfrc: Tfrc,
}

impl CallScene {
    /// How many pictures are captured while it is measured.
    fn captured(&self) -> f64 {
        let [from, to] = self.measured.map(Time::secs);
        (to - from) * f64::from(self.fps)
    }

    /// When measuring begins.
    pub(super) fn from(&self) -> f64 {
        self.measured[0].secs()
    }
}

/// Between two looks at the sender.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What the sender is at, each time that it is looked at.
pub(super) struct SenderSample {
    pub(super) at: f64,
    /// X, in bits per second.
    pub(super) allowed: f64,
    /// Bytes of media sent so far, as TFRC counts them.
    pub(super) sent: f64,
    /// Bytes of what fills the rate.
    pub(super) filler: f64,
    /// Bytes in the sending buffer.
    pub(super) queued: f64,
}

/// What became of the pictures, in per cent of those captured.
pub(super) struct CallOutcome {
    /// Given up by the sender.
    pub(super) discarded_pct: f64,
    /// Shown within 150 ms of their capture.
    pub(super) in_time_pct: f64,
    /// Shown later.
    pub(super) late_pct: f64,
    /// Shown with a part missing.
    pub(super) corrupt_pct: f64,
    /// The longest time without a new picture.
    pub(super) longest_gap_ms: f64,
    /// Packets lost at the bottleneck, of those that came there, from the start on.
    pub(super) lost: f64,
    /// Packets that the receiver missed, of those that it expected, from the start on.
    pub(super) missed_pct: f64,
    /// Those of them that repair packets brought back.
    pub(super) recovered_pct: f64,
    /// Structural similarity to what was captured, if it was looked at.
    pub(super) ssim_mean: Option<f64>,
    /// PSNR of what had been shown of a picture when it was due, if it was looked at.
    pub(super) psnr_in_time_db: Option<f64>,
    pub(super) sender: Summary,
    pub(super) receiver: Summary,
}

/// The simulation of a call.
pub(super) struct World<'a> {
    setup: &'a CallScene,
    sim: Simulation<Traffic>,
    flow: FlowId,
    bottleneck: LinkId,
}

impl<'a> World<'a> {
    pub(super) fn new(setup: &'a CallScene, seed: u64) -> Result<Self, RunError> {
        let frame_rate = FrameRate::new(setup.fps, 1)
            .ok_or_else(|| RunError::Failed("no such frame rate".to_owned()))?;
        let [width, height] = setup.picture;
        let format = Format {
            width,
            height,
            frame_rate,
        };
        let open = || setup.content.open(format, seed).map_err(|e| broken(&e));
        let pictures = match open()? {
            Some(source) => Pictures::Coded(source),
            None => Pictures::Sizes(format, Random::new(seed, 1)),
        };
        let back = LinkConfig {
            rate: setup.rate.0,
            delay: setup.rtt.0 / 2,
            queue: QueueLimit::Bytes(setup.queue.0),
            ..LinkConfig::default()
        };
        let forward = LinkConfig {
            loss: setup.loss,
            ..back
        };
        let access = Access::even(LinkConfig::default());
        let shape = Shape::dumbbell([forward, back], [access]).map_err(|error| broken(&error))?;
        let start = Instant::ZERO;
        let [warm, end] = setup.measured.map(|time| start + time.0);
        // A sender that has fallen silent has no other event left than the next picture.
        let stop = end + Duration::from_secs(1);
        let shooting = Shooting {
            start,
            stop,
            pause: None,
            most: setup.most,
        };
        let policy = PolicyConfig {
            rules: setup.rules,
            filler: setup.filler,
            ..PolicyConfig::new(frame_rate.interval())
        };
        let follow = setup.tfrc.follow(SenderConfig::default());
        let sender = MediaEnd::sender_by(policy, warm, pictures, shooting, follow, false, seed);
        let mut receiver = MediaEnd::receiver(start, warm, setup.tfrc.edition.standard(), seed);
        if setup.psnr
            && let Some(originals) = open()?.zip(open()?)
        {
            receiver = receiver.looks_at(originals.into(), start);
        }
        let mut sim = Simulation::new(&shape.topology, seed);
        let place = &shape.places[0];
        let flow = sim.add_flow(
            &place.forward,
            &place.reverse,
            sender.into(),
            receiver.into(),
        );
        Ok(Self {
            setup,
            sim,
            flow,
            bottleneck: shape.bottlenecks[0][0],
        })
    }

    /// Runs to the end.
    pub(super) fn watch(&mut self, job: Job<'_>) -> Result<Vec<SenderSample>, RunError> {
        let end = self.end_of_run();
        let mut looks = Vec::new();
        while self.sim.now() < end {
            let next = end.min(self.sim.now() + POLL_INTERVAL);
            advance(&mut self.sim, next, job, &mut ())?;
            let Some(end) = self.end(End::Sender) else {
                continue;
            };
            let session = end.call().session();
            let sender = end.call().sender();
            let available = session.path().zip(sender);
            let available = available.map(|(path, sender)| sender.policy().available_rate(&path));
            looks.push(SenderSample {
                at: next.as_secs_f64(),
                allowed: available.map_or(0.0, Rate::bits_per_sec),
                sent: session.statistics().bytes_sent as f64,
                filler: session.statistics().repair_bytes_sent as f64,
                queued: sender.map_or(Bytes::ZERO, SendingSide::queued).as_f64(),
            });
        }
        Ok(looks)
    }

    /// What there is to tell after that.
    pub(super) fn seen(&self) -> CallOutcome {
        let of_captured = |frames: u64| 100.0 * frames as f64 / self.setup.captured();
        let report = |end| self.end(end).map(MediaEnd::report);
        let summary = |end| report(end).map_or_else(Summary::default, CallReport::summary);
        let [sender, receiver] = [End::Sender, End::Receiver].map(summary);
        let until = self.end_of_run();
        let gap = report(End::Receiver).map_or(Duration::ZERO, |report| report.longest_gap(until));
        let statistics = self
            .end(End::Receiver)
            .map(|end| end.call().session().statistics());
        let (missed, came, back) = statistics.map_or((0, 0, 0), |all| {
            (
                all.packets_lost,
                all.packets_received,
                all.packets_recovered,
            )
        });
        let link = self.sim.link(self.bottleneck).counters();
        let viewer = self.end(End::Receiver).and_then(MediaEnd::viewer);
        CallOutcome {
            discarded_pct: of_captured(sender.frames_discarded),
            in_time_pct: of_captured(receiver.frames_in_time).min(100.0),
            late_pct: of_captured(
                receiver
                    .frames_shown
                    .saturating_sub(receiver.frames_in_time),
            )
            .min(100.0),
            corrupt_pct: of_captured(receiver.frames_concealed),
            longest_gap_ms: gap.as_secs_f64() * 1e3,
            lost: link.dropped.packets as f64 / link.received.packets as f64,
            missed_pct: 100.0 * missed as f64 / (missed + came).max(1) as f64,
            recovered_pct: 100.0 * back as f64 / missed.max(1) as f64,
            ssim_mean: viewer.and_then(Viewer::ssim_mean),
            psnr_in_time_db: viewer.and_then(Viewer::psnr_in_time),
            sender,
            receiver,
        }
    }

    fn end_of_run(&self) -> Instant {
        Instant::ZERO + self.setup.measured[1].0
    }

    fn end(&self, end: End) -> Option<&MediaEnd> {
        match self.sim.agent(self.flow, end) {
            Traffic::MediaEnd(end) => Some(end),
            _ => None,
        }
    }
}

/// Media sent for each byte that was available.
pub(super) fn utilisation(looks: &[&SenderSample]) -> f64 {
    let looks = looks.iter();
    let steps = looks.map(|look| (look.at, look.allowed / 8.0, look.sent));
    used_of_allowed(&steps.collect::<Vec<_>>())
}
