//! The wire: how long a packet takes at a rate that may change while it is being sent.

use crate::trace_file::DeliveryTrace;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// Work is counted in 10^-12 bits, so that a rate in thousandths of a bit per second is a whole
/// number of units per nanosecond and no division ever rounds. 64 bits hold a packet of 2.3 MB, far
/// above any datagram; a larger one counts as that.
const UNITS_PER_BYTE: u64 = 8_000_000_000_000;

const UNITS_PER_OPPORTUNITY: u64 = DeliveryTrace::OPPORTUNITY.get() * UNITS_PER_BYTE;

/// More units than any packet has: the wire is idle.
const IDLE: u64 = u64::MAX;

/// More units than any packet has too: the job is all that was ever [scheduled](Wire::schedule).
const ALL_SCHEDULED: u64 = IDLE - 1;

/// Sends one packet at a time, in exact integer arithmetic.
///
/// A packet is through at the first whole nanosecond at which its last bit is; what the wire could
/// have sent in the rest of that nanosecond is credited to a packet that follows at once, so the
/// mean rate of a busy wire is exact however long it runs.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    service: Service,
    /// The packet on the wire, or the last that was.
    job: Job,
}

#[derive(Clone, Debug)]
enum Service {
    Stalled,
    /// Units per nanosecond.
    Constant(u64),
    Unlimited,
    Trace(Box<Following>),
}

/// A trace that began at `start`.
#[derive(Clone, Debug)]
struct Following {
    trace: DeliveryTrace,
    start: Instant,
    /// The first opportunity that no packet has used.
    next: u64,
}

/// The packet on the wire: `remaining` units of it at the instant `since`.
#[derive(Clone, Copy, Debug)]
struct Job {
    since: Instant,
    /// [`IDLE`] when the packet has left, or [`ALL_SCHEDULED`]: a flag of its own would push a link over three cache
    /// lines.
    remaining: u64,
    /// When it is through at the present rate; [`Instant::MAX`] for never.
    end: Instant,
    /// The units left over by then: in its last nanosecond (at a constant rate) or in its last delivery
    /// opportunity (of a trace).
    spare: u64,
}

impl Wire {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            service: Service::constant(rate),
            job: Job {
                since: Instant::ZERO,
                remaining: IDLE,
                end: Instant::ZERO,
                spare: 0,
            },
        }
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.job.remaining == IDLE
    }

    /// Puts a packet on the idle wire at `at`, or when the last one left if that is later. Says when.
    // Called, it would cost a transmission a twentieth more.
    #[inline(always)]
    pub(crate) fn begin(&mut self, at: Instant, size: Bytes) -> Instant {
        let last_end = self.job.end;
        let since = at.max(last_end);
        let spare = if since == last_end { self.job.spare } else { 0 };
        let work = work(size);
        self.job = self.service.job(since, work.saturating_sub(spare));
        // A packet that the spare units cover whole leaves the rest of them to the next.
        if spare >= work {
            self.job.spare = spare - work;
        }
        since
    }

    #[inline]
    fn has_packet(&self) -> bool {
        self.job.remaining < ALL_SCHEDULED
    }

    /// When the packet on the wire will be through at the present rate, if ever.
    #[inline]
    pub(crate) fn end(&self) -> Option<Instant> {
        let end = self.job.end;
        (self.has_packet() && end < Instant::MAX).then_some(end)
    }

    /// True if the packet on the wire is through by `now`.
    #[inline]
    pub(crate) fn is_through(&self, now: Instant) -> bool {
        self.has_packet() && self.job.end <= now && self.job.end < Instant::MAX
    }

    /// Takes the packet off the wire, if it is through by `now`, and says when it was.
    #[inline]
    pub(crate) fn complete(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_through(now) {
            return None;
        }
        if let Service::Trace(following) = &mut self.service {
            following.use_up(self.job);
        }
        self.job.remaining = IDLE;
        Some(self.job.end)
    }

    /// True if packets are scheduled instead of begun.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.job.remaining == ALL_SCHEDULED
    }

    /// Lets packets be scheduled from now on, if the wire is idle and has a constant rate.
    pub(crate) fn depart_early(&mut self) {
        if self.is_idle() && matches!(self.service, Service::Constant(_)) {
            self.job.remaining = ALL_SCHEDULED;
        }
    }

    /// Puts a packet behind all that was scheduled before, or on the wire at `at` if that is later. Says when it
    /// is through.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, at: Instant, size: Bytes) -> Instant {
        if let Service::Constant(rate) = self.service {
            let Job { end, spare, .. } = self.job;
            let (since, spare) = if at <= end { (end, spare) } else { (at, 0) };
            let work = work(size);
            let nanos = work.saturating_sub(spare).div_ceil(rate);
            self.job.end = later(since, nanos);
            // Less than `rate`, or than `spare` was, whatever the sum wraps to.
            self.job.spare = nanos
                .wrapping_mul(rate)
                .wrapping_add(spare)
                .wrapping_sub(work);
        }
        self.job.end
    }

    /// When all that was scheduled is through.
    #[inline]
    pub(crate) fn through_at(&self) -> Instant {
        self.job.end
    }

    /// Takes the packet back that was scheduled last, behind another one that is through at `end`.
    pub(crate) fn unschedule(&mut self, size: Bytes, end: Instant) {
        if let Service::Constant(rate) = self.service {
            let sent = ((self.job.end - end).as_nanos() as u64).wrapping_mul(rate);
            // Less than `rate`, whatever the sum wraps to.
            let spare = work(size).wrapping_add(self.job.spare).wrapping_sub(sent);
            self.job = Job {
                end,
                spare,
                ..self.job
            };
        }
    }

    /// Lets packets be begun again: at `at` none but the last that was scheduled is still on the wire.
    pub(crate) fn begin_again(&mut self, at: Instant) {
        self.job.remaining = match self.service {
            Service::Constant(rate) if self.job.end > at => {
                self.job.since = at;
                let left = ((self.job.end - at).as_nanos() as u64).wrapping_mul(rate);
                // Of one packet, which 64 bits hold.
                left.wrapping_sub(self.job.spare).min(ALL_SCHEDULED - 1)
            }
            _ => IDLE,
        };
    }

    /// Changes the rate for the bits that have not left at `now`.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.change(now, Service::constant(rate));
    }

    /// Follows a trace whose time zero is `now`.
    pub(crate) fn set_trace(&mut self, now: Instant, trace: DeliveryTrace) {
        let (start, next) = (now, 0);
        self.change(
            now,
            Service::Trace(Box::new(Following { trace, start, next })),
        );
    }

    fn change(&mut self, now: Instant, service: Service) {
        if self.is_idle() {
            self.job.spare = 0;
        } else {
            let job = &mut self.job;
            if job.since < now {
                job.remaining -= self.service.sent(*job, now);
                job.since = now;
            }
            *job = service.job(job.since, job.remaining);
        }
        self.service = service;
    }

    /// The rate, or the mean rate of the trace.
    pub(crate) fn rate(&self) -> Rate {
        match &self.service {
            Service::Stalled => Rate::ZERO,
            Service::Constant(rate) => Rate::from_bits_per_sec(*rate as f64 / 1e3),
            Service::Unlimited => Rate::INFINITY,
            Service::Trace(following) => following.trace.mean_rate(),
        }
    }

    /// How long until the packet on the wire and `backlog` behind it are through;
    /// [`Duration::MAX`] if never.
    pub(crate) fn drain_time(&self, now: Instant, backlog: Bytes) -> Duration {
        let (since, remaining) = match self.is_idle() {
            true => (now, 0),
            false => (self.job.since, self.job.remaining),
        };
        let work = u128::from(remaining) + u128::from(backlog.get()) * u128::from(UNITS_PER_BYTE);
        let end = match &self.service {
            _ if work == 0 => Some(since),
            Service::Stalled => None,
            Service::Unlimited => Some(since),
            Service::Constant(rate) => u64::try_from(work.div_ceil(u128::from(*rate)))
                .ok()
                .map(|nanos| since + Duration::from_nanos(nanos)),
            Service::Trace(following) => {
                u64::try_from(work.div_ceil(u128::from(UNITS_PER_OPPORTUNITY)))
                    .ok()
                    .and_then(|needed| following.first(since).checked_add(needed))
                    .map(|next| following.at(next - 1))
            }
        };
        end.map_or(Duration::MAX, |end| end.saturating_since(now))
    }
}

impl Service {
    fn constant(rate: Rate) -> Self {
        if !rate.is_finite() {
            return Self::Unlimited;
        }
        // The cast saturates at 18 Pb/s.
        match (rate.bits_per_sec() * 1e3).round() as u64 {
            0 => Self::Stalled,
            units => Self::Constant(units),
        }
    }

    /// The packet of which `remaining` is left at `since`.
    #[inline]
    fn job(&self, since: Instant, remaining: u64) -> Job {
        let (end, spare) = match self {
            _ if remaining == 0 => (since, 0),
            Self::Stalled => (Instant::MAX, 0),
            Self::Unlimited => (since, 0),
            Self::Constant(rate) => {
                let nanos = remaining.div_ceil(*rate);
                // Less than `rate`, whatever the product wraps to.
                let spare = nanos.wrapping_mul(*rate).wrapping_sub(remaining);
                (later(since, nanos), spare)
            }
            Self::Trace(following) => {
                let needed = remaining.div_ceil(UNITS_PER_OPPORTUNITY);
                let spare = (needed * UNITS_PER_OPPORTUNITY).wrapping_sub(remaining);
                let last = following.first(since).saturating_add(needed - 1);
                (following.at(last), spare)
            }
        };
        Job {
            since,
            remaining,
            end,
            spare,
        }
    }

    /// How many units of `job` have gone before `now`.
    fn sent(&self, job: Job, now: Instant) -> u64 {
        let sent = match self {
            Self::Stalled => 0,
            Self::Unlimited => u128::MAX,
            Self::Constant(rate) => u128::from(*rate) * (now - job.since).as_nanos(),
            Self::Trace(following) => {
                let last = following.trace.opportunities_before(now - following.start);
                let used = last.saturating_sub(following.first(job.since));
                u128::from(used) * u128::from(UNITS_PER_OPPORTUNITY)
            }
        };
        u64::try_from(sent).map_or(job.remaining, |sent| sent.min(job.remaining))
    }
}

impl Following {
    /// The first opportunity that a packet which begins at `since` may use.
    fn first(&self, since: Instant) -> u64 {
        self.trace
            .opportunities_before(since - self.start)
            .max(self.next)
    }

    fn at(&self, opportunity: u64) -> Instant {
        self.start + self.trace.opportunity(opportunity)
    }

    fn use_up(&mut self, job: Job) {
        let needed = job.remaining.div_ceil(UNITS_PER_OPPORTUNITY);
        if needed > 0 {
            self.next = self.first(job.since).saturating_add(needed);
        }
    }
}

/// A sum that does not go through the seconds of a [`Duration`].
#[inline]
pub(crate) fn later(at: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_add(nanos))
}

fn work(size: Bytes) -> u64 {
    size.get()
        .saturating_mul(UNITS_PER_BYTE)
        .min(ALL_SCHEDULED - 1)
}

#[cfg(test)]
mod tests;
