//! What waits for the wire.

mod codel;
mod fq_codel;
mod pie;
mod red;

pub use codel::CoDelConfig;
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
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// How much may wait. The packet on the wire does not count: it has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most this many packets, of any size.
    Packets(u64),
    /// At most what the link carries in this time at its current rate: the limit follows the rate.
    /// While the rate is zero, the last rate above zero counts, so that an outage fills the buffer
    /// instead of abolishing it.
    Time(Duration),
}

impl QueueLimit {
    /// What one packet of Ethernet takes: below it, a long packet could never wait in a queue that is limited in bytes.
    pub const LEAST_BYTES: Bytes = Bytes::new(1_500);

    /// True if so much may wait while the link runs at `rate`.
    fn holds(self, packets: u64, bytes: Bytes, rate: Rate) -> bool {
        match self {
            Self::Bytes(limit) => bytes <= limit,
            Self::Packets(limit) => packets <= limit,
            Self::Time(limit) => bytes <= bytes_in(limit, rate),
        }
    }
}

/// Which packets wait and in which order they leave, within the [`QueueLimit`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// First in, first out; what does not fit is dropped on arrival.
    #[default]
    DropTail,
    /// Drops at random while the average length is too long, before the queue is full.
    Red(RedConfig),
    /// Drops at the head while the delay does not fall below a target.
    CoDel(CoDelConfig),
    /// A queue a flow, each with CoDel. When full, the longest is dropped from.
    FqCoDel(FqCoDelConfig),
    /// Drops at random, as likely as the delay and its growth make it.
    Pie(PieConfig),
}

impl Discipline {
    /// What is wrong with its settings, if something is: a link with such would run, but not as meant.
    pub fn problem(&self) -> Option<&'static str> {
        let conditions: &[(bool, &'static str)] = match self {
            Self::DropTail => &[],
            Self::Red(red) => &[
                (red.min >= 0.0, "RED: min must be at least 0"),
                (red.max > red.min, "RED: max must be above min"),
                (
                    red.max_p > 0.0 && red.max_p <= 1.0,
                    "RED: max_p must be above 0 and at most 1",
                ),
                (
                    red.weight > 0.0 && red.weight <= 1.0,
                    "RED: weight must be above 0 and at most 1",
                ),
                (
                    red.mean_packet > Bytes::ZERO,
                    "RED: mean_packet must be above 0",
                ),
            ],
            Self::CoDel(codel) => &[codel_interval(codel)],
            Self::FqCoDel(fq_codel) => &[
                codel_interval(&fq_codel.codel),
                (
                    fq_codel.queues > 0,
                    "FQ-CoDel: queues is 0: give at least 1",
                ),
                (
                    fq_codel.quantum > Bytes::ZERO,
                    "FQ-CoDel: quantum is 0: give the size of a packet, such as 1514B",
                ),
            ],
            Self::Pie(pie) => &[
                (pie.target > Duration::ZERO, "PIE: target must be above 0"),
                (
                    pie.update >= PieConfig::LEAST_UPDATE,
                    "PIE: update must be at least 1ms: give how often it looks at its queue, such as 15ms",
                ),
            ],
        };
        let broken = conditions.iter().find(|(holds, _)| !holds);
        broken.map(|(_, problem)| *problem)
    }
}

fn codel_interval(codel: &CoDelConfig) -> (bool, &'static str) {
    let holds = codel.interval > Duration::ZERO;
    (holds, "CoDel: interval must be above 0")
}

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

/// What `rate` carries in `time`: whole nanoseconds keep the product exact for any ordinary rate.
fn bytes_in(time: Duration, rate: Rate) -> Bytes {
    Bytes::new((rate.bytes_per_sec() * time.as_nanos() as f64 / 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bytes_per_sec(1_000.0);

    #[test]
    fn settings_that_let_nothing_through_are_named() {
        let fq_codel = FqCoDelConfig::default();
        let pie = PieConfig::default();
        let told = |discipline: Discipline| discipline.problem().unwrap_or_default();
        assert_eq!(told(Discipline::FqCoDel(fq_codel)), "");
        assert_eq!(told(Discipline::Pie(pie)), "");
        let queues = FqCoDelConfig {
            queues: 0,
            ..fq_codel
        };
        assert!(told(Discipline::FqCoDel(queues)).contains("queues is 0"));
        let quantum = FqCoDelConfig {
            quantum: Bytes::ZERO,
            ..fq_codel
        };
        assert!(told(Discipline::FqCoDel(quantum)).contains("quantum is 0"));
        let update = PieConfig {
            update: Duration::from_micros(999),
            ..pie
        };
        assert!(told(Discipline::Pie(update)).contains("at least 1ms"));
    }

    #[test]
    fn a_queue_tells_the_discipline_that_it_was_given() {
        let codel = CoDelConfig {
            target: Duration::from_millis(7),
            ecn: true,
            ..CoDelConfig::default()
        };
        let disciplines = [
            Discipline::DropTail,
            Discipline::Red(RedConfig::between(4.0, 9.0)),
            Discipline::CoDel(codel),
            Discipline::FqCoDel(FqCoDelConfig {
                codel,
                quantum: Bytes::new(300),
                queues: 16,
            }),
            Discipline::Pie(PieConfig {
                target: Duration::from_millis(20),
                ecn: true,
                ..PieConfig::default()
            }),
        ];
        for discipline in disciplines {
            let queue = Queue::<Of>::new(QueueLimit::Packets(9), discipline, RATE, 1);
            assert_eq!(queue.discipline(), discipline);
        }
    }

    /// A packet of a flow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Of(u64);

    impl Packet for Of {
        fn flow(&self) -> u64 {
            self.0
        }
    }

    fn push(queue: &mut Queue<Of>, counters: &mut LinkCounters, flow: u64, size: u64) {
        let waiting = Waiting {
            packet: Of(flow),
            size: Bytes::new(size),
            arrival: Instant::ZERO,
        };
        counters.received(waiting.size);
        queue.push(waiting, false, counters);
    }

    /// How many of a thousand packets of `size` bytes a queue takes.
    fn fits(limit: QueueLimit, size: u64) -> usize {
        let mut queue = Queue::new(limit, Discipline::DropTail, RATE, 1);
        let mut counters = LinkCounters::default();
        for _ in 0..1_000 {
            push(&mut queue, &mut counters, 1, size);
        }
        queue.backlog.fifo.waiting.len()
    }

    #[test]
    fn each_limit_is_exact() {
        assert_eq!(fits(QueueLimit::Bytes(Bytes::new(500)), 100), 5);
        assert_eq!(fits(QueueLimit::Bytes(Bytes::new(499)), 100), 4);
        assert_eq!(fits(QueueLimit::Packets(7), 100), 7);
        assert_eq!(fits(QueueLimit::Packets(0), 100), 0);
        assert_eq!(fits(QueueLimit::Time(Duration::from_millis(500)), 100), 5);
        assert_eq!(fits(QueueLimit::Time(Duration::from_millis(499)), 100), 4);
    }

    #[test]
    fn an_unlimited_rate_admits_to_a_time_limited_queue() {
        let limit = QueueLimit::Time(Duration::from_millis(1));
        assert!(limit.holds(1, Bytes::new(1_500), Rate::INFINITY));
    }

    #[test]
    fn flow_queueing_keeps_its_limit_also_when_a_large_packet_comes_to_small_ones() {
        let config = Discipline::FqCoDel(FqCoDelConfig::default());
        let limit = QueueLimit::Bytes(Bytes::new(10_000));
        let (mut queue, mut counters) =
            (Queue::new(limit, config, RATE, 1), LinkCounters::default());
        for flow in 0..20 {
            for _ in 0..5 {
                push(&mut queue, &mut counters, flow, 100);
            }
        }
        assert_eq!(queue.bytes(), Bytes::new(10_000));
        for flow in 20..30 {
            push(&mut queue, &mut counters, flow, 1_500);
            assert!(queue.bytes() <= Bytes::new(10_000), "{}", queue.bytes());
        }
    }
}
