//! The queue before the wire.

mod codel;
mod discipline;
mod fq_codel;
mod pie;
mod red;

pub use codel::CoDelConfig;
pub use discipline::{Discipline, QueueLimit};
pub use fq_codel::FqCoDelConfig;
pub use pie::PieConfig;
pub use red::{RedConfig, RedUnit};

use codel::CoDel;
use fq_codel::FqCoDel;
use pie::Pie;
use red::{Found, Red};

use crate::counters::{Count, LinkCounters};
use crate::event::DropReason;
use crate::in_flight::prefetch_first;
use crate::packet::Packet;
use evenkeel_prefetch::prefetch;
use std::collections::VecDeque;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) packet: P,
    pub(crate) size: Bytes,
    pub(crate) arrival: Instant,
}

/// Packets in the order of their arrival, and their bytes.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: Bytes,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
}

impl<P> Fifo<P> {
    fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += waiting.size;
        self.waiting.push_back(waiting);
    }

    #[inline]
    fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.size;
        Some(waiting)
    }
}

/// What a discipline says of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Admit,
    /// It is to be dropped, or marked if it may be.
    Congested {
        may_mark: bool,
    },
}

/// What a discipline remembers.
#[derive(Clone, Debug)]
enum State<P> {
    Red(Red),
    CoDel(CoDel),
    FqCoDel(FqCoDel<P>),
    Pie(Pie),
}

/// The queue of a link.
#[derive(Clone, Debug)]
pub(crate) struct Queue<P> {
    /// None of a queue that drops what does not fit, as most links of a simulation have.
    state: Option<Box<State<P>>>,
    backlog: Box<Backlog<P>>,
}

/// What a packet that finds the wire idle does not need; boxed, as that is most packets.
#[derive(Clone, Debug)]
struct Backlog<P> {
    fifo: Fifo<P>,
    limit: QueueLimit,
    /// The last rate of the link above zero, which a limit in time is measured in.
    rate: Rate,
    /// What the link was made with.
    seed: u64,
    /// What has left the queue of a link of early departures, counted from the first packet on, when somebody
    /// last looked.
    begun: Count,
}

impl<P: Packet> State<P> {
    /// `None` for drop-tail.
    fn of(discipline: Discipline, seed: u64) -> Option<Box<Self>> {
        Some(Box::new(match discipline {
            Discipline::DropTail => return None,
            Discipline::Red(config) => Self::Red(Red::new(config, seed)),
            Discipline::CoDel(config) => Self::CoDel(CoDel::new(config)),
            Discipline::FqCoDel(config) => Self::FqCoDel(FqCoDel::new(config, seed)),
            Discipline::Pie(config) => Self::Pie(Pie::new(config, seed)),
        }))
    }
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(limit: QueueLimit, discipline: Discipline, rate: Rate, seed: u64) -> Self {
        let fifo = Fifo::default();
        Self {
            state: State::of(discipline, seed),
            backlog: Box::new(Backlog {
                fifo,
                limit,
                rate,
                seed,
                begun: Count::default(),
            }),
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.backlog.seed
    }

    pub(crate) fn limit(&self) -> QueueLimit {
        self.backlog.limit
    }

    pub(crate) fn discipline(&self) -> Discipline {
        match self.state.as_deref() {
            None => Discipline::DropTail,
            Some(State::Red(red)) => Discipline::Red(red.config()),
            Some(State::CoDel(codel)) => Discipline::CoDel(codel.config()),
            Some(State::FqCoDel(flows)) => Discipline::FqCoDel(flows.config()),
            Some(State::Pie(pie)) => Discipline::Pie(pie.config()),
        }
    }

    /// The rate of the link from now on; while it is zero, the last one counts.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        if rate > Rate::ZERO {
            self.backlog.rate = rate;
        }
    }

    /// Changes the limit. What already waits stays, as in a router.
    pub(crate) fn set_limit(&mut self, limit: QueueLimit) {
        self.backlog.limit = limit;
    }

    /// Another discipline, without a past, takes over what waits, in the order in which it came.
    pub(crate) fn set_discipline(&mut self, discipline: Discipline) {
        let waiting = match self.state.take().map(|state| *state) {
            Some(State::FqCoDel(flows)) => flows.into_order_of_arrival(),
            _ => std::mem::take(&mut self.backlog.fifo).waiting.into(),
        };
        self.state = State::of(discipline, self.seed());
        for packet in waiting {
            match self.state.as_deref_mut() {
                Some(State::FqCoDel(flows)) => flows.push(packet),
                _ => self.backlog.fifo.push(packet),
            }
        }
    }

    /// What waits.
    pub(crate) fn bytes(&self) -> Bytes {
        match self.state.as_deref() {
            Some(State::FqCoDel(flows)) => flows.bytes(),
            _ => self.backlog.fifo.bytes,
        }
    }

    /// Lets what tells where packets wait come near.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&*self.backlog);
    }

    /// The first packets that wait.
    #[inline]
    pub(crate) fn prefetch_first(&self) {
        prefetch_first(&self.backlog.fifo.waiting);
    }

    /// True if a packet that finds the wire idle need not pass through the queue.
    pub(crate) fn is_transparent(&self) -> bool {
        self.state.is_none()
    }

    /// Lets a packet be the first that waits.
    pub(crate) fn put_back(&mut self, waiting: Waiting<P>) {
        self.backlog.fifo.bytes += waiting.size;
        self.backlog.fifo.waiting.push_front(waiting);
    }

    /// What has left the queue of a link of early departures, for the link to keep.
    #[inline]
    pub(crate) fn begun_mut(&mut self) -> &mut Count {
        &mut self.backlog.begun
    }

    /// True if so much may wait.
    #[inline]
    pub(crate) fn holds(&self, waiting: Count) -> bool {
        let Backlog { limit, rate, .. } = &*self.backlog;
        limit.holds(waiting.packets, waiting.bytes, *rate)
    }

    /// Takes a packet in or drops it. One that finds the wire idle does not wait and is therefore within
    /// any limit.
    pub(crate) fn push(
        &mut self,
        mut waiting: Waiting<P>,
        is_idle: bool,
        counters: &mut LinkCounters,
    ) {
        let (at, size) = (waiting.arrival, waiting.size);
        let Backlog {
            fifo, limit, rate, ..
        } = &mut *self.backlog;
        let verdict = match self.state.as_deref_mut() {
            Some(State::Red(red)) => red.arrive(Found {
                at,
                size,
                waiting: fifo.waiting.len(),
                bytes: fifo.bytes,
                rate: *rate,
            }),
            Some(State::Pie(pie)) => pie.arrive(at, fifo.bytes),
            None | Some(State::CoDel(_) | State::FqCoDel(_)) => Verdict::Admit,
        };
        if let Some(State::FqCoDel(flows)) = self.state.as_deref_mut() {
            flows.push(waiting);
            counters.admitted(at, size, flows.bytes());
            while !is_idle && !limit.holds(flows.packets() as u64, flows.bytes(), *rate) {
                flows.drop_from_longest(at, counters);
            }
            return;
        }
        let (packets, bytes) = (fifo.waiting.len() as u64 + 1, fifo.bytes + size);
        if !is_idle && !limit.holds(packets, bytes, *rate) {
            return counters.refused(at, size, DropReason::QueueFull, waiting.packet.number());
        }
        if let Verdict::Congested { may_mark } = verdict
            && !(may_mark && mark(at, &mut waiting, counters))
        {
            return counters.refused(at, size, DropReason::Early, waiting.packet.number());
        }
        fifo.push(waiting);
        counters.admitted(at, size, fifo.bytes);
    }

    /// The packet that goes next.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Waiting<P>> {
        let fifo = &mut self.backlog.fifo;
        let Some(state) = self.state.as_deref_mut() else {
            return fifo.pop();
        };
        match state {
            State::CoDel(codel) => codel.pop(now, fifo, counters),
            State::FqCoDel(flows) => flows.pop(now, counters),
            State::Red(red) => {
                let next = fifo.pop()?;
                if fifo.waiting.is_empty() {
                    red.emptied(now);
                }
                Some(next)
            }
            State::Pie(pie) => {
                let next = fifo.pop()?;
                pie.leave(now, now.saturating_since(next.arrival));
                Some(next)
            }
        }
    }
}

/// Marks a packet with CE, if its sender understands that.
fn mark<P: Packet>(now: Instant, waiting: &mut Waiting<P>, counters: &mut LinkCounters) -> bool {
    if waiting.packet.ecn() == Ecn::NotEct {
        return false;
    }
    waiting.packet.mark();
    counters.marked(now, waiting.size);
    true
}

#[cfg(test)]
mod tests;
