//! Our implementation with a fault, seen from outside: it falsifies what it sends, or what it takes in.

use std::collections::BTreeMap;

use evenkeel_conform::packet::{self, Data, Packet, TfrcReport};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

/// What happens to a datagram on its way into or out of the implementation: `None` loses it, a time
/// delays it, outwards only.
pub(crate) type Falsify = Box<dyn FnMut(&mut Packet) -> Option<Duration>>;

/// Leaves everything as it is.
pub(crate) fn honest() -> Falsify {
    Box::new(|_| Some(Duration::ZERO))
}

/// Changes each data packet.
pub(crate) fn each_data(mut change: impl FnMut(&mut Data) + 'static) -> Falsify {
    Box::new(move |packet| {
        if let Packet::Data(data) = packet {
            change(data);
        }
        Some(Duration::ZERO)
    })
}

/// Changes each report.
pub(crate) fn each_report(mut change: impl FnMut(&mut TfrcReport) + 'static) -> Falsify {
    Box::new(move |packet| {
        if let Packet::Report(report) = packet {
            change(report);
        }
        Some(Duration::ZERO)
    })
}

/// Loses all.
pub(crate) fn nothing() -> Falsify {
    Box::new(|_| None)
}

/// An endpoint with a fault.
pub(crate) struct Mutant {
    inner: Box<dyn Endpoint>,
    incoming: Falsify,
    outgoing: Falsify,
    percent: u64,
    repeats_after: Option<Duration>,
    /// The last report, and when it left.
    last: Option<(Instant, Transmit, Vec<u8>)>,
    waiting: BTreeMap<(Instant, u64), (Transmit, Vec<u8>)>,
    count: u64,
}

impl Mutant {
    pub(crate) fn new(inner: impl Endpoint + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            incoming: honest(),
            outgoing: honest(),
            percent: 100,
            repeats_after: None,
            last: None,
            waiting: BTreeMap::new(),
            count: 0,
        }
    }

    /// Falsifies what it takes in.
    pub(crate) fn incoming(mut self, falsify: Falsify) -> Self {
        self.incoming = falsify;
        self
    }

    /// Falsifies what it sends.
    pub(crate) fn outgoing(mut self, falsify: Falsify) -> Self {
        self.outgoing = falsify;
        self
    }

    /// Runs its clock at this share of the right pace.
    pub(crate) fn percent_of_pace(mut self, percent: u64) -> Self {
        self.percent = percent;
        self
    }

    /// Sends its last report again whenever it has sent none for this long.
    pub(crate) fn repeats_after(mut self, silence: Duration) -> Self {
        self.repeats_after = Some(silence);
        self
    }

    fn theirs(&self, ours: Instant) -> Instant {
        Instant::from_nanos(ours.as_nanos() * self.percent / 100)
    }

    fn ours(&self, theirs: Instant) -> Instant {
        // Never early: it would be asked again and again.
        Instant::from_nanos((theirs.as_nanos() * 100).div_ceil(self.percent))
    }

    fn repetition(&self) -> Option<Instant> {
        Some(self.last.as_ref()?.0 + self.repeats_after?)
    }
}

impl Endpoint for Mutant {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        let mut packet = packet::read(datagram.payload, datagram.ecn);
        let mut bytes = datagram.payload.to_vec();
        if (self.incoming)(&mut packet).is_some() {
            packet::write(&packet, &mut bytes);
            let ecn = match packet {
                Packet::Data(data) => data.ecn,
                Packet::Report(_) | Packet::Arrivals | Packet::Other => datagram.ecn,
            };
            let now = self.theirs(now);
            let (arrival, payload) = (now, &bytes[..]);
            self.inner.handle_datagram(
                now,
                Datagram {
                    arrival,
                    payload,
                    ecn,
                    ..datagram
                },
            );
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(self.theirs(now));
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let theirs = self.theirs(now);
        while let Some(transmit) = self.inner.poll_transmit(theirs, buf) {
            let mut bytes = buf[..transmit.len].to_vec();
            let mut packet = packet::read(&bytes, Ecn::NotEct);
            if let Some(delay) = (self.outgoing)(&mut packet) {
                packet::write(&packet, &mut bytes);
                self.count += 1;
                self.waiting
                    .insert((now + delay, self.count), (transmit, bytes));
            }
        }
        if self.repetition().is_some_and(|at| at <= now)
            && let Some((_, transmit, bytes)) = self.last.clone()
        {
            self.waiting.insert((now, 0), (transmit, bytes));
        }
        let next = self
            .waiting
            .first_entry()
            .filter(|next| next.key().0 <= now)?;
        let (transmit, bytes) = next.remove();
        buf[..bytes.len()].copy_from_slice(&bytes);
        if let Packet::Report(_) = packet::read(&bytes, Ecn::NotEct) {
            self.last = Some((now, transmit, bytes));
        }
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let inner = self.inner.poll_timeout().map(|(at, _)| self.ours(at));
        let waiting = self.waiting.first_key_value().map(|((at, _), _)| *at);
        let next = [inner, waiting, self.repetition()]
            .into_iter()
            .flatten()
            .min()?;
        Some((next, Reason::Departure))
    }
}
