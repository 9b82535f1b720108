//! Reports a stall of the source or of the peer once, and the return of its pictures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_media::call::CallEvent;
use evenkeel_media::event::EventKind as MediaEvent;
use evenkeel_rtp::session::EventKind as SessionEvent;
use tfrc::time::{Duration, Instant};

/// The time without a picture that is a stall, unless pictures are as rare.
const STALL_AFTER: Duration = Duration::from_secs(3);
/// The multiple of the last interval between two pictures that a stall lasts at least.
const STALL_INTERVALS: u32 = 3;
/// The interval between two pictures above which the interval was a stall itself.
const MAX_PICTURE_INTERVAL: Duration = Duration::from_secs(10);
/// A source is not reported as stalled if this process was itself suspended for longer than this.
const SELF_SUSPENDED_AFTER: Duration = Duration::from_secs(1);

/// Counts the pictures that a source delivered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(Arc<AtomicU64>);

impl Given {
    /// Counts one more picture.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A line about a stall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StallLine {
    /// Pictures have failed to appear.
    Begins(String),
    /// They appear again.
    Ends(String),
}

/// The pictures that an end waits for, to send and to show.
#[derive(Debug)]
pub(crate) struct Stalls {
    source: Option<(String, Given, u64, Stall)>,
    peer: Option<(SocketAddr, Stall)>,
    polled: Instant,
    lines: Vec<StallLine>,
}

impl Stalls {
    /// Creates the stalls of an end that sends the pictures of this source, if there is one.
    pub(crate) fn new(now: Instant, source: Option<(String, Given)>) -> Self {
        Self {
            source: source.map(|(name, given)| (name, given, 0, Stall::new(Some(now)))),
            peer: None,
            polled: now,
            lines: Vec::new(),
        }
    }

    /// Handles an event of the end.
    pub(crate) fn handle_event(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Session(event) => match event.kind {
                SessionEvent::PeerLatched { address, .. }
                | SessionEvent::PeerChanged { address, .. } => {
                    // A new peer ends the stall of the silent one before it.
                    let before = self.peer.take().map(|(_, stall)| stall);
                    self.peer = Some((address, before.unwrap_or(Stall::new(None))));
                }
                SessionEvent::PeerLeft => self.peer = None,
                _ => {}
            },
            CallEvent::Media(event) => {
                // Each picture of which some part arrived ends as one of these.
                if let MediaEvent::Shown { .. } | MediaEvent::Dropped { .. } = event.kind
                    && let Some((address, stall)) = &mut self.peer
                {
                    let ended = stall.handle_picture(event.at);
                    self.lines.extend(ended.map(|time| again(address, time)));
                }
            }
        }
    }

    /// Forgets the peer, which has left without a BYE.
    pub(crate) fn handle_peer_left(&mut self) {
        self.peer = None;
    }

    /// Returns the lines to print now.
    pub(crate) fn poll(&mut self, now: Instant) -> Vec<StallLine> {
        let suspended = now.saturating_since(self.polled);
        self.polled = now;
        let suspended = Some(suspended).filter(|time| *time >= SELF_SUSPENDED_AFTER);
        if let Some((name, given, before, stall)) = &mut self.source {
            let source = format!("--source {name}");
            let count = given.0.load(Ordering::Relaxed);
            if count > std::mem::replace(before, count) {
                let ended = stall.handle_picture(now);
                self.lines.extend(ended.map(|time| again(&source, time)));
            }
            if let Some(time) = stall.poll(now, suspended) {
                self.lines.push(StallLine::Begins(format!(
                    "no pictures from {source} for {}: nothing new is sent; check that the program or device behind it still runs",
                    secs(time)
                )));
            }
        }
        if let Some((address, stall)) = &mut self.peer
            && let Some(time) = stall.poll(now, suspended)
        {
            self.lines.push(StallLine::Begins(format!(
                "no pictures from {address} for {}: the last one stays; does the sender still run, and does the path carry it?",
                secs(time)
            )));
        }
        std::mem::take(&mut self.lines)
    }
}

fn again(who: impl std::fmt::Display, time: Duration) -> StallLine {
    StallLine::Ends(format!("pictures from {who} resumed after {}", secs(time)))
}

fn secs(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

/// The stall of a source or a peer.
#[derive(Debug)]
struct Stall {
    /// The time since which the next picture is awaited.
    since: Option<Instant>,
    /// The time between the last two pictures.
    interval: Duration,
    is_reported: bool,
}

impl Stall {
    const fn new(since: Option<Instant>) -> Self {
        Self {
            since,
            interval: Duration::ZERO,
            is_reported: false,
        }
    }

    /// Records a picture; returns the length of the stall that it ends, if that was reported.
    fn handle_picture(&mut self, at: Instant) -> Option<Duration> {
        let time = self
            .since
            .map_or(Duration::ZERO, |since| at.saturating_since(since));
        self.interval = time.min(MAX_PICTURE_INTERVAL);
        self.since = Some(at);
        std::mem::take(&mut self.is_reported).then_some(time)
    }

    /// Returns the time without a picture, if it must be reported now.
    fn poll(&mut self, now: Instant, suspended: Option<Duration>) -> Option<Duration> {
        let since = self.since? + suspended.unwrap_or_default();
        self.since = Some(since);
        let time = now.saturating_since(since);
        let is_due = !self.is_reported && time >= STALL_AFTER.max(self.interval * STALL_INTERVALS);
        self.is_reported |= is_due;
        is_due.then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::Parts;
    use evenkeel_media::event::{Event, NotShown};

    const TICK: u64 = 100;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn texts(lines: Vec<StallLine>) -> Vec<String> {
        let text = |line| match line {
            StallLine::Begins(text) | StallLine::Ends(text) => text,
        };
        lines.into_iter().map(text).collect()
    }

    /// Returns the lines about a source that delivers pictures at these times, polled at the times `polled`.
    fn lines_of(times: &[u64], polled: impl Iterator<Item = u64>) -> Vec<String> {
        let given = Given::default();
        let mut stalls = Stalls::new(at(0), Some(("pipe.y4m".into(), given.clone())));
        let mut times = times.iter().peekable();
        polled
            .flat_map(|ms| {
                while times.next_if(|time| **time <= ms).is_some() {
                    given.count();
                }
                texts(stalls.poll(at(ms)))
            })
            .collect()
    }

    fn ticks(end: u64) -> impl Iterator<Item = u64> {
        (0..=end / TICK).map(|n| n * TICK)
    }

    #[test]
    fn stalled_source_is_reported_once_and_again_resuming() {
        let times = [0, 100, 200, 5_200, 5_300, 5_400, 9_000];
        let lines = lines_of(&times, ticks(9_000));
        assert_eq!(lines.len(), 4, "{lines:?}");
        for (line, words) in lines.iter().zip([
            "no pictures from --source pipe.y4m for 3 s",
            "from --source pipe.y4m resumed after 5 s",
            "for 3 s",
            "after 4 s",
        ]) {
            assert!(line.contains(words), "{lines:?}");
        }
        assert_eq!(lines_of(&[], ticks(9_000)).len(), 1, "from the start");
    }

    #[test]
    fn seldom_pictures_and_suspended_process_are_no_stalls() {
        let seldom: Vec<u64> = (0..10).map(|n| n * 2_000).collect();
        assert_eq!(lines_of(&seldom, ticks(18_000)), [""; 0]);
        // The first interval may or may not be a stall.
        let more_so: Vec<u64> = (0..10).map(|n| n * 6_000).collect();
        assert_eq!(lines_of(&more_so, ticks(54_000)).len(), 2);
        // A stall is not taken for an interval: half a minute after a long one the next stall is reported.
        assert_eq!(lines_of(&[0, 100, 40_000], ticks(69_900)).len(), 2);
        assert_eq!(lines_of(&[0, 100, 40_000], ticks(70_100)).len(), 3);
        let stopped = [0, 100, 200, 6_000, 6_100];
        let polled = ticks(300).chain([5_900, 6_000, 6_100]);
        assert_eq!(lines_of(&stopped, polled), [""; 0]);
    }

    #[test]
    fn silent_peer_is_reported_unless_it_said_bye() {
        let session = |ms, kind| {
            let at = at(ms);
            CallEvent::Session(evenkeel_rtp::session::Event { at, kind })
        };
        let picture = |ms| {
            let kind = MediaEvent::Dropped {
                timestamp: 0,
                reason: NotShown::Empty,
            };
            CallEvent::Media(Event { at: at(ms), kind })
        };
        let address = ([192, 0, 2, 7], 5_004).into();
        let peer = SessionEvent::PeerLatched { address, ssrc: 1 };
        for (leaves, reports) in [(false, 1), (true, 0)] {
            let mut stalls = Stalls::new(at(0), None);
            let mut lines = Vec::new();
            for ms in ticks(9_000) {
                match ms {
                    3_000 => stalls.handle_event(&session(ms, peer)),
                    3_100..=4_000 => stalls.handle_event(&picture(ms)),
                    4_100 if leaves => {
                        stalls.handle_event(&session(ms, SessionEvent::PeerLeft));
                        stalls.handle_event(&picture(ms));
                    }
                    _ => {}
                }
                lines.extend(texts(stalls.poll(at(ms))));
            }
            assert_eq!(lines.len(), reports, "{lines:?}");
            assert!(
                lines
                    .iter()
                    .all(|line| line.contains("192.0.2.7:5004 for 3 s"))
            );
        }
    }

    #[test]
    fn restarted_peer_ends_the_stall_before_it() {
        let mut stalls = Stalls::new(at(0), None);
        let address = ([192, 0, 2, 7], 5_004).into();
        let mut lines = Vec::new();
        for ms in ticks(9_000) {
            let peer = |ssrc| {
                let kind = SessionEvent::PeerChanged { address, ssrc };
                CallEvent::Session(evenkeel_rtp::session::Event { at: at(ms), kind })
            };
            let timestamp = 0;
            let parts = Parts { missing: 0, of: 1 };
            let kind = MediaEvent::Shown { timestamp, parts };
            let picture = CallEvent::Media(Event { at: at(ms), kind });
            match ms {
                0 => stalls.handle_event(&peer(1)),
                8_000 => stalls.handle_event(&peer(2)),
                100..=2_000 | 8_100.. => stalls.handle_event(&picture),
                _ => {}
            }
            lines.extend(texts(stalls.poll(at(ms))));
        }
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("resumed after 6 s"), "{lines:?}");
    }
}
