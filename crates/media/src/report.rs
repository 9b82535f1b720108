//! The figures of a run, measured over the time after a warm-up.

mod statistics;
#[cfg(test)]
mod tests;

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_rtp::session::EventKind as SessionEvent;
use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{Bytes, Rate};

use self::statistics::{Histogram, TimeMean};
use crate::call::CallEvent;
use crate::event::{Discard, EventKind as MediaEvent};

/// The bound on PSNR. Pictures that differ have less: one sample of 4096x4096 that is off by one gives 120 dB.
const MOST_DB: f64 = 500.0;

/// The state of both ends and the link at one moment, as far as it is available here.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// X at the sender.
    pub allowed_rate: Option<Rate>,
    /// p at the sender.
    pub loss_event_rate: Option<f64>,
    /// The link's rate.
    pub link_rate: Option<Rate>,
    /// Bytes of media that the sender has sent, as TFRC counts them.
    pub sent: Option<Bytes>,
    /// Bytes of filler that the sender has sent.
    pub filler_sent: Option<Bytes>,
    /// Bytes of media that the receiver has received.
    pub received: Option<Bytes>,
    /// Packets that the receiver has received.
    pub packets_received: u64,
    /// Packets that the receiver has missed.
    pub packets_lost: u64,
    /// Packets that were missed and then recovered by repair packets.
    pub packets_recovered: u64,
}

/// A frame that was shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownFrame {
    /// The time of display.
    pub at: Instant,
    /// The codec of the frame.
    pub codec: Codec,
    /// The time since the capture, where it is known.
    pub delay: Option<Duration>,
    /// The luma PSNR in dB against the original, where the original is available.
    pub psnr: Option<f64>,
    /// True if the network lost parts of the frame.
    pub damaged: bool,
    /// The number of parts that the decoder concealed: lost ones, and those that arrived and did not decode.
    pub concealed: usize,
}

/// Accumulates a run's figures in memory of constant size.
#[derive(Clone, Debug)]
pub struct CallReport {
    start: Instant,
    /// The time from capture within which a frame is shown in time.
    deadline: Duration,
    first: Option<(Instant, State)>,
    last: Option<(Instant, State)>,
    allowed: TimeMean,
    link: TimeMean,
    loss_event_rate: TimeMean,
    rtt_ms: Histogram,
    delay_ms: Histogram,
    psnr_db: Histogram,
    size_error_pct: Histogram,
    psnr_sum: f64,
    /// The time since which a new picture has been awaited; `None` once the peer has left.
    awaited_since: Option<Instant>,
    longest_gap: Duration,
    frames_captured: u64,
    frames_missed: u64,
    frames_sent: u64,
    frames_shown: u64,
    frames_discarded: u64,
    frames_late: u64,
    frames_damaged: u64,
    frames_concealed: u64,
    frames_frozen: u64,
}

/// The figures of a run. Unavailable ones are `None`; percentiles are by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Mean of X.
    pub x_mean: Option<Rate>,
    /// Mean rate of the link.
    pub link_mean: Option<Rate>,
    /// X over the link's rate.
    pub x_over_link: Option<f64>,
    /// Media sent over what X allowed.
    pub media_over_x: Option<f64>,
    /// Media received a second, or sent where this process only sends.
    pub throughput: Option<Rate>,
    /// Median of the round-trip time samples.
    pub rtt_p50_ms: Option<f64>,
    /// Mean of p.
    pub loss_event_rate: Option<f64>,
    /// Packets missed, as a percentage of those sent.
    pub packet_loss_pct: Option<f64>,
    /// Filler sent a second, repair packets or dummies.
    pub filler: Option<Rate>,
    /// Missed packets that repair packets recovered.
    pub packets_recovered: Option<u64>,
    /// Pictures that the source captured: each is sent, discarded or waits.
    pub frames_captured: u64,
    /// Pictures that were not captured in time, because the source or the encoder was too slow.
    pub frames_missed: u64,
    /// Frames whose last packet left.
    pub frames_sent: u64,
    /// Frames that were displayed.
    pub frames_shown: u64,
    /// Frames that the sender gave up, encoded or not.
    pub frames_discarded: u64,
    /// Frames that were displayed within the report's deadline, where this process has both ends.
    pub frames_in_time: u64,
    /// Frames that were complete only after their display time.
    pub frames_late: u64,
    /// Frames that were displayed although the network lost a part.
    pub frames_damaged: u64,
    /// Frames that were displayed with a concealed part: the damaged ones, and those with a part that arrived and
    /// did not decode.
    pub frames_concealed: u64,
    /// Frames of which some part arrived and that were not displayed: the picture before stayed.
    pub frames_frozen: u64,
    /// Median of the time from capture to display.
    pub frame_delay_p50_ms: Option<f64>,
    /// 95th percentile of that time.
    pub frame_delay_p95_ms: Option<f64>,
    /// The longest time without a new picture, while the peer was there.
    pub longest_gap_ms: Option<f64>,
    /// Mean luma PSNR; infinite once a picture was shown exactly as captured.
    pub psnr_mean_db: Option<f64>,
    /// 5th percentile of the luma PSNR.
    pub psnr_p5_db: Option<f64>,
    /// Median error of the coded size against its target.
    pub size_error_p50_pct: Option<f64>,
    /// 95th percentile of that error.
    pub size_error_p95_pct: Option<f64>,
}

impl CallReport {
    /// Creates a report from `start` on; earlier times are warm-up. `deadline` is the configured one.
    pub fn new(start: Instant, deadline: Duration) -> Self {
        Self {
            start,
            deadline,
            first: None,
            last: None,
            allowed: TimeMean::default(),
            link: TimeMean::default(),
            loss_event_rate: TimeMean::default(),
            rtt_ms: Histogram::new(0.1),
            delay_ms: Histogram::new(0.1),
            psnr_db: Histogram::new(0.01),
            size_error_pct: Histogram::new(0.02),
            psnr_sum: 0.0,
            awaited_since: Some(start),
            longest_gap: Duration::ZERO,
            frames_captured: 0,
            frames_missed: 0,
            frames_sent: 0,
            frames_shown: 0,
            frames_discarded: 0,
            frames_late: 0,
            frames_damaged: 0,
            frames_concealed: 0,
            frames_frozen: 0,
        }
    }

    /// Handles an event of either end.
    pub fn handle_event(&mut self, event: &CallEvent) {
        // The presence of a peer matters before the warm-up's end, too.
        if let CallEvent::Session(event) = event {
            match event.kind {
                SessionEvent::PeerLeft => {
                    self.longest_gap = self.longest_gap(event.at);
                    self.awaited_since = None;
                }
                SessionEvent::PeerChanged { .. } => {
                    // If the last peer sent no BYE, the wait began with its last picture.
                    let since = event.at.max(self.start);
                    self.awaited_since.get_or_insert(since);
                }
                _ => {}
            }
        }
        if event.at() < self.start {
            return;
        }
        match event {
            CallEvent::Session(event) => {
                if let SessionEvent::RateControl(Trace::Feedback { rtt_sample, .. }) = &event.kind {
                    self.rtt_ms.add(rtt_sample.as_secs_f64() * 1e3);
                }
            }
            CallEvent::Media(event) => match event.kind {
                MediaEvent::Sent { .. } => self.frames_sent += 1,
                MediaEvent::Target { .. } => self.frames_captured += 1,
                MediaEvent::Missed { pictures } => self.frames_missed += pictures,
                MediaEvent::Discarded { reason, .. } => {
                    self.frames_discarded += 1;
                    // The picture had no target.
                    self.frames_captured += u64::from(reason == Discard::Busy);
                }
                MediaEvent::Completed { late: true, .. } => self.frames_late += 1,
                MediaEvent::Dropped { reason, .. } => {
                    self.frames_frozen += u64::from(reason.freezes());
                }
                _ => {}
            },
        }
    }

    /// Records the size error of a coded frame, as a share of its target.
    pub fn handle_coded(&mut self, at: Instant, size_error: f64) {
        if at >= self.start {
            self.size_error_pct.add(size_error * 100.0);
        }
    }

    /// Records a frame that was shown.
    pub fn handle_shown(&mut self, frame: &ShownFrame) {
        if frame.at < self.start {
            return;
        }
        self.frames_shown += 1;
        self.frames_damaged += u64::from(frame.damaged);
        self.frames_concealed += u64::from(frame.concealed > 0);
        if let Some(delay) = frame.delay {
            self.delay_ms.add(delay.as_secs_f64() * 1e3);
        }
        if let Some(psnr) = frame.psnr {
            self.psnr_db.add(psnr);
            self.psnr_sum += psnr;
        }
        self.longest_gap = self.longest_gap(frame.at);
        // No picture follows those that were in flight when the peer left.
        self.awaited_since = self.awaited_since.map(|_| frame.at);
    }

    /// Records the state of both ends, some ten times a second.
    pub fn handle_state(&mut self, at: Instant, state: &State) {
        if at < self.start {
            return;
        }
        self.allowed
            .add(at, state.allowed_rate.map(Rate::bits_per_sec));
        self.link.add(at, state.link_rate.map(Rate::bits_per_sec));
        self.loss_event_rate.add(at, state.loss_event_rate);
        self.first.get_or_insert((at, *state));
        self.last = Some((at, *state));
    }

    /// Returns the longest time up to `until` without a new picture; the time after a peer has left does not count.
    pub fn longest_gap(&self, until: Instant) -> Duration {
        let gap = |since| until.saturating_since(since);
        self.longest_gap
            .max(self.awaited_since.map_or(Duration::ZERO, gap))
    }

    /// Returns the figures up to now.
    pub fn summary(&self) -> Summary {
        let x_mean = self.allowed.mean();
        let link_mean = self.link.mean();
        let over = |part: Option<f64>, whole: Option<f64>| {
            part.zip(whole).map(|(part, whole)| part / whole)
        };
        let sent = self.rate_of(|state| state.sent);
        let received = self.rate_of(|state| state.received);
        let end = self.last.filter(|_| self.frames_shown > 0);
        let gap = end.map(|(end, _)| self.longest_gap(end));
        Summary {
            x_mean: x_mean.map(Rate::from_bits_per_sec),
            link_mean: link_mean.map(Rate::from_bits_per_sec),
            x_over_link: over(x_mean, link_mean),
            media_over_x: over(sent.map(Rate::bits_per_sec), x_mean),
            throughput: received.or(sent),
            rtt_p50_ms: self.rtt_ms.percentile(50.0),
            loss_event_rate: self.loss_event_rate.mean(),
            packet_loss_pct: self.packet_loss(),
            filler: self.rate_of(|state| state.filler_sent),
            packets_recovered: self.packets_recovered(),
            frames_captured: self.frames_captured,
            frames_missed: self.frames_missed,
            frames_sent: self.frames_sent,
            frames_shown: self.frames_shown,
            frames_discarded: self.frames_discarded,
            frames_in_time: self.delay_ms.up_to(self.deadline.as_secs_f64() * 1e3),
            frames_late: self.frames_late,
            frames_damaged: self.frames_damaged,
            frames_concealed: self.frames_concealed,
            frames_frozen: self.frames_frozen,
            frame_delay_p50_ms: self.delay_ms.percentile(50.0),
            frame_delay_p95_ms: self.delay_ms.percentile(95.0),
            longest_gap_ms: gap.map(|gap| gap.as_secs_f64() * 1e3),
            psnr_mean_db: (self.psnr_db.count > 0)
                .then(|| self.psnr_sum / self.psnr_db.count as f64),
            psnr_p5_db: self
                .psnr_db
                .percentile(5.0)
                .map(|db| if db < MOST_DB { db } else { f64::INFINITY }),
            size_error_p50_pct: self.size_error_pct.percentile(50.0),
            size_error_p95_pct: self.size_error_pct.percentile(95.0),
        }
    }

    /// Returns a counter's growth over the time between the first and the last state.
    fn rate_of(&self, counter: impl Fn(&State) -> Option<Bytes>) -> Option<Rate> {
        let ((from, first), (to, last)) = self
            .first
            .as_ref()
            .zip(self.last.as_ref())
            .map(|(a, b)| (*a, *b))?;
        let bytes = counter(&last)? - counter(&first)?;
        let time = to.checked_since(from).filter(|time| !time.is_zero())?;
        Some(bytes / time)
    }

    fn packets_recovered(&self) -> Option<u64> {
        let ((_, first), (_, last)) = self.first.as_ref().zip(self.last.as_ref())?;
        last.received?;
        last.packets_recovered.checked_sub(first.packets_recovered)
    }

    fn packet_loss(&self) -> Option<f64> {
        let ((_, first), (_, last)) = self.first.as_ref().zip(self.last.as_ref())?;
        last.received?;
        // Late packets reduce the losses, so the count may fall.
        let lost = last.packets_lost.saturating_sub(first.packets_lost) as f64;
        let received = last.packets_received.saturating_sub(first.packets_received) as f64;
        (lost + received > 0.0).then(|| 100.0 * lost / (lost + received))
    }
}
