//! Faults that the checks of sender-based mode are for, in each format.

use std::collections::BTreeSet;

use evenkeel_conform::packet::{Data, Packet};
use evenkeel_conform::{check::ms, sender_based};
use tfrc::Ecn;
use tfrc::time::Duration;

use crate::mutant::{Falsify, each_data, nothing};
use crate::mutants::{Fault, Faulty, honest_sender, passes, reporter};

/// What becomes of each report, by its number from 1.
fn each_report(mut fate: impl FnMut(usize) -> Option<Duration> + 'static) -> Falsify {
    let mut count = 0;
    Box::new(move |packet| match packet {
        Packet::Arrivals => {
            count += 1;
            fate(count)
        }
        Packet::Data(_) | Packet::Report(_) | Packet::Other => Some(Duration::ZERO),
    })
}

fn hears(change: impl FnMut(&mut Data) + 'static) -> Falsify {
    each_data(change)
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "a receiver that says nothing",
        who: Faulty::Receiver(|mode| reporter(mode).outgoing(nothing())),
        noticed_by: &[1, 2, 3, 4, 5, 6, 7, 14, 15, 16],
    },
    // A SACK vector tells the packets of five.
    Fault {
        what: "a receiver that loses seven of eight reports",
        who: Faulty::Receiver(|mode| {
            reporter(mode).outgoing(each_report(|count| (count % 8 == 0).then_some(ms(0))))
        }),
        noticed_by: &[1, 4, 5],
    },
    Fault {
        what: "a receiver that is late",
        who: Faulty::Receiver(|mode| reporter(mode).outgoing(each_report(|_| Some(ms(5))))),
        noticed_by: &[6],
    },
    Fault {
        what: "a receiver that takes each number for the next",
        who: Faulty::Receiver(|mode| {
            reporter(mode).incoming(hears(|data| data.seq = data.seq.wrapping_add(1)))
        }),
        noticed_by: &[2, 3],
    },
    Fault {
        what: "a receiver whose clock is slow",
        who: Faulty::Receiver(|mode| reporter(mode).percent_of_pace(90)),
        noticed_by: &[14],
    },
    Fault {
        what: "a receiver that sees no marks",
        who: Faulty::Receiver(|mode| reporter(mode).incoming(hears(|data| data.ecn = Ecn::Ect0))),
        noticed_by: &[15, 16],
    },
    Fault {
        what: "a sender that is deaf",
        who: Faulty::Sender(|setup| honest_sender(setup).incoming(nothing())),
        noticed_by: &[7, 10, 11, 12, 13, 16],
    },
    Fault {
        what: "a sender that takes in three hundred reports",
        who: Faulty::Sender(|setup| {
            honest_sender(setup).incoming(each_report(|count| (count <= 300).then_some(ms(0))))
        }),
        noticed_by: &[8, 9],
    },
];

#[test]
fn each_check_of_each_format_is_failed_by_some_fault() {
    let mut missed = Vec::new();
    let mut noticed = BTreeSet::new();
    for check in sender_based::checks() {
        let (_, number) = check.id.rsplit_once('-').unwrap();
        let number: u32 = number.parse().unwrap();
        for fault in FAULTS
            .iter()
            .filter(|fault| fault.noticed_by.contains(&number))
        {
            if passes(check, fault) {
                missed.push(format!("{} passes {}", check.id, fault.what));
            }
            noticed.insert(check.id);
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert_eq!(noticed.len(), sender_based::checks().len());
}
