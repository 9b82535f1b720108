//! The hop: loss, then the queue, then the wire, then the propagation delay.

use crate::event::{DropReason, Event, EventLog};
use crate::loss::{Loss, LossProcess};
use crate::queue::{Queue, QueueLimit, Waiting};
use crate::random::{Random, stream};
use crate::rate::Wire;
use crate::trace_file::DeliveryTrace;
use std::collections::VecDeque;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};

/// What a link is like when it starts. Everything but the jitter may change while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// How fast the wire is. Zero holds every packet back; [`Rate::INFINITY`] takes no time.
    /// Resolved to a thousandth of a bit per second.
    pub rate: Rate,
    /// The propagation delay, one way.
    pub delay: Duration,
    /// What is added to the delay, packet by packet.
    pub jitter: Jitter,
    /// How much may wait for the wire.
    pub queue: QueueLimit,
    /// What the path loses besides.
    pub loss: Loss,
}

impl Default for LinkConfig {
    /// A perfect link: no limit, no delay, no loss.
    fn default() -> Self {
        Self {
            rate: Rate::INFINITY,
            delay: Duration::ZERO,
            jitter: Jitter::None,
            queue: QueueLimit::Bytes(MAX_HELD_BYTES),
            loss: Loss::None,
        }
    }
}

/// Delay variation. It never reorders: a packet that would overtake another leaves together with
/// it, as RFC 8868 §4.5.2 has it for a queue further down the path (whose rate is not modelled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// The delay is constant.
    #[default]
    None,
    /// |N(0, σ²)| clipped at 3σ, with this σ (RFC 8868 §4.5.3, which recommends 5 ms).
    Normal(Duration),
    /// Uniform between zero and this.
    Uniform(Duration),
}

/// Packets and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// Their sizes on the wire, added up.
    pub bytes: Bytes,
}

impl Count {
    fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// What became of the packets since the link was made:
/// `received = delivered + lost + dropped + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed to [`Link::handle_packet`].
    pub received: Count,
    /// Given out by [`Link::poll_output`].
    pub delivered: Count,
    /// Lost by the [`Loss`] model.
    pub lost: Count,
    /// Refused by the queue, or by the bound on what the link holds.
    pub dropped: Count,
    /// In the queue, on the wire or on their way at this moment.
    pub held: Count,
    /// Events that were overwritten because nobody read them.
    pub events_overwritten: u64,
}

/// One direction of one hop, for packets of any type `P`.
///
/// Hand packets in with [`handle_packet`](Link::handle_packet), take them out with
/// [`poll_output`](Link::poll_output) until it gives `None`, then wait for
/// [`poll_timeout`](Link::poll_timeout). The link computes every instant itself, so a caller that
/// comes late finds each packet due at the instant at which it was due.
///
/// Packets must arrive in the order of their `now`; an earlier one counts as simultaneous with the
/// last. It may lie before an instant that was passed to `poll_output`, as the kernel's receive time
/// of a packet read late does.
///
/// Sizes are sizes on the wire: for a UDP datagram over IPv4, its payload and 28 bytes.
#[derive(Clone, Debug)]
pub struct Link<P> {
    queue: Queue<P>,
    wire: Wire,
    /// The packet whose bits the wire is sending.
    on_wire: Option<OnWire<P>>,
    /// Off the wire, in the order in which they come out.
    travelling: VecDeque<Travelling<P>>,
    delay: Duration,
    jitter: Jitter,
    jitter_random: Random,
    loss: LossProcess,
    /// The last rate above zero, which a time-limited queue is measured in.
    queue_rate: Rate,
    /// The latest arrival or change: nothing happens before it.
    latest: Instant,
    last_output: Instant,
    counters: Counters,
    events: EventLog,
}

#[derive(Clone, Debug)]
struct OnWire<P> {
    packet: P,
    size: Bytes,
    waited: Duration,
    /// Drawn already, so that it is known when the packet will come out.
    jitter: Duration,
}

#[derive(Clone, Debug)]
struct Travelling<P> {
    packet: P,
    size: Bytes,
    due: Instant,
}

impl<P> Link<P> {
    /// An empty link. `seed` fixes every loss and every jitter to come.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let wire = Wire::new(config.rate);
        Self {
            queue: Queue::new(config.queue),
            queue_rate: wire.rate(),
            wire,
            on_wire: None,
            travelling: VecDeque::new(),
            delay: config.delay,
            jitter: config.jitter,
            jitter_random: Random::new(seed, stream::JITTER),
            loss: LossProcess::new(config.loss, seed),
            latest: Instant::ZERO,
            last_output: Instant::ZERO,
            counters: Counters::default(),
            events: EventLog::default(),
        }
    }

    /// A packet of `size` bytes on the wire arrives at `now`.
    pub fn handle_packet(&mut self, now: Instant, packet: P, size: Bytes) {
        let at = self.settle(now);
        self.counters.received.add(size);
        if self.loss.loses_next() {
            self.counters.lost.add(size);
            return self.drop_event(at, size, DropReason::Loss);
        }
        let refusal = if self.is_at_capacity(size) {
            Some(DropReason::Capacity)
        } else if self.on_wire.is_some() && !self.queue.admits(size, self.queue_rate) {
            Some(DropReason::QueueFull)
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.counters.dropped.add(size);
            return self.drop_event(at, size, reason);
        }
        self.counters.held.add(size);
        self.queue.push(Waiting {
            packet,
            size,
            arrival: at,
        });
        self.events.push(Event::Enqueued {
            at,
            size,
            backlog: self.queue.bytes(),
        });
        self.start_next(at);
        // A packet may take no time at all.
        self.advance(at);
    }

    /// The next packet that has come out by `now`, in order.
    pub fn poll_output(&mut self, now: Instant) -> Option<P> {
        self.advance(now);
        if self.travelling.front()?.due > now {
            return None;
        }
        let Travelling { packet, size, .. } = self.travelling.pop_front()?;
        self.counters.held.packets -= 1;
        self.counters.held.bytes -= size;
        self.counters.delivered.add(size);
        Some(packet)
    }

    /// When the next packet comes out, if nothing changes; `None` if none will.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (self.travelling.front(), &self.on_wire) {
            (Some(next), _) => Some(next.due),
            (None, Some(on_wire)) => Some(self.output_time(self.wire.end()?, on_wire.jitter)),
            (None, None) => None,
        }
    }

    /// Changes the rate, also for the rest of the packet on the wire.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        let at = self.settle(now);
        self.wire.set_rate(at, rate);
        self.rate_changed(at);
    }

    /// Lets a delivery trace that starts at `now` set the pace, until [`Link::set_rate`] does.
    ///
    /// A queue limited in time is measured at the mean rate of the trace.
    pub fn set_trace(&mut self, now: Instant, trace: DeliveryTrace) {
        let at = self.settle(now);
        self.wire.set_trace(at, trace);
        self.rate_changed(at);
    }

    /// Changes the propagation delay of the packets that are not yet through the wire.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.settle(now);
        self.delay = delay;
    }

    /// Changes the limit of the queue; what already waits stays.
    pub fn set_queue(&mut self, now: Instant, limit: QueueLimit) {
        self.settle(now);
        self.queue.set_limit(limit);
    }

    /// Changes the loss of the packets to come.
    pub fn set_loss(&mut self, now: Instant, loss: Loss) {
        self.settle(now);
        self.loss.set_model(loss);
    }

    /// Keeps events from now on, for [`Link::poll_event`]: a link does not unless it is told to.
    pub fn keep_events(&mut self) {
        self.events.keep();
    }

    /// The next event, oldest first. At most a few thousand are kept.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// The rate, or the mean rate of the trace that the link follows.
    pub fn rate(&self) -> Rate {
        self.wire.rate()
    }

    /// The propagation delay, one way, without jitter.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// The limit of the queue.
    pub fn queue_limit(&self) -> QueueLimit {
        self.queue.limit()
    }

    /// The loss model.
    pub fn loss(&self) -> Loss {
        self.loss.model()
    }

    /// What waits for the wire, without the packet on it.
    pub fn queue_bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// How long a packet that arrived at `now` would wait until its first bit leaves;
    /// [`Duration::MAX`] at rate zero behind another packet.
    ///
    /// Exact if the link has been polled at `now`.
    pub fn queue_delay(&self, now: Instant) -> Duration {
        self.wire.drain_time(now, self.queue.bytes())
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        Counters {
            events_overwritten: self.events.overwritten(),
            ..self.counters
        }
    }

    /// Brings the link to `now`, which is not let back before the last arrival or change.
    fn settle(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.advance(self.latest);
        self.latest
    }

    /// Completes every packet that is through by `now`, each at its own instant.
    fn advance(&mut self, now: Instant) {
        while let Some(end) = self.wire.complete(now) {
            if let Some(on_wire) = self.on_wire.take() {
                let due = self.output_time(end, on_wire.jitter);
                self.last_output = due;
                let OnWire { packet, size, .. } = on_wire;
                self.travelling.push_back(Travelling { packet, size, due });
                self.events.push(Event::Transmitted {
                    at: end,
                    size,
                    waited: on_wire.waited,
                });
            }
            self.start_next(end);
        }
    }

    /// Puts the head of the queue on the wire, if that is idle.
    fn start_next(&mut self, at: Instant) {
        if !self.wire.is_idle() {
            return;
        }
        if let Some(Waiting {
            packet,
            size,
            arrival,
        }) = self.queue.pop()
        {
            let begun = self.wire.begin(at, size);
            self.on_wire = Some(OnWire {
                packet,
                size,
                waited: begun.saturating_since(arrival),
                jitter: self.draw_jitter(),
            });
        }
    }

    /// When a packet comes out that leaves the wire at `end`: in order, whatever the delay does.
    fn output_time(&self, end: Instant, jitter: Duration) -> Instant {
        (end + self.delay + jitter).max(self.last_output)
    }

    fn draw_jitter(&mut self) -> Duration {
        match self.jitter {
            Jitter::None => Duration::ZERO,
            Jitter::Normal(sigma) => {
                let z = self.jitter_random.normal().abs().min(NORMAL_CLIP);
                duration_from_secs(sigma.as_secs_f64() * z)
            }
            Jitter::Uniform(most) => {
                duration_from_secs(most.as_secs_f64() * self.jitter_random.unit())
            }
        }
    }

    fn is_at_capacity(&self, size: Bytes) -> bool {
        let held = self.counters.held;
        held.packets >= MAX_HELD_PACKETS || held.bytes + size > MAX_HELD_BYTES
    }

    fn drop_event(&mut self, at: Instant, size: Bytes, reason: DropReason) {
        self.events.push(Event::Dropped { at, size, reason });
    }

    fn rate_changed(&mut self, at: Instant) {
        let rate = self.wire.rate();
        if rate > Rate::ZERO {
            self.queue_rate = rate;
        }
        self.events.push(Event::RateChanged { at, rate });
        // The rest of the packet on the wire may take no time now.
        self.advance(at);
    }
}

/// N_STD of RFC 8868 §4.5.3.
const NORMAL_CLIP: f64 = 3.0;

/// The most that a link holds, queue and propagation together, so that no configuration exhausts
/// the memory: two seconds at 1 Gb/s.
const MAX_HELD_BYTES: Bytes = Bytes::new(256 << 20);

/// The same bound for small packets, whose cost is their bookkeeping: 1500 bytes each make 375 MB.
const MAX_HELD_PACKETS: u64 = 1 << 18;
