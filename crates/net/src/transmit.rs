//! From an endpoint's datagrams to system calls: equal neighbours leave together.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::socket::{Outgoing, Socket};
use evenkeel_rtp::endpoint::{Endpoint, Transmit};
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tfrc::time::Instant;

/// What has been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Datagrams that the system took.
    pub datagrams: u64,
    /// Calls that it took them with.
    pub calls: u64,
    /// Datagrams that it refused, for whatever reason, and that are lost.
    pub failed: u64,
    /// Those of them that are longer than the interface takes.
    pub too_long: u64,
    /// Those of them that no way led for: the interface is down, or nobody there has the address.
    pub unreachable: u64,
}

impl SendCounters {
    fn refuse(&mut self, error: &io::Error) {
        self.failed += 1;
        match Errno::from_io_error(error) {
            Some(Errno::MSGSIZE) => self.too_long += 1,
            Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN) => self.unreachable += 1,
            _ => {}
        }
    }
}

/// Collects consecutive datagrams that one call can send.
#[derive(Debug)]
pub(crate) struct Sender {
    clock: Clock,
    buffer: Box<[u8]>,
    counters: SendCounters,
    call_times: Lateness,
    first_call: Option<Instant>,
}

/// What one look at an endpoint gave to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drained {
    /// Datagrams; fewer than [`BUDGET`] means that it has no more.
    pub(crate) datagrams: usize,
    /// When the system was handed the first of them.
    pub(crate) first_call: Option<Instant>,
}

/// Datagrams at the front of the buffer: all alike, but for a last one that may be shorter.
#[derive(Clone, Copy)]
struct Run {
    first: Transmit,
    len: usize,
    count: u64,
    /// How long it may become: all of its datagrams in one call.
    most: usize,
}

impl Sender {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            buffer: vec![0; 2 * DATAGRAM_SIZE].into_boxed_slice(),
            counters: SendCounters::default(),
            call_times: Lateness::default(),
            first_call: None,
        }
    }

    pub(crate) fn counters(&self) -> SendCounters {
        self.counters
    }

    /// How long the system took over each run of datagrams, while its queue was full included.
    pub(crate) fn call_times(&self) -> &Lateness {
        &self.call_times
    }

    /// Sends what `endpoint` lets go at `now`, but no more than a budget, so that receiving is not
    /// starved.
    pub(crate) fn drain<E: Endpoint>(
        &mut self,
        socket: &Socket,
        endpoint: &mut E,
        now: Instant,
    ) -> Drained {
        let mut run: Option<Run> = None;
        let mut drained = 0;
        // A call that is begun is filled.
        while drained < BUDGET || drained < FULL_BUDGET && run.is_some_and(|run| run.has_room()) {
            let start = run.map_or(0, |run| run.len);
            let buf = &mut self.buffer[start..start + DATAGRAM_SIZE];
            let Some(next) = endpoint.poll_transmit(now, buf) else {
                break;
            };
            drained += 1;
            run = Some(match run {
                Some(run) if run.takes(&next) => Run {
                    len: run.len + next.len,
                    count: run.count + 1,
                    ..run
                },
                _ => {
                    if let Some(run) = run {
                        self.send(socket, run);
                        self.buffer.copy_within(start..start + next.len, 0);
                    }
                    Run::of(next, socket.max_segments())
                }
            });
        }
        if let Some(run) = run {
            self.send(socket, run);
        }
        Drained {
            datagrams: drained,
            first_call: self.first_call.take(),
        }
    }

    fn send(&mut self, socket: &Socket, run: Run) {
        let called = self.clock.now();
        self.first_call.get_or_insert(called);
        self.try_send(socket, run);
        let took = self.clock.now().saturating_since(called);
        self.call_times.record(took);
    }

    fn try_send(&mut self, socket: &Socket, run: Run) {
        let whole = &self.buffer[..run.len];
        match run.send(socket, whole, &mut self.counters) {
            Ok(()) => self.counters.datagrams += run.count,
            Err(error) if run.count == 1 => self.counters.refuse(&error),
            // The route's interface may not segment, or its MTU be smaller than we think.
            Err(_) => {
                for datagram in whole.chunks(run.first.len) {
                    match run.send(socket, datagram, &mut self.counters) {
                        Ok(()) => self.counters.datagrams += 1,
                        Err(error) => self.counters.refuse(&error),
                    }
                }
            }
        }
    }
}

impl Run {
    fn of(first: Transmit, max_segments: usize) -> Self {
        let (len, count) = (first.len, 1);
        let most = if len <= segment_size(first.destination) {
            DATAGRAM_SIZE.min(len * max_segments)
        } else {
            len
        };
        Self {
            first,
            len,
            count,
            most,
        }
    }

    /// True if another datagram as long as the first may follow in the same call.
    fn has_room(&self) -> bool {
        let all_full = self.len as u64 == self.count * self.first.len as u64;
        all_full && self.len + self.first.len <= self.most
    }

    /// True if `next` may follow in the same call.
    fn takes(&self, next: &Transmit) -> bool {
        let all_full = self.len as u64 == self.count * self.first.len as u64;
        all_full
            && (1..=self.first.len).contains(&next.len)
            && self.len + next.len <= self.most
            && next.ecn == self.first.ecn
            && next.destination == self.first.destination
    }

    /// A peer that is gone for now (an ICMP error) or a full interface ends nothing: the endpoint learns of
    /// its losses from its peer.
    fn send(
        &self,
        socket: &Socket,
        contents: &[u8],
        counters: &mut SendCounters,
    ) -> io::Result<()> {
        counters.calls += 1;
        let outgoing = Outgoing {
            destination: self.first.destination,
            ecn: self.first.ecn,
            contents,
            segment: self.first.len,
        };
        socket.send(&outgoing)
    }
}

/// How many datagrams leave between two looks at what has come in: two full system calls.
pub(crate) const BUDGET: usize = 128;

/// The budget of a sender that has begun to fill another call.
const FULL_BUDGET: usize = BUDGET + 64;

/// The largest UDP payload over IPv4, in one datagram or in one call that sends several.
const DATAGRAM_SIZE: usize = 65_507;

/// The largest datagram that is sent together with others: Ethernet's 1,500 bytes less the headers of IP
/// and UDP. The kernel refuses segments beyond the MTU, and quinn-udp then segments no more.
fn segment_size(destination: SocketAddr) -> usize {
    match destination.ip().to_canonical() {
        IpAddr::V4(_) => 1_472,
        IpAddr::V6(_) => 1_452,
    }
}
