//! Many flows on one socket: which one a datagram is for, which one is due, and bursts in common.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_rtp::endpoint::{Datagram, Reason, Transmit};
use evenkeel_rtp::packet::rtp::is_rtcp;
use evenkeel_rtp::session::{Event, EventKind};
use tfrc::time::{Duration, Instant};

use crate::flow::{Flow, FlowState, Party};
use crate::terms::Terms;

/// Names a flow, on both sides: a test in the upper half, the flow's number within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowName {
    pub(crate) test: u16,
    pub(crate) flow: u16,
}

impl FlowName {
    /// The synchronisation source of that end.
    fn ssrc(self, end: End) -> u32 {
        u32::from(self.test) << 16 | u32::from(self.flow) << 1 | u32::from(end == End::Server)
    }

    /// The flow that a datagram of RTP or RTCP is for: the sender of either names itself.
    fn of(datagram: &[u8]) -> Option<Self> {
        let at = if is_rtcp(datagram) { 4 } else { 8 };
        let ssrc = u32::from_be_bytes(*datagram.get(at..)?.first_chunk()?);
        Some(Self {
            test: (ssrc >> 16) as u16,
            flow: (ssrc as u16) >> 1,
        })
    }
}

/// An end of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// Something that a flow's rate control did, or told its peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEvent {
    /// The flow's number in its test.
    pub flow: u16,
    /// When and what.
    pub event: Event,
    /// The flow after it.
    pub state: FlowState,
}

/// Events that wait for a reader: a second of a flow whose round trip is 0.1 ms.
const MAX_EVENTS: usize = 16_384;

/// The flows of one socket.
///
/// Departures are gathered: between two bursts lies most of what a burst may hold, and a host that wakes up
/// late by the rest still sends all that is due.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: BTreeMap<FlowName, Entry>,
    /// The timer of every flow that has one.
    timers: BTreeSet<(Instant, FlowName)>,
    ready: VecDeque<FlowName>,
    gather: Duration,
    /// The last burst.
    burst: Burst,
    /// It is under way.
    is_bursting: bool,
    events: Option<VecDeque<FlowEvent>>,
    events_lost: u64,
}

/// Packets that leave together.
#[derive(Clone, Copy, Debug)]
struct Burst {
    began: Instant,
    /// The time from there to the next, as far as the flows that leave with it or wait for the next can wait.
    gather: Duration,
}

impl Burst {
    /// No departure before this but in the burst. Counted from its beginning: who needs as long as that to send
    /// a burst sends on and on.
    fn gate(&self) -> Instant {
        self.began + self.gather
    }

    /// The next begins no later than `flow` can wait.
    fn heed(&mut self, flow: &Flow) {
        self.gather = self.gather.min(flow.patience());
    }
}

#[derive(Debug)]
struct Entry {
    flow: Flow,
    /// Its entry among the timers.
    timer: Option<(Instant, Reason)>,
    is_ready: bool,
}

impl Flows {
    /// No flows yet. Their events are kept if they are `traced`.
    pub(crate) fn new(traced: bool) -> Self {
        Self {
            flows: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            gather: Duration::ZERO,
            burst: Burst {
                began: Instant::ZERO,
                gather: Duration::ZERO,
            },
            is_bursting: false,
            events: traced.then(VecDeque::new),
            events_lost: 0,
        }
    }

    /// The least time between two bursts, from now on.
    pub(crate) fn set_gather(&mut self, gather: Duration) {
        self.gather = gather;
    }

    /// Begins our end of all flows of a test: each from its own instant on, or with the first packet of its
    /// peer.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        (test, end): (u16, End),
        terms: &Terms,
        party: Party,
    ) {
        let (client_sends, server_sends) = (
            terms.direction.client_sends(),
            terms.direction.server_sends(),
        );
        let (sends, receives) = match end {
            End::Client => (client_sends, server_sends),
            End::Server => (server_sends, client_sends),
        };
        for flow in 0..terms.flows {
            let name = FlowName { test, flow };
            let start = sends.then(|| terms.start_of(now, flow));
            let flow = Flow::new(now, terms, name.ssrc(end), party, start, receives);
            self.insert(name, flow);
        }
    }

    /// Adds a flow, which is looked at at once.
    fn insert(&mut self, name: FlowName, flow: Flow) {
        let entry = Entry {
            flow,
            timer: None,
            is_ready: true,
        };
        self.flows.insert(name, entry);
        self.ready.push_back(name);
    }

    /// Forgets a flow.
    pub(crate) fn remove(&mut self, name: FlowName) {
        if let Some(entry) = self.flows.remove(&name)
            && let Some((at, _)) = entry.timer
        {
            self.timers.remove(&(at, name));
        }
    }

    pub(crate) fn get_mut(&mut self, name: FlowName) -> Option<&mut Flow> {
        self.flows.get_mut(&name).map(|entry| &mut entry.flow)
    }

    pub(crate) fn state(&self, name: FlowName) -> Option<FlowState> {
        self.flows.get(&name).map(|entry| entry.flow.state())
    }

    /// Gives a datagram to its flow. The test that it belongs to, if the flow took it.
    pub(crate) fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) -> Option<u16> {
        let name = FlowName::of(datagram.payload)?;
        let entry = self.flows.get_mut(&name)?;
        if !entry.flow.handle_datagram(now, datagram) {
            return None;
        }
        if !entry.is_ready {
            entry.is_ready = true;
            self.ready.push_back(name);
        }
        self.collect_events(name);
        Some(name.test)
    }

    /// Looks at the flows whose time has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, name)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let Some(entry) = self.flows.get_mut(&name) else {
                continue;
            };
            entry.timer = None;
            entry.flow.handle_timeout(now);
            if !entry.is_ready {
                entry.is_ready = true;
                self.ready.push_back(name);
            }
            self.collect_events(name);
        }
    }

    /// The next datagram of any flow.
    pub(crate) fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        while let Some(&name) = self.ready.front() {
            if let Some(entry) = self.flows.get_mut(&name) {
                if let Some(transmit) = entry.flow.poll_control(now, buf) {
                    self.collect_events(name);
                    return Some(transmit);
                }
                if !self.is_bursting && now < self.burst.gate() {
                    // The burst may have been of longer round trips alone.
                    self.burst.heed(&entry.flow);
                }
                if (self.is_bursting || now >= self.burst.gate())
                    && let Some(transmit) = entry.flow.poll_media(now, buf)
                {
                    if !self.is_bursting {
                        self.is_bursting = true;
                        self.burst = Burst {
                            began: now,
                            gather: self.gather,
                        };
                    }
                    return Some(transmit);
                }
            }
            self.ready.pop_front();
            self.schedule(name);
        }
        self.is_bursting = false;
        None
    }

    /// When the first of the flows is due, and why.
    pub(crate) fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        if !self.ready.is_empty() {
            // Whoever heard something may have to answer.
            return Some((Instant::ZERO, Reason::Feedback));
        }
        let (_, name) = self.timers.first()?;
        self.flows.get(name)?.timer
    }

    /// The oldest event that was not taken yet.
    pub(crate) fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.as_mut()?.pop_front()
    }

    /// Events that nobody took in time.
    pub(crate) fn events_lost(&self) -> u64 {
        self.events_lost
    }

    fn schedule(&mut self, name: FlowName) {
        let Some(entry) = self.flows.get_mut(&name) else {
            return;
        };
        entry.is_ready = false;
        if self.is_bursting {
            self.burst.heed(&entry.flow);
        }
        let gate = self.burst.gate();
        let departure = entry.flow.next_departure();
        let departure = departure.map(|at| (at.max(gate), Reason::Departure));
        let next = [departure, entry.flow.poll_timeout()];
        let timer = next.into_iter().flatten().min_by_key(|&(at, _)| at);
        let old = std::mem::replace(&mut entry.timer, timer);
        if old == timer {
            return;
        }
        if let Some((at, _)) = old {
            self.timers.remove(&(at, name));
        }
        if let Some((at, _)) = timer {
            self.timers.insert((at, name));
        }
    }

    fn collect_events(&mut self, name: FlowName) {
        let Some(entry) = self.flows.get_mut(&name) else {
            return;
        };
        while let Some(event) = entry.flow.poll_event() {
            let (
                Some(events),
                EventKind::RateControl(_)
                | EventKind::ReportSent { .. }
                | EventKind::ArrivalsReported { .. },
            ) = (&mut self.events, &event.kind)
            else {
                continue;
            };
            if events.len() == MAX_EVENTS {
                events.pop_front();
                self.events_lost += 1;
            }
            events.push_back(FlowEvent {
                flow: name.flow,
                event,
                state: entry.flow.state(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
