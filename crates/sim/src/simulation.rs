//! The engine: it hands packets from agents to links, from link to link and to agents, in time.

mod parcel;
mod prefetch_window;
mod stop;

use crate::agent::{Agent, Packet};
use crate::event::EventQueue;
use crate::topology::{LinkId, Path, Topology};
use evenkeel_link::{Change, DeliveryTrace, Event, Link, Loss, Random};
use evenkeel_prefetch::prefetch;
use parcel::Parcel;
pub use parcel::Travelling;
use stop::{Packed, Stop};
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A flow of a [`Simulation`]: two agents and the path each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(u32);

impl FlowId {
    /// Flows count from zero in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    const fn sender(self) -> u32 {
        2 * self.0
    }

    const fn receiver(self) -> u32 {
        2 * self.0 + 1
    }
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first agent of [`Simulation::add_flow`].
    Sender,
    /// The second.
    Receiver,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The time has come.
    Reached,
    /// Nothing is left that could happen: all flows have ended, or what they wait for cannot come.
    NothingLeft {
        /// When the last thing happened.
        at: Instant,
    },
    /// An agent asked to be woken a million times without letting time pass.
    TimeStandsStill {
        /// When.
        at: Instant,
        /// Whose agent.
        flow: FlowId,
    },
}

/// Looks on while a simulation runs: where the packets go, and when. `()` looks away, at no cost.
pub trait Observer<A: Agent> {
    /// An agent sent a packet.
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<A::Body>) {
        let _ = (now, flow, end, packet);
    }

    /// A packet reached an agent, which has not seen it yet.
    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<A::Body>) {
        let _ = (now, flow, end, packet);
    }
}

impl<A: Agent> Observer<A> for () {}

// Aligned, so that it lies in one cache line.
#[derive(Debug)]
#[repr(align(32))]
struct Station<A> {
    agent: A,
    /// Where its path begins in [`Simulation::stops`].
    path: u32,
}

/// A network with flows in it, and the present time.
///
/// A link needs one pending event, whatever it holds, and so does an agent: memory is bounded by the
/// packets under way. A timer that moves further off is left in the queue and asked again when it
/// fires, so a retransmission timer that every acknowledgement moves costs nothing.
#[derive(Debug)]
pub struct Simulation<A: Agent> {
    now: Instant,
    events: EventQueue<Packed>,
    links: Vec<Link<Travelling<A::Body>>>,
    stations: Vec<Station<A>>,
    /// When the event queue holds a wake-up for each link: an event of another time is out of date. Close
    /// together, so that this costs no look at the link.
    link_wakes: Vec<Instant>,
    /// The same for each agent.
    agent_wakes: Vec<Instant>,
    /// All paths, one after the other, each ending at an agent.
    stops: Vec<Packed>,
    /// The latest to be emptied is the next to be filled, as its memory is nearest.
    empty: Vec<Box<Parcel<A::Body>>>,
    transmissions: u64,
    /// Agents woken since time last passed.
    standing_still: u32,
    /// What the events up to this time need has been prefetched, or need not be.
    prefetched: Instant,
}

impl<A: Agent> Simulation<A> {
    /// A network at time zero. `seed` fixes all that its links draw, a stream each.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        let links = topology.configs().enumerate().map(|(index, config)| {
            let seed = Random::new(seed, index as u64).next_u64();
            let mut link = Link::new(*config, seed);
            link.depart_early();
            link
        });
        Self {
            now: Instant::ZERO,
            events: EventQueue::new(),
            links: links.collect(),
            stations: Vec::new(),
            link_wakes: vec![Instant::MAX; topology.link_count()],
            agent_wakes: Vec::new(),
            stops: Vec::new(),
            empty: Vec::new(),
            transmissions: 0,
            standing_still: 0,
            prefetched: prefetch_window::begin(topology),
        }
    }

    /// Adds a flow: `sender` at the beginning of `forward`, `receiver` at its end and at the
    /// beginning of `reverse`. Both paths must be of the topology of this simulation.
    pub fn add_flow(&mut self, forward: &Path, reverse: &Path, sender: A, receiver: A) -> FlowId {
        let flow = FlowId(self.stations.len() as u32 / 2);
        for (agent, path, other) in [
            (sender, forward, flow.receiver()),
            (receiver, reverse, flow.sender()),
        ] {
            let begin = self.stops.len() as u32;
            let links = path.links().iter().map(|link| Stop::Link(link.0));
            let stops = links.chain([Stop::Agent(other)]);
            self.stops.extend(stops.map(Packed::from));
            self.stations.push(Station { agent, path: begin });
            self.agent_wakes.push(Instant::MAX);
            self.schedule_agent(self.stations.len() as u32 - 1);
        }
        flow
    }

    /// Lets everything happen that is due by `until`.
    pub fn run_until(&mut self, until: Instant) -> Outcome {
        self.run_observed(until, &mut ())
    }

    /// The same, while `observer` looks on.
    pub fn run_observed(&mut self, until: Instant, observer: &mut impl Observer<A>) -> Outcome {
        while let Some((at, wake)) = self.events.pop_until(until) {
            if at > self.now {
                self.now = at;
                self.standing_still = 0;
            }
            // In small networks, too, every second link has left the nearest cache since it was last served.
            if let Some(next) = self.events.peek()
                && let Stop::Link(index) = next.stop()
            {
                prefetch(&self.links[index as usize]);
            }
            if at > self.prefetched {
                self.prefetched = self.prefetch_window(wake);
            }
            match wake.stop() {
                Stop::Link(index) => self.serve_link(index, observer),
                Stop::Agent(index) => {
                    self.serve_agent(index, observer);
                    self.standing_still += 1;
                    if self.standing_still > MAX_WAKES_AT_AN_INSTANT {
                        let flow = FlowId(index / 2);
                        return Outcome::TimeStandsStill { at, flow };
                    }
                }
            }
        }
        if self.events.is_empty() {
            return Outcome::NothingLeft { at: self.now };
        }
        self.now = self.now.max(until);
        Outcome::Reached
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// An agent, to be asked for its figures.
    pub fn agent(&self, flow: FlowId, end: End) -> &A {
        let index = match end {
            End::Sender => flow.sender(),
            End::Receiver => flow.receiver(),
        };
        &self.stations[index as usize].agent
    }

    /// A link, to be asked for its figures.
    pub fn link(&self, link: LinkId) -> &Link<Travelling<A::Body>> {
        &self.links[link.index()]
    }

    /// Lets a link keep its events from now on, for [`Simulation::poll_link_event`].
    pub fn keep_link_events(&mut self, link: LinkId) {
        self.links[link.index()].keep_events(self.now);
    }

    /// The oldest event of a link that was not taken yet.
    pub fn poll_link_event(&mut self, link: LinkId) -> Option<Event> {
        self.links[link.index()].poll_event()
    }

    /// Changes what a link loses from now on.
    pub fn set_loss(&mut self, link: LinkId, loss: Loss) {
        self.links[link.index()].set_loss(self.now, loss);
        self.schedule_link(link.0);
    }

    /// Loses the packets of these numbers that arrive at a link, counted from zero from now on.
    pub fn lose_packets(&mut self, link: LinkId, numbers: impl IntoIterator<Item = u64>) {
        self.links[link.index()].lose(self.now, numbers);
    }

    /// Lets a delivery trace that starts now set the pace of a link.
    pub fn set_trace(&mut self, link: LinkId, trace: DeliveryTrace) {
        self.links[link.index()].set_trace(self.now, trace);
        self.schedule_link(link.0);
    }

    /// Changes a link's rate, delay or loss now; when the change says does not matter.
    pub fn change_link(&mut self, link: LinkId, change: &Change) {
        change.apply(self.now, &mut self.links[link.index()]);
        self.schedule_link(link.0);
    }

    /// How many packets links have carried so far, each counted at every link.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    fn serve_link(&mut self, index: u32, observer: &mut impl Observer<A>) {
        let wake = &mut self.link_wakes[index as usize];
        if *wake != self.now {
            return;
        }
        *wake = Instant::MAX;
        loop {
            let link = &mut self.links[index as usize];
            let out = link.poll_sized(self.now);
            // Asked while the link is near. If the packet comes back to it at once, that wakes it by itself.
            let next = link.poll_timeout();
            if let Some((travelling, size)) = out {
                self.transmissions += 1;
                self.forward(travelling, size, observer);
            }
            if next.is_none_or(|at| at > self.now) {
                return self.wake_link(index, next);
            }
        }
    }

    fn serve_agent(&mut self, index: u32, observer: &mut impl Observer<A>) {
        let wake = &mut self.agent_wakes[index as usize];
        if *wake != self.now {
            return;
        }
        *wake = Instant::MAX;
        let agent = &mut self.stations[index as usize].agent;
        agent.handle_timeout(self.now);
        self.drain(index, observer);
    }

    /// Lets an agent send what it may, and notes when it wants to be woken.
    fn drain(&mut self, index: u32, observer: &mut impl Observer<A>) {
        loop {
            let station = &mut self.stations[index as usize];
            let next = station.path;
            let Some(packet) = station.agent.poll_transmit(self.now) else {
                break;
            };
            let (flow, end) = owner(index);
            observer.sent(self.now, flow, end, &packet);
            let size = packet.size;
            let mut parcel = self.empty.pop().unwrap_or_default();
            parcel.packet = Some(packet);
            parcel.flow = index;
            let travelling = Travelling { parcel, next };
            self.forward(travelling, size, observer);
        }
        self.schedule_agent(index);
    }

    /// Takes a packet to the next place of its path.
    // Called, it would save and restore what its callers keep in registers, at every hop.
    #[inline(always)]
    fn forward(
        &mut self,
        mut travelling: Travelling<A::Body>,
        size: Bytes,
        observer: &mut impl Observer<A>,
    ) {
        match self.stops[travelling.next as usize].stop() {
            Stop::Link(index) => {
                travelling.next += 1;
                let link = &mut self.links[index as usize];
                link.handle_packet(self.now, travelling, size);
                let next = link.poll_timeout();
                self.wake_link(index, next);
            }
            Stop::Agent(index) => self.arrive(index, travelling.parcel, observer),
        }
    }

    /// Hands an agent what has come to the end of its path.
    #[inline(never)]
    fn arrive(
        &mut self,
        index: u32,
        mut parcel: Box<Parcel<A::Body>>,
        observer: &mut impl Observer<A>,
    ) {
        let (flow, end) = owner(index);
        if let Some(packet) = &parcel.packet {
            observer.arrived(self.now, flow, end, packet);
            let agent = &mut self.stations[index as usize].agent;
            agent.handle_packet(self.now, packet);
        }
        parcel.packet = None;
        self.empty.push(parcel);
        self.drain(index, observer);
    }

    fn schedule_link(&mut self, index: u32) {
        let next = self.links[index as usize].poll_timeout();
        self.wake_link(index, next);
    }

    #[inline(always)]
    fn wake_link(&mut self, index: u32, next: Option<Instant>) {
        let wake = &mut self.link_wakes[index as usize];
        if let Some(at) = next.filter(|at| at < wake) {
            *wake = at.max(self.now);
            self.events.push(*wake, Stop::Link(index).into());
        }
    }

    fn schedule_agent(&mut self, index: u32) {
        let next = self.stations[index as usize].agent.poll_timeout();
        let wake = &mut self.agent_wakes[index as usize];
        if let Some(at) = next.filter(|at| at < wake) {
            *wake = at.max(self.now);
            self.events.push(*wake, Stop::Agent(index).into());
        }
    }
}

fn owner(agent: u32) -> (FlowId, End) {
    let end = if agent.is_multiple_of(2) {
        End::Sender
    } else {
        End::Receiver
    };
    (FlowId(agent / 2), end)
}

/// All flows of the largest scenario may well act at one instant, a few times each.
const MAX_WAKES_AT_AN_INSTANT: u32 = 1_000_000;
