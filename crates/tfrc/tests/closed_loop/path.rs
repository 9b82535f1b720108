//! A sender and a receiver joined by one bottleneck, in virtual time.
//!
//! The path is written here and not taken from the link crate, which depends on this one: what the
//! algorithm does must be provable without anything above it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::conditions::{Conditions, Loss, Measured, PACKET, Source};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::Bytes;
use tfrc::{
    Arrival, Ecn, Feedback, FeedbackPacket, Receiver, ReceiverConfig, Sender, SenderConfig,
};

#[derive(Clone, Copy)]
struct Packet {
    seq: u64,
    timestamp: u32,
    rtt: Option<Duration>,
    size: Bytes,
}

impl Packet {
    fn arrival(&self, at: Instant) -> Arrival {
        Arrival {
            seq: self.seq,
            at,
            timestamp: self.timestamp,
            rtt: self.rtt,
            size: self.size,
            ecn: Ecn::NotEct,
        }
    }
}

pub(crate) struct Path {
    pub now: Instant,
    pub conditions: Conditions,
    pub source: Source,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Hears every packet that is not lost, in its order: what it computes is the truth.
    pub oracle: Receiver,
    /// Every decision of the sender's, with its time.
    pub traces: Vec<(Instant, Trace)>,
    /// The size of a full packet here.
    pub packet: Bytes,
    /// In bytes: no encoder makes a picture of nothing.
    pub smallest_frame: u64,
    /// The sender's process does not run before this.
    stopped_until: Instant,
    measured: Measured,
    random: SplitMix64,
    next_seq: u64,
    next_frame: Instant,
    waiting: Bytes,
    queue: VecDeque<Packet>,
    served: Option<Instant>,
    /// Packets that others overtake, and how many still will.
    overtaken: Vec<(u64, Packet)>,
    flying: VecDeque<(Instant, Packet)>,
    reports: VecDeque<(Instant, FeedbackPacket)>,
}

impl Path {
    /// The seed is printed, so that a failing run can be repeated.
    pub(crate) fn new(conditions: Conditions, source: Source, seed: u64) -> Self {
        Self::start(conditions, source, seed, SenderConfig::default())
    }

    /// One whose ends are set otherwise.
    pub(crate) fn with_ends(
        conditions: Conditions,
        source: Source,
        sender: SenderConfig,
        receiver: ReceiverConfig,
    ) -> Self {
        Self {
            receiver: Receiver::new(receiver),
            ..Self::start(conditions, source, 1, sender)
        }
    }

    /// One whose sender may burst so far.
    pub(crate) fn with_credit(
        conditions: Conditions,
        source: Source,
        max_credit: Duration,
    ) -> Self {
        let config = SenderConfig {
            max_credit,
            ..SenderConfig::default()
        };
        Self::start(conditions, source, 1, config)
    }

    fn start(conditions: Conditions, source: Source, seed: u64, config: SenderConfig) -> Self {
        println!("seed {seed}: {conditions:?} {source:?}");
        Self {
            now: Instant::ZERO,
            conditions,
            source,
            sender: Sender::new(Instant::ZERO, config),
            receiver: Receiver::new(ReceiverConfig::default()),
            oracle: Receiver::new(ReceiverConfig::default()),
            traces: Vec::new(),
            packet: PACKET,
            smallest_frame: 2_000,
            stopped_until: Instant::ZERO,
            measured: Measured::default(),
            random: SplitMix64::seed_from_u64(seed),
            next_seq: 0,
            next_frame: Instant::ZERO,
            waiting: Bytes::ZERO,
            queue: VecDeque::new(),
            served: None,
            overtaken: Vec::new(),
            flying: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// Stops the sender's process for a time, as SIGSTOP does; reports wait in its socket.
    pub(crate) fn stop_sender(&mut self, time: Duration) {
        self.stopped_until = self.now + time;
    }

    /// Runs for a time, and tells what happened in it.
    pub(crate) fn run(&mut self, time: Duration) -> Measured {
        let end = self.now + time;
        self.measured = Measured::default();
        let mut x_time = 0.0;
        loop {
            self.step();
            let next = self.next_event().max(self.now).min(end);
            x_time += self.sender.allowed_rate().bytes_per_sec() * (next - self.now).as_secs_f64();
            if next == end {
                break;
            }
            self.now = next;
        }
        self.now = end;
        self.measured.mean_x = x_time / time.as_secs_f64();
        self.measured
    }

    /// Runs until `done`, and tells how long that took; panics after `limit`.
    pub(crate) fn run_until(&mut self, limit: Duration, done: impl Fn(&Self) -> bool) -> Duration {
        let start = self.now;
        while !done(self) {
            assert!(
                self.now - start < limit,
                "not within {limit:?}: X {}",
                self.sender.allowed_rate()
            );
            self.run(Duration::from_millis(1));
        }
        self.now - start
    }

    /// Reports that reached the sender.
    pub(crate) fn reports(&self) -> usize {
        let is_report = |(_, trace): &&(Instant, Trace)| matches!(trace, Trace::Feedback { .. });
        self.traces.iter().filter(is_report).count()
    }

    fn running(&self) -> bool {
        self.now >= self.stopped_until
    }

    /// Everything that is due now.
    fn step(&mut self) {
        self.serve();
        while let Some((at, packet)) = arrived(&mut self.flying, self.now) {
            self.receiver.handle_data(&packet.arrival(at));
            self.note_arrival();
            self.report();
        }
        self.report();
        if self.running() {
            self.run_sender();
        }
    }

    fn note_arrival(&mut self) {
        let p = self.receiver.loss_event_rate().get();
        let measured = &mut self.measured;
        measured.max_p = measured.max_p.max(p);
        measured.arrived += 1;
        let share = 1.0 / measured.arrived as f64;
        measured.interval += (1.0 / p - measured.interval) * share;
        let truth = 1.0 / self.oracle.loss_event_rate().get();
        measured.true_interval += (truth - measured.true_interval) * share;
    }

    fn report(&mut self) {
        if let Some(report) = self.receiver.poll_report(self.now)
            && !self.chance(self.conditions.feedback_loss)
        {
            self.reports
                .push_back((self.now + self.conditions.delay, report));
        }
    }

    fn run_sender(&mut self) {
        while let Some((at, report)) = arrived(&mut self.reports, self.now) {
            let age = (at.as_micros() as u32).wrapping_sub(report.timestamp);
            let trace = self.sender.handle_feedback(
                at,
                &Feedback {
                    sent_at: at - Duration::from_micros(u64::from(age)),
                    delay: report.delay,
                    receive_rate: report.receive_rate,
                    loss_event_rate: report.loss_event_rate,
                },
            );
            self.traces.push((self.now, trace));
        }
        if let Some(trace) = self.sender.handle_timeout(self.now) {
            self.traces.push((self.now, trace));
        }
        if let Source::Frames(interval, share) = self.source
            && self.next_frame <= self.now
        {
            // A frame that cannot be begun is not encoded, as in a sender that keeps its delay short.
            if self.waiting == Bytes::ZERO {
                let frame = self.sender.allowed_rate() * share * interval;
                self.waiting = frame.max(Bytes::new(self.smallest_frame));
            }
            self.next_frame = self.now + interval;
        }
        while self.has_data() && self.sender.next_departure(self.now) <= self.now {
            self.send();
        }
    }

    fn has_data(&self) -> bool {
        match self.source {
            Source::Greedy => true,
            Source::Backlogged => self.queue.len() < 2,
            Source::Frames(..) => self.waiting > Bytes::ZERO,
            Source::Silent => false,
        }
    }

    fn send(&mut self) {
        let size = match self.source {
            Source::Frames(..) => self.waiting.min(self.packet),
            Source::Greedy | Source::Backlogged | Source::Silent => self.packet,
        };
        self.waiting -= size;
        let packet = Packet {
            seq: self.next_seq,
            timestamp: self.now.as_micros() as u32,
            rtt: self.sender.rtt(),
            size,
        };
        self.next_seq += 1;
        self.sender.handle_sent(self.now, size);
        self.measured.sent += 1;
        self.measured.sent_bytes += size.get();
        let queued: Bytes = self.queue.iter().map(|packet| packet.size).sum();
        let delay = queued / self.conditions.rate;
        self.measured.max_queue = self.measured.max_queue.max(delay);
        // Room for one packet there always is, or a slow link would pass nothing.
        let full = delay > self.conditions.queue && !self.queue.is_empty();
        let unlucky = match self.conditions.loss {
            Loss::None => false,
            Loss::Every(count) => self.next_seq.is_multiple_of(count),
            Loss::Bernoulli(probability) => self.chance(probability),
        };
        if full || unlucky {
            self.measured.lost += 1;
        } else {
            self.queue.push_back(packet);
            self.serve();
        }
    }

    /// The bottleneck: the packet at the front leaves when its bytes are out.
    fn serve(&mut self) {
        while let Some(packet) = self.queue.front().copied() {
            let done = *self
                .served
                .get_or_insert(self.now + packet.size / self.conditions.rate);
            if done > self.now {
                return;
            }
            self.queue.pop_front();
            self.served = None;
            let arrival = self.now + self.conditions.delay;
            self.oracle.handle_data(&packet.arrival(arrival));
            self.oracle.poll_report(arrival);
            if self.conditions.overtaken > 0.0 && self.chance(self.conditions.overtaken) {
                let places = 1 + (self.random.next_u64() % 10);
                self.overtaken.push((places, packet));
            } else {
                self.overtake(arrival, packet);
            }
        }
    }

    /// A packet flies on, and takes with it those that have been overtaken often enough.
    fn overtake(&mut self, arrival: Instant, packet: Packet) {
        self.flying.push_back((arrival, packet));
        for (places, _) in &mut self.overtaken {
            *places -= 1;
        }
        let flying = &mut self.flying;
        self.overtaken.retain(|(places, late)| {
            if *places == 0 {
                flying.push_back((arrival, *late));
            }
            *places > 0
        });
    }

    fn next_event(&self) -> Instant {
        let sender = if self.running() {
            [
                self.reports.front().map(|(at, _)| *at),
                Some(self.sender.poll_timeout()),
                self.has_data()
                    .then(|| self.sender.next_departure(self.now)),
                matches!(self.source, Source::Frames(..)).then_some(self.next_frame),
            ]
        } else {
            [Some(self.stopped_until), None, None, None]
        };
        let network = [
            self.served,
            self.flying.front().map(|(at, _)| *at),
            self.receiver.poll_timeout(),
        ];
        let events = sender.into_iter().chain(network).flatten();
        events.min().unwrap_or(Instant::MAX)
    }

    /// True with a probability.
    fn chance(&mut self, probability: f64) -> bool {
        ((self.random.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// The next of what travels, if it is there.
fn arrived<T>(travelling: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<(Instant, T)> {
    let due = travelling.front().is_some_and(|(at, _)| *at <= now);
    if due { travelling.pop_front() } else { None }
}
