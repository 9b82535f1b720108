//! Reports that are refused: counted, and without effect on the others of their datagram.

use std::time::Duration;

use crate::pair::End;
use crate::reports::{MODES, one_way};
use evenkeel_rtp::session::{FeedbackMode, Ignored};

/// Where the last packet of a datagram begins: the report, if there is one.
fn report_in(datagram: &[u8]) -> usize {
    let (mut last, mut next) = (0, 0);
    while next < datagram.len() {
        last = next;
        let words = u16::from_be_bytes([datagram[last + 2], datagram[last + 3]]);
        next += 4 * (1 + usize::from(words));
    }
    last
}

/// Where a report names the source that it is about.
fn place_of_source(mode: FeedbackMode) -> usize {
    if mode == FeedbackMode::Sack { 12 } else { 8 }
}

/// A report that is refused for this: of another source, or one that says nothing.
fn refused(kind: Ignored, mode: FeedbackMode, report: &[u8]) -> Vec<u8> {
    let (place, mut bytes) = (place_of_source(mode), report.to_vec());
    if kind == Ignored::WrongSsrc {
        bytes[place] ^= 1;
    } else {
        bytes.truncate(place + 4);
        bytes[3] = (place / 4) as u8;
    }
    bytes
}

/// The receiver always says something before what it says of our source, or behind it.
#[test]
fn refused_report_is_counted_beside_others_that_count() {
    for mode in MODES {
        for (kind, is_first) in [
            (Ignored::WrongSsrc, false),
            (Ignored::WrongSsrc, true),
            (Ignored::BadRtcp, false),
            (Ignored::BadRtcp, true),
        ] {
            let what = format!("{mode:?}, {kind:?}, first: {is_first}");
            let mut pair = one_way(mode);
            pair.run(Duration::from_secs(3));
            let before = pair.session(End::A).statistics().clone();
            let rate = pair.session(End::A).path().unwrap().allowed_rate;
            // What the receiver sends comes by our hand.
            pair.drops = Box::new(|sent| sent.from == End::B);
            let (mut handed, mut seen) = (0, pair.log.len());
            for _ in 0..300 {
                pair.run(Duration::from_millis(10));
                let new = pair.log[seen..].iter().filter(|sent| sent.from == End::B);
                let datagrams: Vec<_> = new.map(|sent| sent.bytes.clone()).collect();
                seen = pair.log.len();
                for datagram in datagrams {
                    let (others, report) = datagram.split_at(report_in(&datagram));
                    // A compound may have none.
                    if ![204, 205].contains(&report[1]) {
                        continue;
                    }
                    let bad = refused(kind, mode, report);
                    let reports = if is_first {
                        [&bad, report]
                    } else {
                        [report, &bad]
                    };
                    let datagram = [others, &reports.concat()].concat();
                    let verdict = pair.inject(End::A, End::B.address(), &datagram);
                    assert_eq!(verdict, "control", "{what}");
                    handed += 1;
                }
            }
            let after = pair.session(End::A).statistics();
            // The first were under way when others began to come by our hand.
            let received = after.feedback_received - before.feedback_received;
            assert!(handed > 20 && received >= handed, "{what}: {received}");
            assert_eq!(after.ignored(kind), handed, "{what}");
            assert_eq!(after.ignored_total(), handed, "{what}");
            assert_eq!(after.nofeedback_expiries, 0, "{what}");
            let share = pair.session(End::A).path().unwrap().allowed_rate / rate;
            assert!(share > 0.8, "{what}: {share}");
        }
    }
}

/// Alone it is why.
#[test]
fn datagram_of_refused_reports_is_ignored() {
    for mode in MODES {
        let mut pair = one_way(mode);
        pair.run(Duration::from_secs(3));
        let control = pair.log.iter().rfind(|sent| sent.from == End::B).unwrap();
        let report = &control.bytes[report_in(&control.bytes)..];
        let bad = [Ignored::BadRtcp, Ignored::WrongSsrc].map(|kind| refused(kind, mode, report));
        let before = pair.session(End::A).statistics().clone();
        let verdict = pair.inject(End::A, End::B.address(), &bad.concat());
        assert_eq!(verdict, Ignored::BadRtcp.name(), "{mode:?}");
        let after = pair.session(End::A).statistics();
        assert_eq!(after.ignored_total(), 1, "{mode:?}");
        assert_eq!(
            after.feedback_received, before.feedback_received,
            "{mode:?}"
        );
    }
}
