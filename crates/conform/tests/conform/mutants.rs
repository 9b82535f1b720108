//! A check must be able to fail: here each is failed by an implementation with a fault that it is for.

use std::collections::BTreeSet;

use evenkeel_conform::check::ms;
use evenkeel_conform::packet::{Data, TfrcReport};
use evenkeel_conform::{
    Check, Clock, INTERPOSER, Implementation, Rfc, Setup, all, appendix_b, simulate_with,
};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::{Duration, Instant};
use tfrc::units::{LossEventRate, Rate};
use tfrc::{ReceiverConfig, SenderConfig};

use crate::mutant::{Mutant, each_data, each_report, nothing};

/// A faulty sender, or a faulty receiver.
pub(crate) enum Faulty {
    Sender(fn(&Setup) -> Mutant),
    Receiver(fn(FeedbackMode) -> Mutant),
}

pub(crate) struct Fault {
    pub(crate) what: &'static str,
    pub(crate) who: Faulty,
    /// Numbers of its list that must notice.
    pub(crate) noticed_by: &'static [u32],
}

/// A sender with a change to its configuration.
pub(crate) fn configured_sender(setup: &Setup, change: fn(&mut SenderConfig)) -> Mutant {
    let mut config = Rfc::Rfc5348.sender();
    change(&mut config);
    let sender = Implementation::sender(Instant::ZERO, INTERPOSER, setup, config, 1);
    Mutant::new(sender)
}

/// A receiver with a change to its configuration, which reports in this format.
fn receiver_with(feedback: FeedbackMode, change: fn(&mut ReceiverConfig)) -> Mutant {
    let mut config = Rfc::Rfc5348.receiver();
    change(&mut config);
    Mutant::new(Implementation::receiver(Instant::ZERO, feedback, config, 1))
}

pub(crate) fn configured_receiver(change: fn(&mut ReceiverConfig)) -> Mutant {
    receiver_with(FeedbackMode::Tfrc, change)
}

/// A receiver without a fault, which reports in this format.
pub(crate) fn reporter(feedback: FeedbackMode) -> Mutant {
    receiver_with(feedback, |_| {})
}

pub(crate) fn honest_sender(setup: &Setup) -> Mutant {
    configured_sender(setup, |_| {})
}

pub(crate) fn honest_receiver() -> Mutant {
    reporter(FeedbackMode::Tfrc)
}

/// A sender with this fault in its data packets.
pub(crate) fn sender_telling(setup: &Setup, change: impl FnMut(&mut Data) + 'static) -> Mutant {
    honest_sender(setup).outgoing(each_data(change))
}

/// A sender with this fault in the reports that it takes in.
pub(crate) fn sender_hearing(
    setup: &Setup,
    change: impl FnMut(&mut TfrcReport) + 'static,
) -> Mutant {
    honest_sender(setup).incoming(each_report(change))
}

/// A receiver with this fault in its reports.
pub(crate) fn receiver_telling(change: impl FnMut(&mut TfrcReport) + 'static) -> Mutant {
    honest_receiver().outgoing(each_report(change))
}

/// A receiver with this fault in the data packets that it takes in.
pub(crate) fn receiver_hearing(change: impl FnMut(&mut Data) + 'static) -> Mutant {
    honest_receiver().incoming(each_data(change))
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "a sender that tells twice its R",
        who: Faulty::Sender(|setup| sender_telling(setup, |data| data.rtt_micros *= 2)),
        noticed_by: &[7, 16, 17, 18, 19, 20],
    },
    Fault {
        what: "a sender that tells an R before it can know one",
        who: Faulty::Sender(|setup| {
            sender_telling(setup, |data| data.rtt_micros = data.rtt_micros.max(1))
        }),
        noticed_by: &[14],
    },
    Fault {
        what: "a sender that skips numbers",
        who: Faulty::Sender(|setup| {
            sender_telling(setup, |data| data.seq = data.seq.wrapping_mul(2))
        }),
        noticed_by: &[1, 8],
    },
    Fault {
        what: "a sender whose numbers and timestamps end a bit early",
        who: Faulty::Sender(|setup| {
            sender_telling(setup, |data| {
                data.seq = data.seq.min(u16::MAX - 1);
                data.timestamp &= u32::MAX >> 1;
            })
        }),
        noticed_by: &[10, 11],
    },
    Fault {
        what: "a sender whose timestamps stand still for a while",
        who: Faulty::Sender(|setup| {
            sender_telling(setup, |data| data.timestamp -= data.timestamp % 50_000)
        }),
        noticed_by: &[9],
    },
    Fault {
        what: "a sender that hears no report",
        who: Faulty::Sender(|setup| honest_sender(setup).incoming(nothing())),
        noticed_by: &[7, 16, 18, 24, 27, 28, 29, 33, 36],
    },
    Fault {
        what: "a sender that takes no notice of p",
        who: Faulty::Sender(|setup| sender_hearing(setup, |report| report.p = LossEventRate::ZERO)),
        noticed_by: &[35],
    },
    Fault {
        what: "a sender that takes p for a third less",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.p = LossEventRate::new(report.p.get() * 0.67);
            })
        }),
        noticed_by: &[27, 30, 32],
    },
    Fault {
        what: "a sender that knows one p and one R alone",
        who: Faulty::Sender(|setup| {
            honest_sender(setup).incoming({
                let mut reports = 0;
                Box::new(move |_| {
                    reports += 1;
                    (reports < 50).then_some(Duration::ZERO)
                })
            })
        }),
        noticed_by: &[28, 29],
    },
    Fault {
        what: "a sender that takes X_recv for half as much again",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.receive_rate = report.receive_rate * 1.5;
            })
        }),
        noticed_by: &[31],
    },
    Fault {
        what: "a sender that lets X_recv hold it in slow start",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.receive_rate = report.receive_rate.min(Rate::from_bytes_per_sec(100e3));
            })
        }),
        noticed_by: &[33],
    },
    Fault {
        what: "a sender that is patient without reports",
        who: Faulty::Sender(|setup| {
            configured_sender(setup, |config| {
                config.min_nofeedback = Duration::from_secs(10);
            })
        }),
        noticed_by: &[24, 25],
    },
    Fault {
        what: "a sender that does not space by the square root of R",
        who: Faulty::Sender(|setup| {
            configured_sender(setup, |config| config.oscillation_reduction = false)
        }),
        noticed_by: &[36, 37, 38, 39],
    },
    Fault {
        what: "a sender whose clock is a fiftieth slow",
        who: Faulty::Sender(|setup| honest_sender(setup).percent_of_pace(98)),
        noticed_by: &[16, 21, 22, 23, 26],
    },
    Fault {
        what: "a receiver that is late and does not say so",
        who: Faulty::Receiver(|_| honest_receiver().outgoing(Box::new(|_| Some(ms(5))))),
        noticed_by: &[2, 3, 16, 47, 51, 53, 56],
    },
    Fault {
        what: "a receiver that claims a delay",
        who: Faulty::Receiver(|_| receiver_telling(|report| report.delay += ms(3))),
        noticed_by: &[3, 15, 16, 17],
    },
    Fault {
        what: "a receiver that claims a rate at the first packet, and half of it later",
        who: Faulty::Receiver(|_| {
            receiver_telling(|report| {
                let half = report.receive_rate * 0.5;
                report.receive_rate = half.max(Rate::from_bytes_per_sec(1_000.0));
            })
        }),
        noticed_by: &[4, 42, 43],
    },
    Fault {
        what: "a receiver that echoes another packet",
        who: Faulty::Receiver(|_| {
            receiver_telling(|report| {
                report.timestamp = report.timestamp.wrapping_sub(10_000);
            })
        }),
        noticed_by: &[5, 12, 13, 41],
    },
    Fault {
        what: "a receiver that always reports a loss",
        who: Faulty::Receiver(|_| receiver_telling(|report| report.p = LossEventRate::new(0.01))),
        noticed_by: &[6, 12, 34, 46, 48, 49, 50, 52, 54],
    },
    Fault {
        what: "a receiver that never reports a loss",
        who: Faulty::Receiver(|_| receiver_telling(|report| report.p = LossEventRate::ZERO)),
        noticed_by: &[46, 47, 48, 50, 51, 52, 53, 54, 55, 56, 57],
    },
    Fault {
        what: "a receiver that says nothing",
        who: Faulty::Receiver(|_| honest_receiver().outgoing(nothing())),
        noticed_by: &[2, 4, 5, 6, 7, 15, 40, 41, 44, 45],
    },
    Fault {
        what: "a receiver that reports without data",
        who: Faulty::Receiver(|_| honest_receiver().repeats_after(ms(120))),
        noticed_by: &[44, 45],
    },
    Fault {
        what: "a receiver that takes each loss for an event, and reports too often",
        who: Faulty::Receiver(|_| {
            receiver_hearing(|data| {
                data.rtt_micros = data.rtt_micros.min(5_000);
            })
        }),
        noticed_by: &[40, 55, 57],
    },
    Fault {
        what: "a receiver that waits for late packets",
        who: Faulty::Receiver(|_| configured_receiver(|config| config.reordering = true)),
        noticed_by: &[50, 51, 52],
    },
];

pub(crate) fn passes(check: &Check, fault: &Fault) -> bool {
    let logs = check.runs.iter().map(|run| match fault.who {
        Faulty::Sender(make) => {
            let mut receiver = reporter(run.setup.feedback);
            simulate_with(run, &mut make(&run.setup), &mut receiver)
        }
        Faulty::Receiver(make) => {
            let mut receiver = make(run.setup.feedback);
            simulate_with(run, &mut honest_sender(&run.setup), &mut receiver)
        }
    });
    let logs: Vec<_> = logs.collect();
    check.judge(&logs, Clock::Virtual, Rfc::Rfc5348).pass
}

/// Each check of a list is failed by some fault, and each fault by the checks that it names.
pub(crate) fn assert_noticed(checks: &[&Check], faults: &[Fault]) {
    let mut missed = Vec::new();
    for fault in faults {
        for number in fault.noticed_by {
            let check = checks[*number as usize - 1];
            if passes(check, fault) {
                missed.push(format!("{} passes {}", check.id, fault.what));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    let noticed = faults.iter().flat_map(|fault| fault.noticed_by).copied();
    let noticed: BTreeSet<u32> = noticed.collect();
    let all = 1..=checks.len() as u32;
    let unfailed: Vec<u32> = all.filter(|n| !noticed.contains(n)).collect();
    assert!(unfailed.is_empty(), "{unfailed:?}");
}

#[test]
fn each_check_of_appendix_b_is_failed_by_some_fault() {
    assert_noticed(&appendix_b::checks(), FAULTS);
}

#[test]
fn without_a_fault_the_wrapper_changes_nothing() {
    let honest = Fault {
        what: "nothing",
        who: Faulty::Receiver(|_| honest_receiver()),
        noticed_by: &[],
    };
    for check in all().iter().filter(|check| check.id.starts_with("B.4.1")) {
        assert!(passes(check, &honest), "{}", check.id);
    }
}
