//! The path of these runs, and readings of its log.

use std::time::Duration;

use evenkeel_rtp::session::FeedbackMode;
use tfrc::Ecn;
use tfrc::sent_packets::PacketStatus;
use tfrc::time::Instant;

use crate::check::{Run, Setup, at_ms, ms, packets_of};
use crate::interposer::{Fate, Passing, Script};
use crate::log::Log;
use crate::packet::{Data, Packet};

/// Each way takes half of it.
pub(super) const ROUND_TRIP: Duration = ms(100);
/// Bytes of a packet.
pub(super) const SIZE: u16 = 1_000;
/// Every so many packets one is lost, or marked.
pub(super) const PERIOD: usize = 50;
/// Reports cease then.
pub(super) const SILENCE: Instant = at_ms(10_000);

pub(super) const fn run(name: &'static str, feedback: FeedbackMode, script: fn() -> Script) -> Run {
    Run {
        name,
        setup: Setup {
            feedback,
            ..packets_of(SIZE)
        },
        lasts: ms(20_000),
        script,
    }
}

/// Half a round trip for everything; `data` may change a packet or take it away by its number, and `report`
/// says what becomes of one.
fn on(
    mut data: impl FnMut(usize, &mut Data) -> Fate + Send + 'static,
    mut report: impl FnMut(usize, Instant) -> Fate + Send + 'static,
) -> Script {
    let mut reports = 0;
    Box::new(move |passing: Passing<'_>| match passing.packet {
        Packet::Data(packet) => data(passing.log.data.len(), packet),
        Packet::Arrivals => {
            reports += 1;
            report(reports, passing.at)
        }
        Packet::Report(_) | Packet::Other => ON_TIME,
    })
}

const ON_TIME: Fate = Fate::After(ms(50));

fn loses(index: usize, _: &mut Data) -> Fate {
    if index % PERIOD == PERIOD - 1 {
        Fate::Drop
    } else {
        ON_TIME
    }
}

pub(super) fn plain() -> Script {
    on(loses, |_, _| ON_TIME)
}

/// Each report comes twice.
pub(super) fn doubled() -> Script {
    on(loses, |_, _| Fate::Twice(ms(50), ms(1)))
}

/// Each report comes again much later.
pub(super) fn repeated() -> Script {
    on(loses, |_, _| Fate::Twice(ms(50), ms(2_000)))
}

/// A report in three is overtaken by the next if that comes within a fifth of a round trip.
pub(super) fn overtaken() -> Script {
    on(loses, |index, _| {
        if index % 3 == 0 {
            Fate::After(ms(70))
        } else {
            ON_TIME
        }
    })
}

pub(super) fn thinned() -> Script {
    on(loses, |index, _| {
        if index > 5 && index % 3 == 0 {
            Fate::Drop
        } else {
            ON_TIME
        }
    })
}

/// One packet in seven is overtaken by the next.
pub(super) fn reordered() -> Script {
    let mut last = Instant::ZERO;
    on(
        move |index, packet| {
            let spacing = Duration::from_micros(packet.timestamp.into())
                .saturating_sub(last - Instant::ZERO)
                .min(ms(20));
            last = Instant::from_micros(packet.timestamp.into());
            match loses(index, packet) {
                Fate::Drop => Fate::Drop,
                _ if index % 7 == 3 => Fate::After(ms(50) + spacing * 3 / 2),
                status => status,
            }
        },
        |_, _| ON_TIME,
    )
}

pub(super) fn silent() -> Script {
    on(
        loses,
        |_, at| if at < SILENCE { ON_TIME } else { Fate::Drop },
    )
}

/// As the plain path, with a mark for every loss.
pub(super) fn marked() -> Script {
    on(
        |index, packet| {
            packet.ecn = if index % PERIOD == PERIOD - 1 {
                Ecn::Ce
            } else {
                Ecn::Ect0
            };
            ON_TIME
        },
        |_, _| ON_TIME,
    )
}

/// What a report says of a packet, given by its place in the log.
pub(super) struct Claim {
    pub(super) at: Instant,
    pub(super) packet: usize,
    pub(super) status: PacketStatus,
}

/// All that reports say of packets that were sent, and how many claims were about others.
pub(super) fn claims(log: &Log) -> Vec<Claim> {
    let Some(start) = log.data.first().map(|record| record.passed.seq) else {
        return Vec::new();
    };
    let mut claims = Vec::new();
    for report in &log.arrivals {
        let first = usize::from(report.reported.first.wrapping_sub(start));
        claims.extend(
            (first..)
                .zip(&report.reported.statuses)
                .map(|(packet, status)| Claim {
                    at: report.at,
                    packet,
                    status: *status,
                }),
        );
    }
    claims
}
