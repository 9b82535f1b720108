//! §5.2 and §5.3: losses to events, by the round-trip time that the sender tells and the nominal time of
//! each loss; and events to intervals.

use std::time::Duration;

use tfrc::Ecn;

use crate::check::{Check, Run, ms, within};
use crate::interposer::{Fate, Script};

use super::oracle::{self, Event};
use super::path::{FIRST, at_once, begins_at, drops, first_loss, highest, on_data, run};
use super::receiver;

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    receiver("E.5.2-12")
        .title("losses 150 ms apart at R = 100 ms are two events: p over what it must be")
        .section("RFC 5348 §5.2")
        .on(&[&APART], |e| {
            oracle::exact(e, &[lost(FIRST), lost(FIRST + 6)], FIRST..usize::MAX)
        }),
    receiver("E.5.2-13")
        .title("and one if R grew to 200 ms in between: S_A")
        .section("RFC 5348 §5.2: \"the receiver needs to know the RTT to use\"")
        .on(&[&APART_R_GROWS], |e| begins_at(e, FIRST)),
    receiver("E.5.2-14")
        .title("losses 75 ms apart at R = 100 ms are one event: S_A")
        .section(
            "RFC 5348 §5.2: \"If T_old + R >= T_new, then S_new is part of the existing \
             loss event\"",
        )
        .on(&[&TOGETHER], |e| begins_at(e, FIRST)),
    receiver("E.5.2-15")
        .title("and two if R fell to 20 ms in between: p over what it must be")
        .section("RFC 5348 §5.2")
        .on(&[&TOGETHER_R_FALLS], |e| {
            let first = Event {
                start: FIRST,
                detected_at: FIRST + 4,
            };
            oracle::exact(e, &[first, lost(FIRST + 3)], FIRST..usize::MAX)
        }),
    receiver("E.5.2-16")
        .title(
            "a gap of 200 ms at R = 110 ms holds two events, the second from its sixth packet \
             on: p over what it must be",
        )
        .section("RFC 5348 §5.2, T_loss")
        .on(&[&GAP], |e| {
            let detected_at = FIRST + 10;
            let events = [FIRST, FIRST + 5].map(|start| Event { start, detected_at });
            // The first report of loss tells of both: the synthetic interval must be found.
            let log = e.log();
            let ratio = first_loss(log).and_then(|report| {
                let highest = highest(log, &report.seen)?;
                // (5 + L)/2 = 1/p.
                let first = 2.0 / report.seen.p.get() - 5.0;
                let last = log.reports.last()?;
                let expected =
                    oracle::loss_event_rate(&events, first, self::highest(log, &last.seen)?);
                (highest == detected_at).then(|| last.seen.p.get() / expected)
            });
            within(ratio, 1.0, 1e-6)
        }),
    receiver("E.5.3-17")
        .title(
            "the current interval is S_C - S_A + 1: 1/p less that, the largest difference \
             once it is the average",
        )
        .section("RFC 5348 §5.3")
        .on(&[&LOSS], |e| {
            let log = e.log();
            let outgrown = 1.0 / first_loss(log).map_or(1.0, |report| report.seen.p.get());
            let differences = log.reports.iter().filter_map(|report| {
                let i_0 = (highest(log, &report.seen)? + 1).checked_sub(FIRST)? as f64;
                (i_0 > outgrown).then(|| (1.0 / report.seen.p.get() - i_0).abs())
            });
            within(differences.max_by(f64::total_cmp), 0.0, 1e-3)
        }),
    receiver("E.5.3-18")
        .title("a single marked packet is an interval of one: p when every packet is an event")
        .section("RFC 5348 §5.3: \"the size of the loss interval is one\"")
        .on(&[&ALL_MARKED], |e| {
            let last = e.log().reports.last();
            within(last.map(|report| report.seen.p.get()), 1.0, 1e-9)
        }),
    receiver("E.6-19")
        .title("a late packet takes its loss event back: reported at once, ms")
        .section(
            "RFC 5348 §6: \"whenever an out-of-order data packet is received that removes a \
             loss event\"",
        )
        .on(&[&LATE], |e| at_once(e, FIRST, withdrawal(e.log(), FIRST))),
    receiver("E.5.1-20")
        .title("and p is zero again, for it was the only one: p")
        .section("RFC 5348 §5.1: \"the late packet can fill the hole\"")
        .on(&[&LATE], |e| {
            let after = withdrawal(e.log(), FIRST);
            within(after.map(|report| report.seen.p.get()), 0.0, 0.0)
        }),
    receiver("E.6.1-21")
        .title(
            "the event of a late packet joins its interval to the one before: p over what it \
             must be",
        )
        .section("RFC 5348 §6.1: \"two loss intervals were merged into one\"")
        .on(&[&MERGED], |e| {
            oracle::exact(e, &[lost(FIRST), lost(FIRST + 30)], FIRST + 22..usize::MAX)
        }),
    receiver("E.6-22")
        .title("that is reported at once, ms")
        .section("RFC 5348 §6")
        .on(&[&MERGED], |e| {
            at_once(e, FIRST + 15, withdrawal(e.log(), FIRST + 15))
        }),
];

/// The event of a lost packet, of which the third above it tells.
const fn lost(index: usize) -> Event {
    Event {
        start: index,
        detected_at: index + 3,
    }
}

const PACKETS: u64 = 85;

static LOSS: Run = run("loss", PACKETS, || drops(&[FIRST]));

static APART: Run = run("losses-apart", PACKETS, || drops(&[FIRST, FIRST + 6]));

static APART_R_GROWS: Run = run("losses-apart-r-grows", PACKETS, || {
    drops_with_rtt(&[FIRST, FIRST + 6], FIRST + 4, ms(200))
});

static TOGETHER: Run = run("losses-together", PACKETS, || drops(&[FIRST, FIRST + 3]));

static TOGETHER_R_FALLS: Run = run("losses-together-r-falls", PACKETS, || {
    drops_with_rtt(&[FIRST, FIRST + 3], FIRST + 4, ms(20))
});

const GAP_PACKETS: [usize; 8] = [
    FIRST,
    FIRST + 1,
    FIRST + 2,
    FIRST + 3,
    FIRST + 4,
    FIRST + 5,
    FIRST + 6,
    FIRST + 7,
];

/// 25 ms apart by interpolation: the fifth 100 ms after the first, the sixth 125 ms.
static GAP: Run = run("gap", PACKETS, || drops_with_rtt(&GAP_PACKETS, 0, ms(110)));

/// The receiver is told 10 ms: every packet is a round trip of its own.
static ALL_MARKED: Run = run("all-marked", 40, || {
    on_data(|index, data| {
        data.rtt_micros = 10_000;
        if index >= FIRST {
            data.ecn = Ecn::Ce;
        }
        Fate::NOW
    })
});

/// Until six above it have come.
const LATENESS: Duration = ms(160);

static LATE: Run = run("late", 40, || late(FIRST, &[]));

/// One loss, then a late packet, then another loss.
static MERGED: Run = run("late-between-losses", PACKETS, || {
    late(FIRST + 15, &[FIRST, FIRST + 30])
});

fn late(late: usize, lost: &'static [usize]) -> Script {
    on_data(move |index, _| {
        if index == late {
            Fate::After(LATENESS)
        } else {
            Fate::lost_if(lost.contains(&index))
        }
    })
}

/// Some packets are lost, and from one on the receiver is told this R.
fn drops_with_rtt(lost: &'static [usize], from: usize, rtt: Duration) -> Script {
    on_data(move |index, data| {
        if index >= from && data.rtt_micros != 0 {
            data.rtt_micros = rtt.as_micros() as u32;
        }
        Fate::lost_if(lost.contains(&index))
    })
}

/// The report that withdraws a loss event after packet `index` came.
fn withdrawal(
    log: &crate::Log,
    index: usize,
) -> Option<&crate::log::Record<crate::packet::TfrcReport>> {
    let came = log.data.get(index)?.delivered?;
    let pair = log
        .reports
        .windows(2)
        .find(|pair| pair[1].at >= came && pair[1].seen.p < pair[0].seen.p)?;
    Some(&pair[1])
}
