//! Two sessions, whatever reaches them: each other's datagrams in any order, late, twice, bent or from
//! elsewhere, foreign bytes, timeouts and leaps of time.

mod checked;

use std::collections::VecDeque;
use std::net::SocketAddr;

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::session::{
    Config, FeedbackMode, MediaInfo, ReceiveConfig, RepairConfig, SendConfig,
};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use self::checked::CheckedSession;
use crate::Span;

/// Datagrams on their way; the oldest are lost.
const MOST_IN_FLIGHT: usize = 64;

#[derive(Arbitrary, Debug)]
struct Start {
    ends: [End; 2],
}

#[derive(Arbitrary, Debug)]
struct End {
    knows_peer: bool,
    ssrc: Option<u32>,
    seed: u8,
    send: Option<Send>,
    receive: Option<u8>,
    feedback_format: Option<u8>,
    extension_id: Option<u8>,
    ecn: bool,
    bandwidth: u32,
    feedback: u8,
    repair: Option<u8>,
}

#[derive(Arbitrary, Debug)]
struct Send {
    payload_type: u8,
    clock_rate: u32,
    packet_size: u16,
    fixed_rate: Option<f32>,
    give_up: Span,
}

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Wait(Span),
    /// Until one of the two wants to be called.
    Sleep,
    Settle(Side),
    Media {
        from: Side,
        len: u8,
        timestamp: u32,
        marker: bool,
    },
    /// Protects the media that it sent since the last time; a dummy if there is none.
    Repair(Side),
    /// The datagram that was sent as the `index`th of those in flight; it stays there.
    Deliver {
        to: Side,
        index: u8,
        source: u8,
        late: Span,
        ecn: bool,
    },
    Bend {
        index: u8,
        at: u16,
        bits: u8,
    },
    Cut {
        index: u8,
        len: u16,
    },
    Inject {
        to: Side,
        source: u8,
        bytes: &'a [u8],
    },
    Close(Side),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Side {
    A,
    B,
}

/// Plays the bytes as what happens to two sessions.
pub fn check(data: &[u8]) {
    let mut steps = Unstructured::new(data);
    let Ok(start) = Start::arbitrary(&mut steps) else {
        return;
    };
    let mut pair = Pair::new(&start);
    while !steps.is_empty() {
        let Ok(step) = Step::arbitrary(&mut steps) else {
            return;
        };
        pair.play(&step);
    }
}

struct Pair {
    now: Instant,
    sessions: [CheckedSession; 2],
    in_flight: VecDeque<Vec<u8>>,
}

fn address(index: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, index % 4], 5004))
}

impl Pair {
    fn new(start: &Start) -> Self {
        let now = Instant::from_secs(1);
        let mut index = 0;
        let sessions = start.ends.each_ref().map(|end| {
            index += 1;
            let peer = end.knows_peer.then(|| address(3 - index));
            CheckedSession::new(now, end.config(peer))
        });
        Self {
            now,
            sessions,
            in_flight: VecDeque::new(),
        }
    }

    fn play(&mut self, step: &Step<'_>) {
        match *step {
            Step::Wait(span) => self.now += span.duration(),
            Step::Sleep => {
                let timeouts = self
                    .sessions
                    .iter()
                    .filter_map(|checked| checked.session.poll_timeout());
                if let Some(at) = timeouts.map(|(at, _)| at).min() {
                    self.now = self.now.max(at);
                }
            }
            Step::Settle(side) => {
                let sent = self.sessions[side as usize].settle(self.now);
                self.in_flight.extend(sent);
            }
            Step::Media {
                from,
                len,
                timestamp,
                marker,
            } => {
                let info = MediaInfo { timestamp, marker };
                let sent = self.sessions[from as usize].send(self.now, &info, len.into());
                self.in_flight.extend(sent);
            }
            Step::Repair(side) => {
                let sent = self.sessions[side as usize].repair(self.now);
                self.in_flight.extend(sent);
            }
            Step::Deliver {
                to,
                index,
                source,
                late,
                ecn,
            } => {
                let Some(bytes) = self.in_flight.get(usize::from(index)) else {
                    return;
                };
                let arrival = self
                    .now
                    .as_nanos()
                    .saturating_sub(late.duration().as_nanos() as u64);
                self.sessions[to as usize].take(
                    self.now,
                    Datagram {
                        source: address(source),
                        arrival: Instant::from_nanos(arrival),
                        ecn: if ecn { Ecn::Ce } else { Ecn::Ect0 },
                        payload: bytes,
                    },
                );
            }
            Step::Bend { index, at, bits } => {
                let datagram = self.in_flight.get_mut(usize::from(index));
                if let Some(byte) = datagram.and_then(|bytes| bytes.get_mut(usize::from(at))) {
                    *byte ^= bits;
                }
            }
            Step::Cut { index, len } => {
                if let Some(bytes) = self.in_flight.get_mut(usize::from(index)) {
                    bytes.truncate(len.into());
                }
            }
            Step::Inject { to, source, bytes } => self.sessions[to as usize].take(
                self.now,
                Datagram {
                    source: address(source),
                    arrival: self.now,
                    ecn: Ecn::NotEct,
                    payload: bytes,
                },
            ),
            Step::Close(side) => self.sessions[side as usize].session.close(self.now),
        }
        while self.in_flight.len() > MOST_IN_FLIGHT {
            self.in_flight.pop_front();
        }
    }
}

impl End {
    fn config(&self, peer: Option<SocketAddr>) -> Config {
        let mut config = Config::new("fuzz", self.seed.into());
        config.peer = peer;
        config.ssrc = self.ssrc;
        config.ecn = self.ecn;
        config.bandwidth = Rate::from_bits_per_sec(self.bandwidth.into());
        if let Some(format) = self.feedback_format {
            config.feedback_format = format;
        }
        if self.extension_id.is_some() {
            config.extension_id = self.extension_id;
        }
        let feedback = FeedbackMode::ALL[usize::from(self.feedback % 5)];
        config.receive = self.receive.map(|payload_type| ReceiveConfig {
            feedback,
            repair: self.repair,
            transit_bounds: self.feedback >= 128,
            ..ReceiveConfig::new(payload_type)
        });
        config.send = self.send.as_ref().map(|send| SendConfig {
            clock_rate: send.clock_rate,
            packet_size: Bytes::new(send.packet_size.into()),
            fixed_rate: send
                .fixed_rate
                .map(|rate| Rate::from_bytes_per_sec(rate.into())),
            give_up: send.give_up.duration(),
            feedback,
            fallback: send.payload_type.is_multiple_of(2),
            repair: self.repair.map(|payload_type| RepairConfig {
                payload_type,
                ssrc: None,
            }),
            ..SendConfig::new(send.payload_type)
        });
        config
    }
}
