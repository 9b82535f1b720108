//! Faults that the checks of the second list are for.

use evenkeel_conform::check::ms;
use evenkeel_conform::packet::Packet;
use evenkeel_conform::{Setup, extended};
use tfrc::time::Duration;
use tfrc::units::{LossEventRate, Rate};
use tfrc::{Ecn, Standard};

use crate::mutant::nothing;
use crate::mutants::{
    Fault, Faulty, assert_noticed, configured_receiver, configured_sender, honest_receiver,
    honest_sender, receiver_hearing, receiver_telling, sender_hearing, sender_telling,
};

const FAULTS: &[Fault] = &[
    Fault {
        what: "a receiver that does not see marks",
        who: Faulty::Receiver(|_| receiver_hearing(|data| data.ecn = Ecn::NotEct)),
        noticed_by: &[1, 2, 3, 4, 6, 8, 18, 23, 24, 25, 38, 39, 41, 42, 43],
    },
    Fault {
        what: "a receiver that takes ECT(1) for a mark",
        who: Faulty::Receiver(|_| {
            receiver_hearing(|data| {
                if data.ecn == Ecn::Ect1 {
                    data.ecn = Ecn::Ce;
                }
            })
        }),
        noticed_by: &[9],
    },
    Fault {
        what: "a receiver that is late",
        who: Faulty::Receiver(|_| honest_receiver().outgoing(Box::new(|_| Some(ms(5))))),
        noticed_by: &[1, 4, 19, 22, 36, 45, 84],
    },
    Fault {
        what: "a receiver that begins a loss event at every loss",
        who: Faulty::Receiver(|_| {
            receiver_hearing(|data| data.rtt_micros = data.rtt_micros.min(5_000))
        }),
        noticed_by: &[5, 6, 7, 13, 14, 16, 21, 31, 34, 37, 44, 46, 47],
    },
    Fault {
        what: "a receiver that takes R for twice as much",
        who: Faulty::Receiver(|_| {
            receiver_hearing(|data| data.rtt_micros = (2 * data.rtt_micros).min((1 << 24) - 1))
        }),
        noticed_by: &[12, 17, 26, 32, 43],
    },
    Fault {
        what: "a receiver that does not discount",
        who: Faulty::Receiver(|_| configured_receiver(|config| config.discounting = false)),
        noticed_by: &[12, 15, 16, 26, 27, 28, 29, 30],
    },
    Fault {
        what: "a receiver that follows RFC 3448",
        who: Faulty::Receiver(|_| {
            configured_receiver(|config| config.standard = Standard::Rfc3448)
        }),
        noticed_by: &[8, 27, 30, 36, 44],
    },
    Fault {
        what: "a receiver that always reports a loss",
        who: Faulty::Receiver(|_| receiver_telling(|report| report.p = LossEventRate::new(0.01))),
        noticed_by: &[9, 10, 11, 20, 85, 86],
    },
    Fault {
        what: "a receiver that never takes a loss back",
        who: Faulty::Receiver(|_| {
            receiver_telling({
                let mut largest = LossEventRate::ZERO;
                move |report| {
                    if report.p > largest {
                        largest = report.p;
                    }
                    report.p = largest;
                }
            })
        }),
        noticed_by: &[19, 20, 21, 22],
    },
    Fault {
        what: "a receiver that claims a third more",
        who: Faulty::Receiver(|_| {
            receiver_telling(|report| {
                report.receive_rate = report.receive_rate * 1.34;
            })
        }),
        noticed_by: &[37, 38, 40, 43, 44, 47],
    },
    Fault {
        what: "a receiver that says a third more of p",
        who: Faulty::Receiver(|_| {
            receiver_telling(|report| {
                report.p = LossEventRate::new(report.p.get() * 1.34);
            })
        }),
        noticed_by: &[3, 8, 12, 17, 23, 41, 42],
    },
    Fault {
        what: "a receiver of which every other report is missing",
        who: Faulty::Receiver(|_| {
            let mut reports = 0;
            honest_receiver().outgoing(Box::new(move |packet| {
                reports += u32::from(matches!(packet, Packet::Report(_)));
                (reports % 2 == 1).then_some(ms(0))
            }))
        }),
        noticed_by: &[10, 31, 32, 33, 35, 36, 39, 45],
    },
    Fault {
        what: "a receiver that reports without data",
        who: Faulty::Receiver(|_| honest_receiver().repeats_after(ms(120))),
        noticed_by: &[34],
    },
    Fault {
        what: "a receiver that echoes another packet",
        who: Faulty::Receiver(|_| {
            receiver_telling(|report| {
                report.timestamp = report.timestamp.wrapping_sub(10_000);
            })
        }),
        noticed_by: &[17, 18, 31, 47],
    },
    Fault {
        what: "a sender that hears no report",
        who: Faulty::Sender(|setup| honest_sender(setup).incoming(nothing())),
        noticed_by: &[52, 53, 54, 55, 63, 64, 70, 72, 76],
    },
    Fault {
        what: "a sender that hears every third report",
        who: Faulty::Sender(|setup| {
            let mut reports = 0;
            honest_sender(setup).incoming(Box::new(move |packet| {
                reports += u32::from(matches!(packet, Packet::Report(_)));
                (reports % 3 == 1).then_some(ms(0))
            }))
        }),
        noticed_by: &[56, 61, 63, 66, 71, 78, 79],
    },
    Fault {
        what: "a sender that takes p for a tenth of it",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.p = LossEventRate::new(report.p.get() * 0.1);
            })
        }),
        noticed_by: &[48, 49, 50, 51],
    },
    Fault {
        what: "a sender that takes no notice of a higher p",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.p = LossEventRate::new(report.p.get().min(1e-6));
            })
        }),
        noticed_by: &[48, 68],
    },
    Fault {
        what: "a sender that takes X_recv for half as much again",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, |report| {
                report.receive_rate = report.receive_rate * 1.5;
            })
        }),
        noticed_by: &[57, 58, 59, 62, 78],
    },
    Fault {
        what: "a sender that remembers the largest X_recv for ever",
        who: Faulty::Sender(|setup| {
            sender_hearing(setup, {
                let mut largest = Rate::ZERO;
                move |report| {
                    largest = largest.max(report.receive_rate);
                    report.receive_rate = largest;
                }
            })
        }),
        noticed_by: &[59, 68, 69, 78],
    },
    Fault {
        what: "a sender that forgets t_delay",
        who: Faulty::Sender(|setup| sender_hearing(setup, |report| report.delay = ms(0))),
        noticed_by: &[65, 66, 67],
    },
    Fault {
        what: "a sender that tells twice its R",
        who: Faulty::Sender(|setup| sender_telling(setup, |data| data.rtt_micros *= 2)),
        noticed_by: &[60, 65],
    },
    Fault {
        what: "a sender that is patient without reports",
        who: Faulty::Sender(|setup| {
            configured_sender(setup, |config| config.min_nofeedback = ms(10_000))
        }),
        noticed_by: &[71, 73, 74, 75, 77],
    },
    Fault {
        what: "a sender that does not space by the square root of R",
        who: Faulty::Sender(|setup| {
            configured_sender(setup, |config| config.oscillation_reduction = false)
        }),
        noticed_by: &[80],
    },
    Fault {
        what: "a sender that follows RFC 3448",
        who: Faulty::Sender(|setup| {
            configured_sender(setup, |config| config.standard = Standard::Rfc3448)
        }),
        noticed_by: &[52, 54, 56, 58, 67, 68],
    },
    Fault {
        what: "a sender whose clock is twice as fast",
        who: Faulty::Sender(|setup| honest_sender(setup).percent_of_pace(200)),
        noticed_by: &[60, 69, 82],
    },
    Fault {
        what: "a sender that wakes every 200 ms",
        who: Faulty::Sender(|setup| {
            honest_sender(setup).outgoing(Box::new(|packet| {
                let Packet::Data(data) = packet else {
                    return Some(ms(0));
                };
                Some(Duration::from_micros(
                    (200_000 - data.timestamp % 200_000).into(),
                ))
            }))
        }),
        noticed_by: &[52, 83],
    },
    Fault {
        what: "a sender that saves up all that it did not send",
        who: Faulty::Sender(|setup| {
            let (greedy, pause) = (
                Setup {
                    pause: None,
                    ..*setup
                },
                setup.pause,
            );
            honest_sender(&greedy).outgoing(Box::new(move |packet| {
                let (Packet::Data(data), Some(pause)) = (packet, pause) else {
                    return Some(ms(0));
                };
                let at = Duration::from_micros(data.timestamp.into());
                let waits = (pause.from..pause.to).contains(&at);
                Some(if waits { pause.to - at } else { ms(0) })
            }))
        }),
        noticed_by: &[81, 82],
    },
];

#[test]
fn each_check_of_the_second_list_is_failed_by_some_fault() {
    assert_noticed(&extended::checks(), FAULTS);
}
