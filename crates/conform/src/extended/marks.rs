//! §5.1: marks are congestion at once, and what counts as an arrival above a missing packet.

use tfrc::Ecn;

use crate::check::{Check, Run, within};
use crate::interposer::Fate;
use crate::log::Log;

use super::oracle::{self, marked};
use super::path::{FIRST, at_once, begins_at, first_loss, on_data, run};
use super::receiver;

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    receiver("E.5.1-1")
        .title("a marked packet is reported at once: after it came, ms")
        .section("RFC 5348 §5.1: \"detected as a congestion event as soon as it arrives\"")
        .on(&[&MARK], |e| at_once(e, FIRST, first_loss(e.log()))),
    receiver("E.5.1-2")
        .title("without waiting for others: packets above it received by then")
        .section("RFC 5348 §5.1: \"without having to wait for the arrival of subsequent packets\"")
        .on(&[&MARK], |e| {
            within(arrivals_until_reported(e.log()), 0.0, 0.0)
        }),
    receiver("E.5.2-3")
        .title("the event begins with the marked packet: S_A")
        .section("RFC 5348 §5.2")
        .on(&[&MARK], |e| begins_at(e, FIRST)),
    receiver("E.5.1-4")
        .title("n is missing, n+1 came, n+2 is marked: reported at once after n+2, ms")
        .section("RFC 5348 §5.1, the example")
        .on(&[&HOLE_BELOW_MARK], |e| {
            at_once(e, FIRST + 2, first_loss(e.log()))
        }),
    receiver("E.5.1-5")
        .title("and the event begins with n: S_A")
        .section(
            "RFC 5348 §5.1: \"the first detected congestion event begins with the lost packet\"",
        )
        .on(&[&HOLE_BELOW_MARK], |e| begins_at(e, FIRST)),
    receiver("E.5.2-6")
        .title("marks within a round trip are one event: S_A")
        .section("RFC 5348 §5.2: \"one or more packets lost or marked in an RTT\"")
        .on(&[&MARKS_TOGETHER], |e| begins_at(e, FIRST)),
    receiver("E.5.2-7")
        .title("a loss and a mark within a round trip are one event: S_A")
        .section("RFC 5348 §5.2")
        .on(&[&LOSS_AND_MARK], |e| begins_at(e, FIRST)),
    receiver("E.5.2-8")
        .title("marks farther apart are events of their own: p over what it must be")
        .section("RFC 5348 §5.2: \"Otherwise, S_new is the first packet in a new loss event\"")
        .on(&[&MARKS_APART], |e| {
            oracle::exact(e, &[marked(FIRST), marked(FIRST + 7)], FIRST..usize::MAX)
        }),
    receiver("E.5.1-9")
        .title("ECT(0), ECT(1) and not-ECT are no marks: largest p")
        .section("RFC 5348 §5.1")
        .on(&[&UNMARKED], |e| within(e.log().largest_p(), 0.0, 0.0)),
    receiver("E.5.1-10")
        .title("duplicates are not subsequent packets: arrivals above i when it is told lost")
        .section("RFC 5348 §5.1: \"the arrival of at least NDUPACK packets\"")
        .on(&[&DUPLICATES], |e| {
            within(arrivals_until_reported(e.log()), 5.0, 0.0)
        }),
    receiver("E.5.1-11")
        .title("a packet that comes with two above it is not lost, however late: largest p")
        .section("RFC 5348 §5.1")
        .on(&[&LATE_BY_TWO], |e| {
            let overtaken = e.log().data.get(FIRST).map(|record| record.delivered);
            let overtaken = overtaken > e.log().data.get(FIRST + 2).map(|record| record.delivered);
            within(e.log().largest_p().filter(|_| overtaken), 0.0, 0.0)
        }),
];

/// Long enough for I_0 to outgrow the synthetic interval, of some 25 packets.
const PACKETS: u64 = 85;

static MARK: Run = run("mark", PACKETS, || marks(&[FIRST]));

static HOLE_BELOW_MARK: Run = run("hole-below-mark", PACKETS, || {
    on_data(|index, data| {
        if index == FIRST + 2 {
            data.ecn = Ecn::Ce;
        }
        Fate::lost_if(index == FIRST)
    })
});

static MARKS_TOGETHER: Run = run("marks-in-a-round-trip", PACKETS, || {
    marks(&[FIRST, FIRST + 1, FIRST + 3])
});

static LOSS_AND_MARK: Run = run("loss-and-mark", PACKETS, || {
    on_data(|index, data| {
        if index == FIRST + 3 {
            data.ecn = Ecn::Ce;
        }
        Fate::lost_if(index == FIRST)
    })
});

static MARKS_APART: Run = run("marks-apart", PACKETS, || marks(&[FIRST, FIRST + 7]));

static UNMARKED: Run = run("no-marks", 40, || {
    on_data(|index, data| {
        data.ecn = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][index % 3];
        Fate::NOW
    })
});

/// After the hole packet i+1 comes three times: i+2 and i+3 bear its number, and those after them count on.
static DUPLICATES: Run = run("duplicates", 40, || {
    on_data(|index, data| {
        let repeats = (index.max(FIRST + 1) - (FIRST + 1)).min(2);
        data.seq = data.seq.wrapping_sub(repeats as u16);
        Fate::lost_if(index == FIRST)
    })
});

static LATE_BY_TWO: Run = run("late-by-two", 40, || {
    on_data(|index, _| match index.checked_sub(FIRST) {
        // Until just before the third packet above it.
        Some(0) => Fate::After(std::time::Duration::from_micros(62_500)),
        _ => Fate::NOW,
    })
});

/// Some packets are marked.
fn marks(marked: &'static [usize]) -> crate::interposer::Script {
    on_data(|index, data| {
        if marked.contains(&index) {
            data.ecn = Ecn::Ce;
        }
        Fate::NOW
    })
}

/// Packets above the first *i* that came before the first report of loss left.
fn arrivals_until_reported(log: &Log) -> Option<f64> {
    let reported_at = first_loss(log)?.at;
    let above = log.data.get(FIRST + 1..)?.iter();
    let came = above.filter(|record| record.delivered.is_some_and(|at| at <= reported_at));
    Some(came.count() as f64)
}
