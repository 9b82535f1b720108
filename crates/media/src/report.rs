//! What a run comes to: one set of figures, over the time after a warm-up.

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_rtp::session::EventKind as SessionEvent;
use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{Bytes, Rate};

use crate::call::CallEvent;
use crate::event::{Discard, EventKind as MediaEvent};

/// The state of both ends and the link at one moment, as far as they are at hand.
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
    /// Those that repair packets gave back.
    pub packets_recovered: u64,
}

/// A frame that was shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownFrame {
    /// When.
    pub at: Instant,
    /// What made it.
    pub codec: Codec,
    /// Since its capture, where that is known.
    pub delay: Option<Duration>,
    /// Luma PSNR in dB against the original, where that is at hand.
    pub psnr: Option<f64>,
    /// The network lost parts of it.
    pub damaged: bool,
    /// Parts that the decoder concealed: those, and such as came and did not decode.
    pub concealed: usize,
}

/// Accumulates a run's figures in memory that does not grow with it.
#[derive(Clone, Debug)]
pub struct CallReport {
    start: Instant,
    /// Frames that are shown within this of their capture are in time.
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
    /// Since when a new picture is waited for; `None` once the peer has left.
    awaited_since: Option<Instant>,
    longest_gap: Duration,
    frames_captured: u64,
    frames_sent: u64,
    frames_shown: u64,
    frames_discarded: u64,
    frames_late: u64,
    frames_damaged: u64,
    frames_concealed: u64,
    frames_frozen: u64,
}

/// The figures. What was not at hand is `None`; percentiles are by nearest rank.
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
    /// Media received a second; sent, where only the sender is at hand.
    pub throughput: Option<Rate>,
    /// Median of the round-trip time's samples.
    pub rtt_p50_ms: Option<f64>,
    /// Mean of p.
    pub loss_event_rate: Option<f64>,
    /// Packets missed, of those sent.
    pub packet_loss_pct: Option<f64>,
    /// Filler sent a second, repair packets or dummies.
    pub filler: Option<Rate>,
    /// Packets missed that repair packets gave back.
    pub packets_recovered: Option<u64>,
    /// Pictures that the source gave: each is sent, discarded or waits.
    pub frames_captured: u64,
    /// Frames that left whole.
    pub frames_sent: u64,
    /// Frames that were displayed.
    pub frames_shown: u64,
    /// Frames that the sender gave up, encoded or not.
    pub frames_discarded: u64,
    /// Frames that were displayed within the report's deadline, where both ends are at hand.
    pub frames_in_time: u64,
    /// Frames that were complete only after their display time.
    pub frames_late: u64,
    /// Frames that were displayed of which the network lost a part.
    pub frames_damaged: u64,
    /// Frames that were displayed with a part concealed: the damaged ones, and those with a part that came and did not
    /// decode.
    pub frames_concealed: u64,
    /// Frames that came, in part at least, and were not displayed: the picture before stayed.
    pub frames_frozen: u64,
    /// Median from capture to display.
    pub frame_delay_p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub frame_delay_p95_ms: Option<f64>,
    /// The longest time without a new picture, while the peer was there.
    pub longest_gap_ms: Option<f64>,
    /// Mean luma PSNR; infinite once a picture was shown as it was captured.
    pub psnr_mean_db: Option<f64>,
    /// Its 5th percentile.
    pub psnr_p5_db: Option<f64>,
    /// Median error of the coded size against its target.
    pub size_error_p50_pct: Option<f64>,
    /// 95th percentile of the same.
    pub size_error_p95_pct: Option<f64>,
}

impl CallReport {
    /// A report over what happens from `start` on; earlier is warm-up. `deadline` is the configured one.
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
            frames_sent: 0,
            frames_shown: 0,
            frames_discarded: 0,
            frames_late: 0,
            frames_damaged: 0,
            frames_concealed: 0,
            frames_frozen: 0,
        }
    }

    /// Takes in an event of either end.
    pub fn handle_event(&mut self, event: &CallEvent) {
        // Who is there counts from before the warm-up's end.
        if let CallEvent::Session(event) = event {
            match event.kind {
                SessionEvent::PeerLeft => {
                    self.longest_gap = self.longest_gap(event.at);
                    self.awaited_since = None;
                }
                SessionEvent::PeerChanged { .. } => {
                    // One that was not told goodbye by the last is waited for since its last picture.
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
                MediaEvent::Discarded { reason, .. } => {
                    self.frames_discarded += 1;
                    // It had no target.
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

    /// Takes in how far a coded frame missed its target, as a share of it.
    pub fn handle_coded(&mut self, at: Instant, size_error: f64) {
        if at >= self.start {
            self.size_error_pct.add(size_error * 100.0);
        }
    }

    /// Takes in a frame that was shown.
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
        // Those that were under way when the peer left are followed by none.
        self.awaited_since = self.awaited_since.map(|_| frame.at);
    }

    /// Takes in the state of the whole, some ten times a second.
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

    /// The longest time up to `until` without a new picture; nobody waits for one of a peer that has left.
    pub fn longest_gap(&self, until: Instant) -> Duration {
        let gap = |since| until.saturating_since(since);
        self.longest_gap
            .max(self.awaited_since.map_or(Duration::ZERO, gap))
    }

    /// The figures up to now.
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

    /// A counter's growth over the time between the first and the last state.
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
        // Late packets take losses back, so the count may fall.
        let lost = last.packets_lost.saturating_sub(first.packets_lost) as f64;
        let received = last.packets_received.saturating_sub(first.packets_received) as f64;
        (lost + received > 0.0).then(|| 100.0 * lost / (lost + received))
    }
}

/// The mean over time of a quantity that holds from one sample to the next.
#[derive(Clone, Copy, Debug, Default)]
struct TimeMean {
    previous: Option<(Instant, f64)>,
    area: f64,
    time: f64,
}

impl TimeMean {
    fn add(&mut self, at: Instant, value: Option<f64>) {
        if let Some((since, value)) = self.previous {
            let time = at.saturating_since(since).as_secs_f64();
            self.area += value * time;
            self.time += time;
        }
        self.previous = value
            .filter(|value| value.is_finite())
            .map(|value| (at, value));
    }

    fn mean(&self) -> Option<f64> {
        (self.time > 0.0).then(|| self.area / self.time)
    }
}

/// Counts in bins of one width, so that a percentile costs the same memory after a second and a week.
#[derive(Clone, Debug)]
struct Histogram {
    width: f64,
    bins: Vec<u32>,
    count: u64,
}

/// Pictures that differ have less: one sample of 4096x4096 that is off by one is 120 dB.
const MOST_DB: f64 = 500.0;

/// What lies beyond the last bin is counted in it: ten seconds of delay, 1000 dB, 2000 %.
const BINS: usize = 100_000;

impl Histogram {
    fn new(width: f64) -> Self {
        Self {
            width,
            bins: Vec::new(),
            count: 0,
        }
    }

    fn add(&mut self, value: f64) {
        let bin = ((value / self.width) as usize).min(BINS - 1);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
    }

    /// How many were at most this, to a bin.
    fn up_to(&self, value: f64) -> u64 {
        let bins = self.bins.iter().take((value / self.width) as usize);
        bins.map(|count| u64::from(*count)).sum()
    }

    /// By nearest rank, to the middle of a bin.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bin = self.bins.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        Some((bin as f64 + 0.5) * self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{self, NotShown};
    use crate::policy::PolicyConfig;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn report_from(ms: u64) -> CallReport {
        CallReport::new(at(ms), PolicyConfig::DEADLINE)
    }

    fn shown(ms: u64, delay: u64, psnr: f64) -> ShownFrame {
        ShownFrame {
            codec: Codec::Mjpeg,
            at: at(ms),
            delay: Some(Duration::from_millis(delay)),
            psnr: Some(psnr),
            damaged: false,
            concealed: 0,
        }
    }

    #[test]
    fn what_happens_before_the_start_does_not_count() {
        let mut report = report_from(1_000);
        report.handle_shown(&shown(500, 900, 5.0));
        report.handle_shown(&shown(1_100, 80, 30.0));
        report.handle_shown(&shown(1_200, 90, 40.0));
        let summary = report.summary();
        assert_eq!(summary.frames_shown, 2);
        assert_eq!(summary.psnr_mean_db, Some(35.0));
        assert!((summary.frame_delay_p50_ms.unwrap() - 80.05).abs() < 1e-9);
        assert!((summary.frame_delay_p95_ms.unwrap() - 90.05).abs() < 1e-9);
    }

    #[test]
    fn rates_are_means_over_time_and_shares_of_them() {
        let mut report = report_from(0);
        let state = |x: f64, sent: u64, received: u64, lost: u64| State {
            allowed_rate: Some(Rate::from_bits_per_sec(x)),
            loss_event_rate: Some(0.01),
            link_rate: Some(Rate::from_bits_per_sec(4e6)),
            sent: Some(Bytes::new(sent)),
            received: Some(Bytes::new(received)),
            filler_sent: Some(Bytes::new(sent / 10)),
            packets_received: received / 1_000,
            packets_lost: lost,
            packets_recovered: lost / 2,
        };
        // X is 2 Mb/s for three seconds and 4 Mb/s for one.
        report.handle_state(at(0), &state(2e6, 0, 0, 0));
        report.handle_state(at(3_000), &state(4e6, 700_000, 0, 0));
        report.handle_state(at(4_000), &state(1e6, 1_000_000, 990_000, 10));
        let summary = report.summary();
        assert_eq!(summary.x_mean, Some(Rate::from_bits_per_sec(2.5e6)));
        assert_eq!(summary.x_over_link, Some(0.625));
        assert_eq!(summary.media_over_x, Some(0.8));
        assert_eq!(summary.throughput, Some(Rate::from_bits_per_sec(1.98e6)));
        assert_eq!(summary.packet_loss_pct, Some(1.0));
        assert_eq!(summary.filler, Some(Rate::from_bits_per_sec(2e5)));
        assert_eq!(summary.packets_recovered, Some(5));
        assert!((summary.loss_event_rate.unwrap() - 0.01).abs() < 1e-12);
    }

    #[test]
    fn frames_within_a_delay_are_counted_and_silence_is_a_gap() {
        let mut report = report_from(1_000);
        assert_eq!(report.longest_gap(at(1_500)), Duration::from_millis(500));
        for (ms, delay) in [(1_100, 149), (1_200, 149), (1_300, 151)] {
            report.handle_shown(&shown(ms, delay, 30.0));
        }
        assert_eq!(report.summary().frames_in_time, 2);
        assert_eq!(report.longest_gap(at(1_350)), Duration::from_millis(100));
    }

    #[test]
    fn frames_in_time_follow_the_configured_deadline() {
        struct Row {
            deadline_ms: u64,
            in_time: u64,
        }
        let rows = [
            Row {
                deadline_ms: 100,
                in_time: 1,
            },
            Row {
                deadline_ms: 300,
                in_time: 2,
            },
            Row {
                deadline_ms: 2_000,
                in_time: 3,
            },
        ];
        for row in rows {
            let mut report = CallReport::new(at(0), Duration::from_millis(row.deadline_ms));
            for delay in [99, 299, 1_999] {
                report.handle_shown(&shown(2_000, delay, 30.0));
            }
            let counted = report.summary().frames_in_time;
            assert_eq!(counted, row.in_time, "{} ms", row.deadline_ms);
        }
    }

    #[test]
    fn the_longest_gap_includes_the_silence_at_the_end() {
        let mut report = report_from(0);
        for ms in [40, 80, 300, 340] {
            report.handle_shown(&shown(ms, 50, 30.0));
        }
        report.handle_state(at(341), &State::default());
        assert_eq!(report.summary().longest_gap_ms, Some(220.0));
        report.handle_state(at(900), &State::default());
        assert_eq!(report.summary().longest_gap_ms, Some(560.0));
    }

    #[test]
    fn a_peer_that_has_left_leaves_no_gap() {
        let session = |ms, kind| {
            let at = at(ms);
            CallEvent::Session(evenkeel_rtp::session::Event { at, kind })
        };
        let mut report = report_from(0);
        report.handle_shown(&shown(100, 50, 30.0));
        report.handle_event(&session(300, SessionEvent::PeerLeft));
        // One was under way still.
        report.handle_shown(&shown(340, 50, 30.0));
        report.handle_state(at(9_000), &State::default());
        assert_eq!(report.summary().longest_gap_ms, Some(200.0));
        let address = ([192, 0, 2, 7], 5_004).into();
        let next = SessionEvent::PeerChanged { address, ssrc: 1 };
        report.handle_event(&session(9_000, next));
        report.handle_shown(&shown(9_240, 50, 30.0));
        report.handle_state(at(9_300), &State::default());
        assert_eq!(report.summary().longest_gap_ms, Some(240.0));
        // This one breaks off, and another takes its place.
        report.handle_event(&session(
            12_000,
            SessionEvent::PeerChanged { address, ssrc: 2 },
        ));
        report.handle_shown(&shown(12_240, 50, 30.0));
        assert_eq!(report.summary().longest_gap_ms, Some(3_000.0));
    }

    #[test]
    fn frames_are_counted_from_events() {
        let mut report = report_from(0);
        let media = |kind| CallEvent::Media(event::Event { at: at(10), kind });
        report.handle_event(&media(MediaEvent::Sent {
            timestamp: 1,
            age: Duration::ZERO,
        }));
        report.handle_event(&media(MediaEvent::Completed {
            timestamp: 1,
            late: true,
        }));
        report.handle_event(&media(MediaEvent::Completed {
            timestamp: 2,
            late: false,
        }));
        report.handle_event(&media(MediaEvent::Discarded {
            timestamp: None,
            reason: event::Discard::Busy,
        }));
        report.handle_event(&media(MediaEvent::Target {
            size: Bytes::new(1_000),
            queued: Bytes::ZERO,
            deadline: PolicyConfig::DEADLINE,
        }));
        report.handle_event(&media(MediaEvent::Discarded {
            timestamp: None,
            reason: event::Discard::LeftOut,
        }));
        for reason in NotShown::ALL {
            report.handle_event(&media(MediaEvent::Dropped {
                timestamp: 3,
                reason,
            }));
        }
        let summary = report.summary();
        assert_eq!(
            (
                summary.frames_captured,
                summary.frames_sent,
                summary.frames_late,
                summary.frames_discarded,
                summary.frames_frozen
            ),
            // In the place of the superseded one another was shown.
            (2, 1, 1, 2, NotShown::ALL.len() as u64 - 1)
        );
    }

    #[test]
    fn what_the_network_lost_and_what_did_not_decode_are_counted_apart() {
        let mut report = report_from(0);
        for (ms, damaged, concealed) in [(40, false, 0), (80, true, 2), (120, false, 1)] {
            report.handle_shown(&ShownFrame {
                damaged,
                concealed,
                ..shown(ms, 50, 30.0)
            });
        }
        let summary = report.summary();
        let counts = (summary.frames_damaged, summary.frames_concealed);
        assert_eq!(counts, (1, 2));
        assert_eq!((summary.frames_shown, summary.frames_frozen), (3, 0));
    }

    #[test]
    fn pictures_that_are_what_was_captured_have_no_finite_psnr() {
        let mut report = report_from(0);
        for ms in [40, 80, 120] {
            report.handle_shown(&shown(ms, 50, f64::INFINITY));
        }
        assert_eq!(report.summary().psnr_p5_db, Some(f64::INFINITY));
        report.handle_shown(&shown(160, 50, 30.0));
        let worst = report.summary().psnr_p5_db.unwrap();
        assert!((worst - 30.005).abs() < 1e-9, "{worst}");
    }

    #[test]
    fn memory_is_bounded_by_the_bins() {
        let mut histogram = Histogram::new(0.1);
        for value in [0.0, 5.0, 1e300, f64::NAN] {
            histogram.add(value);
        }
        assert!(histogram.bins.len() <= BINS);
        assert_eq!(Histogram::new(1.0).percentile(50.0), None);
    }
}
