//! Pictures that stop coming, from the source or from the peer: told once for each stall, and when they come again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_media::call::CallEvent;
use evenkeel_media::event::EventKind as MediaEvent;
use evenkeel_rtp::session::EventKind as SessionEvent;
use tfrc::time::{Duration, Instant};

/// So long without a picture is told, unless pictures come as seldom.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many times the last interval between two pictures, at the least: pictures that come as seldom are no stalls but the
/// first. One that was longer than this was a stall.
const INTERVALS: u32 = 3;
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// Who was not asked for so long stood still, as a stopped process does, and whoever gives pictures did not.
const ABSENCE: Duration = Duration::from_secs(1);

/// Counts the pictures that a source gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(Arc<AtomicU64>);

impl Given {
    /// One more.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What an end waits for: pictures to send, pictures to show.
#[derive(Debug)]
pub(crate) struct Stalls {
    source: Option<(String, Given, u64, Stall)>,
    peer: Option<(SocketAddr, Stall)>,
    asked: Instant,
    told: Vec<String>,
}

impl Stalls {
    /// Those of an end that sends what the source of this name gives, if there is one.
    pub(crate) fn new(now: Instant, source: Option<(String, Given)>) -> Self {
        Self {
            source: source.map(|(name, given)| (name, given, 0, Stall::new(Some(now)))),
            peer: None,
            asked: now,
            told: Vec::new(),
        }
    }

    /// Takes in an event of the end.
    pub(crate) fn handle_event(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Session(event) => match event.kind {
                SessionEvent::PeerLatched { address, .. }
                | SessionEvent::PeerChanged { address, .. } => {
                    // Who takes the place of one that said nothing ends its stall.
                    let before = self.peer.take().map(|(_, stall)| stall);
                    self.peer = Some((address, before.unwrap_or(Stall::new(None))));
                }
                SessionEvent::PeerLeft => self.peer = None,
                _ => {}
            },
            CallEvent::Media(event) => {
                // Each picture of which anything came ends as one of the two.
                if let MediaEvent::Shown { .. } | MediaEvent::Dropped { .. } = event.kind
                    && let Some((address, stall)) = &mut self.peer
                {
                    let ended = stall.handle_picture(event.at);
                    self.told.extend(ended.map(|time| again(address, time)));
                }
            }
        }
    }

    /// What is to be told now, a line each.
    pub(crate) fn poll(&mut self, now: Instant) -> Vec<String> {
        let absence = now.saturating_since(self.asked);
        self.asked = now;
        let absence = Some(absence).filter(|time| *time >= ABSENCE);
        if let Some((name, given, before, stall)) = &mut self.source {
            let source = format!("--source {name}");
            let count = given.0.load(Ordering::Relaxed);
            if count > std::mem::replace(before, count) {
                let ended = stall.handle_picture(now);
                self.told.extend(ended.map(|time| again(&source, time)));
            }
            if let Some(time) = stall.poll(now, absence) {
                self.told.push(format!(
                    "warning: no pictures from {source} for {}: nothing new is sent until it gives some; does what gives them still run?",
                    secs(time)
                ));
            }
        }
        if let Some((address, stall)) = &mut self.peer
            && let Some(time) = stall.poll(now, absence)
        {
            self.told.push(format!(
                "warning: no pictures from {address} for {}: the last one stays; does the sender still run, and does the path carry it?",
                secs(time)
            ));
        }
        std::mem::take(&mut self.told)
    }
}

fn again(who: impl std::fmt::Display, time: Duration) -> String {
    format!("pictures from {who} come again, after {}", secs(time))
}

fn secs(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

/// One that gives pictures.
#[derive(Debug)]
struct Stall {
    /// Since when the next is waited for.
    since: Option<Instant>,
    /// Between the last two.
    interval: Duration,
    is_told: bool,
}

impl Stall {
    const fn new(since: Option<Instant>) -> Self {
        Self {
            since,
            interval: Duration::ZERO,
            is_told: false,
        }
    }

    /// A picture came. How long there was none, if that was told.
    fn handle_picture(&mut self, at: Instant) -> Option<Duration> {
        let time = self
            .since
            .map_or(Duration::ZERO, |since| at.saturating_since(since));
        self.interval = time.min(LONGEST_INTERVAL);
        self.since = Some(at);
        std::mem::take(&mut self.is_told).then_some(time)
    }

    /// How long there has been none, if that is to be told now.
    fn poll(&mut self, now: Instant, absence: Option<Duration>) -> Option<Duration> {
        let since = self.since? + absence.unwrap_or_default();
        self.since = Some(since);
        let time = now.saturating_since(since);
        let is_due = !self.is_told && time >= PATIENCE.max(self.interval * INTERVALS);
        self.is_told |= is_due;
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

    /// What is told of a source that gives a picture at these times, asked ten times a second up to `end`.
    fn told_of(times: &[u64], asked: impl Iterator<Item = u64>) -> Vec<String> {
        let given = Given::default();
        let mut stalls = Stalls::new(at(0), Some(("pipe.y4m".into(), given.clone())));
        let mut times = times.iter().peekable();
        asked
            .flat_map(|ms| {
                while times.next_if(|time| **time <= ms).is_some() {
                    given.count();
                }
                stalls.poll(at(ms))
            })
            .collect()
    }

    fn ticks(end: u64) -> impl Iterator<Item = u64> {
        (0..=end / TICK).map(|n| n * TICK)
    }

    #[test]
    fn a_source_that_stalls_is_told_once_each_time_and_when_it_goes_on() {
        let times = [0, 100, 200, 5_200, 5_300, 5_400, 9_000];
        let told = told_of(&times, ticks(9_000));
        assert_eq!(told.len(), 4, "{told:?}");
        for (line, words) in told.iter().zip([
            "no pictures from --source pipe.y4m for 3 s",
            "from --source pipe.y4m come again, after 5 s",
            "for 3 s",
            "after 4 s",
        ]) {
            assert!(line.contains(words), "{told:?}");
        }
        assert_eq!(told_of(&[], ticks(9_000)).len(), 1, "from the start");
    }

    #[test]
    fn seldom_pictures_are_no_stall_and_neither_is_a_process_that_was_stopped() {
        let seldom: Vec<u64> = (0..10).map(|n| n * 2_000).collect();
        assert_eq!(told_of(&seldom, ticks(18_000)), [""; 0]);
        // The first time one cannot know.
        let more_so: Vec<u64> = (0..10).map(|n| n * 6_000).collect();
        assert_eq!(told_of(&more_so, ticks(54_000)).len(), 2);
        // A stall is no interval to go by: half a minute after a long one the next is told.
        assert_eq!(told_of(&[0, 100, 40_000], ticks(69_900)).len(), 2);
        assert_eq!(told_of(&[0, 100, 40_000], ticks(70_100)).len(), 3);
        let stopped = [0, 100, 200, 6_000, 6_100];
        let asked = ticks(300).chain([5_900, 6_000, 6_100]);
        assert_eq!(told_of(&stopped, asked), [""; 0]);
    }

    #[test]
    fn a_peer_that_falls_silent_is_told_and_one_that_says_goodbye_is_not() {
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
        for (leaves, lines) in [(false, 1), (true, 0)] {
            let mut stalls = Stalls::new(at(0), None);
            let mut told = Vec::new();
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
                told.extend(stalls.poll(at(ms)));
            }
            assert_eq!(told.len(), lines, "{told:?}");
            assert!(
                told.iter()
                    .all(|line| line.contains("192.0.2.7:5004 for 3 s"))
            );
        }
    }

    #[test]
    fn a_peer_that_is_started_again_ends_the_stall_of_the_one_before() {
        let mut stalls = Stalls::new(at(0), None);
        let address = ([192, 0, 2, 7], 5_004).into();
        let mut told = Vec::new();
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
            told.extend(stalls.poll(at(ms)));
        }
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("come again, after 6 s"), "{told:?}");
    }
}
