//! A running link takes new settings and gives its present ones.

use super::{Link, nanos};
use crate::impairment::Impairments;
use crate::loss::Loss;
use crate::packet::Packet;
use crate::queue::{Discipline, QueueLimit};
use crate::trace_file::DeliveryTrace;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

impl<P: Packet> Link<P> {
    /// Changes the rate, also for the rest of the packet on the wire.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        let at = self.lay_open(now);
        self.wire.set_rate(at, rate);
        self.rate_changed(at);
    }

    /// Lets a delivery trace that starts at `now` set the pace, until [`Link::set_rate`] does.
    ///
    /// A queue limited in time is measured at the mean rate of the trace.
    pub fn set_trace(&mut self, now: Instant, trace: DeliveryTrace) {
        let at = self.lay_open(now);
        self.wire.set_trace(at, trace);
        self.rate_changed(at);
    }

    /// Changes the propagation delay of the packets that are not yet through the wire.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.lay_open(now);
        self.delay_nanos = nanos(delay);
        self.on_wire_changed();
    }

    /// Changes the limit of the queue; what already waits stays.
    pub fn set_queue(&mut self, now: Instant, limit: QueueLimit) {
        self.settle(now);
        self.queue.set_limit(limit);
    }

    /// Changes the discipline of the queue. The new one begins as in an empty queue and takes over what waits: nothing
    /// is dropped by the change itself.
    pub fn set_discipline(&mut self, now: Instant, discipline: Discipline) {
        self.lay_open(now);
        self.queue.set_discipline(discipline);
    }

    /// Changes the loss of the packets to come.
    pub fn set_loss(&mut self, now: Instant, loss: Loss) {
        self.lay_open(now);
        let seed = self.queue.seed();
        self.impairments
            .get_or_insert_with(|| Box::new(Impairments::none(seed)))
            .loss
            .set_model(loss);
    }

    /// Loses the packets of these numbers, counted from zero from now on, besides what the model
    /// loses.
    pub fn lose(&mut self, now: Instant, numbers: impl IntoIterator<Item = u64>) {
        self.lay_open(now);
        let seed = self.queue.seed();
        self.impairments
            .get_or_insert_with(|| Box::new(Impairments::none(seed)))
            .set_script(numbers.into_iter().collect());
    }

    /// The rate, or the mean rate of the trace that the link follows.
    pub fn rate(&self) -> Rate {
        self.wire.rate()
    }

    /// The propagation delay, one way, without jitter.
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_nanos)
    }

    /// The limit of the queue.
    pub fn queue_limit(&self) -> QueueLimit {
        self.queue.limit()
    }

    /// The discipline of the queue.
    pub fn discipline(&self) -> Discipline {
        self.queue.discipline()
    }

    /// The loss model.
    pub fn loss(&self) -> Loss {
        let impairments = self.impairments.as_ref();
        impairments.map_or(Loss::None, |impairments| impairments.loss.model())
    }

    /// What waits for the wire at `now`, without the packet on it.
    ///
    /// Exact if the link has been polled at `now`.
    pub fn queue_bytes(&self, now: Instant) -> Bytes {
        if self.wire.is_ahead() {
            return self.waiting_ahead(now);
        }
        self.queue.bytes()
    }

    /// How long a packet that arrived at `now` would wait until its first bit leaves;
    /// [`Duration::MAX`] at rate zero behind another packet.
    ///
    /// Exact if the link has been polled at `now`.
    pub fn queue_delay(&self, now: Instant) -> Duration {
        if self.wire.is_ahead() {
            return self.wire.through_at().saturating_since(now);
        }
        self.wire.drain_time(now, self.queue.bytes())
    }
}
