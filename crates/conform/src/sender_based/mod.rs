//! Sender-based mode: receivers report arrivals, and senders compute p and X_recv from them.
//!
//! The same list for each format, `S.<format>-<n>`: RFC 8888 (`ccfb`), transport-wide feedback (`twcc`) and
//! the `light` paper's SACK vector (`sack`). The quoted sections are sections of RFC 5348 that a sender with such
//! reports must still fulfil, and of RFC 8888.

mod path;
mod receiver;
mod sender;

use crate::check::Check;

/// All, in the order of formats and numbers.
pub fn checks() -> Vec<&'static Check> {
    [ccfb::CHECKS, twcc::CHECKS, sack::CHECKS]
        .into_iter()
        .flatten()
        .collect()
}

/// The list for one format. Checks of what the format cannot tell are given by number and left out of it.
macro_rules! format {
    ($format:ident, $mode:ident, $marks:expr, $resolution:expr) => {
        mod $format {
            use evenkeel_rtp::session::FeedbackMode;

            use super::path::{self, run};
            use super::{receiver, sender};
            use crate::check::{Check, RFC_5348, Run};
            use crate::interposer::Side;

            const MODE: FeedbackMode = FeedbackMode::$mode;

            macro_rules! runs {
                ($name:ident, $title:literal, $script:expr) => {
                    static $name: Run = run(concat!(stringify!($format), "-", $title), MODE, $script);
                };
            }

            runs!(PLAIN, "plain", path::plain);
            runs!(DOUBLED, "doubled", path::doubled);
            runs!(REPEATED, "repeated", path::repeated);
            runs!(OVERTAKEN, "overtaken", path::overtaken);
            runs!(THINNED, "thinned", path::thinned);
            runs!(REORDERED, "reordered", path::reordered);
            runs!(SILENT, "silent", path::silent);
            runs!(MARKED, "marked", path::marked);

            macro_rules! check {
                ($number:literal, $subject:ident, $title:literal, $section:literal, $runs:expr, $judge:expr) => {
                    Check {
                        id: concat!("S.", stringify!($format), "-", $number),
                        subject: Side::$subject,
                        title: $title,
                        section: $section,
                        rfc: RFC_5348,
                        runs: $runs,
                        judge: $judge,
                    }
                };
            }

            const ALL: &[Check] = &[
                check!(1, Receiver, "packets that came and were not reported as come within two round trips",
                    "RFC 8888 §3.1", &[&PLAIN], receiver::unreported),
                check!(2, Receiver, "packets reported as come that had not",
                    "RFC 8888 §3.1", &[&PLAIN], receiver::invented),
                check!(3, Receiver, "lost packets that no report calls missing",
                    "RFC 8888 §3.1", &[&PLAIN], receiver::concealed),
                check!(4, Receiver, "packets between two reports that neither speaks of",
                    "RFC 8888 §3.1", &[&PLAIN], receiver::passed_over),
                check!(5, Receiver, "longest time from report to report, ms: a round trip",
                    "RFC 5348 §6.2", &[&PLAIN], receiver::longest_wait),
                check!(6, Receiver, "from the third packet above a loss to the report of it, ms",
                    "RFC 5348 §6.1", &[&PLAIN], receiver::at_once),
                check!(7, Sender, "rate when every 50th packet is lost, bytes a second",
                    "RFC 5348 §4.3", &[&PLAIN], sender::follows_the_equation),
                check!(8, Sender, "rate over that of the plain path: each report comes twice",
                    "RFC 5348 §5.1", &[&DOUBLED, &PLAIN], sender::as_plain),
                check!(9, Sender, "the same: each report comes again two seconds later",
                    "RFC 5348 §5.1", &[&REPEATED, &PLAIN], sender::as_plain),
                check!(10, Sender, "the same: reports overtake each other",
                    "RFC 5348 §5.1", &[&OVERTAKEN, &PLAIN], sender::nearly_as_plain),
                check!(11, Sender, "the same: every third report is lost",
                    "RFC 8888 §5", &[&THINNED, &PLAIN], sender::nearly_as_plain),
                check!(12, Sender, "the same: packets overtake each other, by fewer than three",
                    "RFC 5348 §5.1", &[&REORDERED, &PLAIN], sender::nearly_as_plain),
                check!(13, Sender, "rate over that before: no report comes any more",
                    "RFC 5348 §4.4", &[&SILENT], sender::halves),
                check!(14, Receiver, "error of reported arrival times, ms",
                    "RFC 8888 §3.1", &[&PLAIN], |e| receiver::time_error(e, $resolution)),
                check!(15, Receiver, "marks that are not reported, and packets reported as marked that were not",
                    "RFC 8888 §3.1", &[&MARKED], receiver::wrong_marks),
                check!(16, Sender, "rate when every 50th packet is marked, bytes a second",
                    "RFC 5348 §5.2", &[&MARKED], sender::follows_the_equation),
            ];

            /// Those that the format can fulfil: times from 14 on, marks from 15 on.
            pub(super) const CHECKS: &[Check] = ALL.split_at($marks).0;
        }
    };
}

format!(ccfb, Ccfb, 16, 1.0);
format!(twcc, Twcc, 14, 0.25);
format!(sack, Sack, 13, 0.0);
