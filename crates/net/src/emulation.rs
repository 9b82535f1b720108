//! Common parts of relay and router: a link each way, and changes while they run.

use evenkeel_link::{
    Change, Counters, DeliveryTrace, Discipline, Event, Link, LinkConfig, Loss, Packet, QueueLimit,
    Schedule,
};
use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// One of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}

impl Direction {
    /// Forward, then reverse.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];
}

/// A change of a running link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkChange {
    /// Its rate. Ends the trace that it follows.
    Rate(Rate),
    /// It follows a delivery trace, from now on.
    Trace(DeliveryTrace),
    /// Its propagation delay, one way.
    Delay(Duration),
    /// The limit of its queue.
    Queue(QueueLimit),
    /// The discipline of its queue, which takes over what waits.
    Discipline(Discipline),
    /// Its loss model.
    Loss(Loss),
    /// Changes to come, counted from now. They replace the changes of the schedule before.
    Schedule(Schedule),
}

/// What a link was at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSnapshot {
    /// Its rate; the mean rate of the trace it follows.
    pub rate: Rate,
    /// Its propagation delay, one way.
    pub delay: Duration,
    /// The limit of its queue.
    pub queue: QueueLimit,
    /// What else decides which packets wait.
    pub discipline: Discipline,
    /// Its loss model.
    pub loss: Loss,
    /// What waited in its queue.
    pub queue_bytes: Bytes,
    /// How long a packet would have waited.
    pub queue_delay: Duration,
    /// What became of the packets so far.
    pub counters: Counters,
}

/// Something happened in one of the links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkEvent {
    /// In which.
    pub direction: Direction,
    /// What, and when.
    pub event: Event,
}

/// A link and the changes that await it.
pub(crate) struct Path<P> {
    pub(crate) link: Link<P>,
    /// On the clock.
    schedule: VecDeque<(Instant, Change)>,
}

impl<P: Packet> Path<P> {
    /// Forward, then reverse.
    pub(crate) fn pair([forward, reverse]: [LinkConfig; 2], seed: u64) -> [Self; 2] {
        // Another seed, lest what is lost one way be lost the other way too.
        [Self::new(forward, seed), Self::new(reverse, !seed)]
    }

    fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            link: Link::new(config, seed),
            schedule: VecDeque::new(),
        }
    }

    fn apply(&mut self, change: LinkChange, now: Instant) {
        match change {
            LinkChange::Rate(rate) => self.link.set_rate(now, rate),
            LinkChange::Trace(trace) => self.link.set_trace(now, trace),
            LinkChange::Delay(delay) => self.link.set_delay(now, delay),
            LinkChange::Queue(limit) => self.link.set_queue(now, limit),
            LinkChange::Discipline(discipline) => self.link.set_discipline(now, discipline),
            LinkChange::Loss(loss) => self.link.set_loss(now, loss),
            LinkChange::Schedule(schedule) => {
                let changes = schedule.changes().iter();
                self.schedule = changes.map(|change| (now + change.at, *change)).collect();
                self.follow_schedule(now);
            }
        }
    }

    /// Makes the changes that are due, at their own times.
    pub(crate) fn follow_schedule(&mut self, now: Instant) {
        while let Some((at, change)) = self.schedule.front().filter(|(at, _)| *at <= now) {
            change.apply(*at, &mut self.link);
            self.schedule.pop_front();
        }
    }

    /// When something comes out or changes next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let change = self.schedule.front().map(|(at, _)| *at);
        [self.link.poll_timeout(), change]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn snapshot(&self, now: Instant) -> LinkSnapshot {
        LinkSnapshot {
            rate: self.link.rate(),
            delay: self.link.delay(),
            queue: self.link.queue_limit(),
            discipline: self.link.discipline(),
            loss: self.link.loss(),
            queue_bytes: self.link.queue_bytes(now),
            queue_delay: self.link.queue_delay(now),
            counters: self.link.counters(),
        }
    }
}

/// Makes changes of a pair, in their order.
pub(crate) fn apply<P: Packet>(
    changes: Vec<(Direction, LinkChange)>,
    paths: &mut [Path<P>; 2],
    now: Instant,
) {
    for (direction, change) in changes {
        paths[direction as usize].apply(change, now);
    }
}

/// The way out for what nobody may wait for: who does not read loses the newest, and hinders nothing.
pub(crate) struct Outlet<T> {
    sender: Option<SyncSender<T>>,
    lost: u64,
}

impl<T> Outlet<T> {
    /// Without a sender, nobody reads.
    pub(crate) fn new(sender: Option<SyncSender<T>>) -> Self {
        Self { sender, lost: 0 }
    }

    /// True while somebody may read.
    pub(crate) fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    pub(crate) fn put(&mut self, value: T) {
        match self.sender.as_ref().map(|sender| sender.try_send(value)) {
            None | Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_))) => self.lost += 1,
            Some(Err(TrySendError::Disconnected(_))) => self.sender = None,
        }
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}
