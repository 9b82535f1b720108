//! Takes X back where a queue stands that would make frames late.
//!
//! TFRC heeds losses alone, so on a drop-tail link it fills the queue, and frames are late behind it where the
//! deadline has room for a part of it only. So a queue that stands is heeded like a loss: X is taken back by a
//! share of itself. Once the queue has gone X returns to nearly what it was, and grows from there by a part of a
//! packet at a time, and by more the longer no queue stands; but hardly beyond what the path was seen to carry. Flows
//! that see the same queue thus come together, as TCP's do: the larger gives up more, and all gain alike.
//!
//! A queue that is still there when ours would have drained, or that overflows time after time although X is taken back, is that
//! of others, with whom TFRC must be free to compete: X is then its alone for a while.
//!
//! Where the deadline has no room for a queue, X is taken back as where it has most: frames are made smaller then, and what
//! they leave unused would be a queue for ever. What a single frame queues for is not seen here, but where a packet is lost; see
//! `ceiling.rs`.

use std::mem;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::ceiling::FREE;

/// What a report says of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// X after it.
    pub(crate) allowed: Rate,
    /// X_recv, or where a round trip tells of few frames the largest of late.
    pub(crate) received: Rate,
    /// What the path was seen to carry of late: the largest X_recv, or more where frames leave pauses between them.
    pub(crate) carried: Rate,
    /// R.
    pub(crate) rtt: Duration,
    /// The queue that stands.
    pub(crate) queue: Duration,
    /// The queue that the deadline has room for beside a frame.
    pub(crate) room: Duration,
    /// The longest that the last packet of a frame met of late, what the frame itself made included.
    pub(crate) frame_queue: Duration,
    /// p rose: a loss event began sooner than those before.
    pub(crate) lost: bool,
    /// The path has no time for a frame worth sending, whatever the queue: X is TFRC's alone.
    pub(crate) late: bool,
}

/// The bound on X, while there is one.
#[derive(Clone, Debug)]
pub(crate) struct Drain {
    /// A full packet.
    packet: Bytes,
    frame_interval: Duration,
    /// When the last report came.
    last: Instant,
    /// When a queue last came, for which X was taken back.
    began: Instant,
    /// What frames met then.
    met: Duration,
    /// When a queue last overflowed although it was, and how many have since a shorter one lost a packet.
    overflowed: Instant,
    overflows: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// X is TFRC's alone, and stays so until then.
    Free { until: Instant },
    /// No queue stands, and X grows: soon to nearly what was sent when the queue came (`top`), then slowly.
    /// `rounds` reports have told since then of frames that left at another rate.
    Growing { rate: Rate, top: Rate, rounds: f64 },
    /// A queue stands.
    Taken(Taken),
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    rate: Rate,
    /// What was sent when the queue came.
    top: Rate,
    /// The longest queue that was met since one stands.
    longest: Duration,
    /// When the queue was looked at last, and what it was.
    looked: Instant,
    queue: Duration,
}

impl Drain {
    /// No bound yet, on frames that come at this interval and leave in packets of this size.
    pub(crate) fn new(packet: Bytes, frame_interval: Duration) -> Self {
        Self {
            packet,
            frame_interval,
            last: Instant::ZERO,
            began: Instant::ZERO,
            met: Duration::ZERO,
            overflowed: Instant::ZERO,
            overflows: 0,
            state: State::Free {
                until: Instant::ZERO,
            },
        }
    }

    /// The bound.
    pub(crate) fn rate(&self) -> Rate {
        match self.state {
            State::Free { .. } => Rate::INFINITY,
            State::Growing { rate, .. } | State::Taken(Taken { rate, .. }) => rate,
        }
    }

    /// The queue is that of others.
    pub(crate) fn yields(&self, now: Instant) -> bool {
        matches!(self.state, State::Free { until } if now < until)
    }

    /// A report came.
    pub(crate) fn observe(&mut self, now: Instant, report: &Report) {
        let elapsed = now.saturating_since(self.last);
        self.last = now;
        let others = self.overflows(now, report);
        // With less room than jitter takes, frames are made smaller for a queue as where there is none.
        let half = report.room / 2;
        let tolerated = if half < TOLERATED / 2 {
            TOLERATED
        } else {
            TOLERATED.min(half)
        };
        let stands = report.queue > tolerated;
        self.state = match self.state {
            State::Free { until } if now < until => self.state,
            _ if report.late => {
                self.overflows = 0;
                State::Free { until: now }
            }
            _ if others => State::Free { until: now + FREE },
            State::Free { .. } if !stands => self.state,
            State::Growing { rate, top, rounds } if !stands => {
                let more = elapsed.as_secs_f64() / self.round(report).as_secs_f64();
                State::Growing {
                    rate: self.grown(rate, top, rounds, more, report),
                    top,
                    rounds: rounds + more,
                }
            }
            State::Taken(Taken { rate, top, .. }) if !stands => State::Growing {
                rate,
                top,
                rounds: 0.0,
            },
            State::Taken(taken) => self.waited(now, taken, report),
            State::Free { .. } | State::Growing { .. } => {
                let sent = self.sent(report);
                self.began = now;
                self.met = report.frame_queue;
                State::Taken(Taken {
                    rate: sent * KEPT,
                    top: sent,
                    longest: report.queue,
                    looked: now,
                    queue: report.queue,
                })
            }
        };
    }

    /// Queues overflow time after time although X was taken back. A single one is no sign of others: the path may carry less than it
    /// did. Nor are losses that come whatever the queue is: the path loses packets at random.
    fn overflows(&mut self, now: Instant, report: &Report) -> bool {
        // Of what left before X was taken back some may be lost for a round trip.
        let is_held = !matches!(self.state, State::Free { .. })
            && now.saturating_since(self.began) >= self.round(report);
        if !report.lost || !is_held {
            return false;
        }
        if report.frame_queue <= TOLERATED.max(self.met.mul_f64(FULL)) {
            self.overflows = 0;
            return false;
        }
        let before = mem::replace(&mut self.overflowed, now);
        // One that overflows in the report by which it comes is counted with what was held before it. It may overflow for as
        // long as X takes to come down, so what is lost before a report has seen it go is not another.
        let is_another = match self.state {
            State::Taken(_) => before < self.began,
            _ => before <= self.began,
        };
        if now.saturating_since(before) >= FREE {
            self.overflows = 1;
        } else if is_another {
            self.overflows += 1;
        }
        self.overflows >= OVERFLOWS
    }

    /// The queue still stands.
    fn waited(&self, now: Instant, taken: Taken, report: &Report) -> State {
        let longest = taken.longest.max(report.queue);
        let ours = longest * PATIENCE + report.rtt * 2;
        if now.saturating_since(self.began) > ours {
            State::Free { until: now + FREE }
        } else if now.saturating_since(taken.looked) < self.round(report) {
            State::Taken(Taken { longest, ..taken })
        } else {
            let shorter = report.queue < taken.queue;
            State::Taken(Taken {
                rate: if shorter {
                    taken.rate
                } else {
                    self.sent(report) * KEPT
                },
                longest,
                looked: now,
                queue: report.queue,
                ..taken
            })
        }
    }

    /// What is sent. X is up to twice as much in slow start, and where there is less to send (RFC 5348 §4.3).
    fn sent(&self, report: &Report) -> Rate {
        report
            .received
            .max(report.allowed / 2.0)
            .min(report.allowed)
            .min(self.rate())
    }

    /// What X may be where no queue has stood for so many rounds, and then for some more.
    fn grown(&self, rate: Rate, top: Rate, rounds: f64, more: f64, report: &Report) -> Rate {
        let missing = (top * NEAR).bytes_per_sec() - rate.bytes_per_sec();
        let back = missing.max(0.0) * (BACK * more).min(1.0);
        let gain = self.packet / self.round(report) * (GROWTH * more * (1.0 + rounds * RISE));
        let more = rate + Rate::from_bytes_per_sec(back) + gain;
        more.min(report.carried * BEYOND).max(rate)
    }

    /// The time until a report tells of frames that left at another rate.
    fn round(&self, report: &Report) -> Duration {
        report.rtt + self.frame_interval
    }
}

/// A queue of this length may stand: it is as good as jitter. It is one on all paths, as those whose deadline has room
/// for more would leave the least to those that share a queue with them. Where there is hardly room for it, half of the
/// room: frames that are made smaller for a queue drain it, and no more of it is seen to stand.
pub(crate) const TOLERATED: Duration = Duration::from_millis(14);

/// X is taken back to this part of what was sent, and again each time that the queue is no shorter: the path may carry
/// less than it did.
const KEPT: f64 = 0.88;

/// A queue drains in some eight times its length at 0.88 of what the path carries. One that stands longer than this is
/// that of others.
const PATIENCE: u32 = 10;

/// A loss is that of a full queue if frames met more of late than this part of what they met when X was taken back for one. (What
/// the report of the loss itself met is no measure: of few packets the loss is known when the queue has gone.)
const FULL: f64 = 0.7;

/// As many tell of others, with X taken back anew by the report of the one or after it, and before the next.
const OVERFLOWS: u32 = 2;

/// Once the queue has gone X returns to this part of what was sent when it came.
const NEAR: f64 = 0.95;

/// It comes nearer by this part of what is missing each time that a report tells of what left.
const BACK: f64 = 0.1;

/// And grows by this part of a packet in that time: four reports must have met a queue before it is one.
const GROWTH: f64 = 0.15;

/// X does not grow further than this beyond what the path was seen to carry. More would not be seen: frames that the
/// encoder cannot make so large, or that are made smaller for a queue, say nothing of the path.
const BEYOND: f64 = 1.03;

/// By this share of it more for each such report: after twenty without a queue it grows twice as fast. All who see a
/// queue see it at one time, so they still gain alike; and a link that is four times as wide is not filled for half a
/// minute.
const RISE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// A path that carries 100,000 bytes a second, and flows that send all that X allows. Reports come once a round
    /// trip, and tell of the queue at the end of the one before.
    struct Bench {
        flows: Vec<Drain>,
        /// X as TFRC has it, in bytes a second.
        tfrc: Vec<f64>,
        /// What others send.
        others: f64,
        queue: f64,
        now: Instant,
    }

    impl Bench {
        fn new(tfrc: &[f64]) -> Self {
            let flow = || Drain::new(Bytes::new(1_200), Duration::from_millis(40));
            Self {
                flows: tfrc.iter().map(|_| flow()).collect(),
                tfrc: tfrc.to_vec(),
                others: 0.0,
                queue: 0.0,
                now: Instant::ZERO,
            }
        }

        fn rates(&self) -> Vec<f64> {
            let x = |(flow, tfrc): (&Drain, &f64)| flow.rate().bytes_per_sec().min(*tfrc);
            self.flows.iter().zip(&self.tfrc).map(x).collect()
        }

        /// Over so many round trips, of each: what the flows send in all, and the queue in seconds.
        fn run(&mut self, round_trips: u32) -> Vec<(f64, f64)> {
            let step = |_| {
                self.now += RTT;
                let (rates, seen) = (self.rates(), self.queue);
                let sum = rates.iter().sum::<f64>() + self.others;
                self.queue = (seen + (sum / 1e5 - 1.0) * RTT.as_secs_f64()).clamp(0.0, 0.3);
                for (flow, rate) in self.flows.iter_mut().zip(&rates) {
                    flow.observe(
                        self.now,
                        &Report {
                            allowed: Rate::from_bytes_per_sec(*rate),
                            received: Rate::from_bytes_per_sec(1e5),
                            carried: Rate::from_bytes_per_sec(1e5),
                            rtt: RTT,
                            queue: Duration::from_secs_f64(seen),
                            room: Duration::from_millis(40),
                            frame_queue: Duration::from_secs_f64(seen),
                            lost: false,
                            late: false,
                        },
                    );
                }
                (rates.iter().sum(), seen)
            };
            (0..round_trips).map(step).collect()
        }
    }

    #[test]
    fn alone_it_fills_the_path_within_what_the_deadline_leaves() {
        let mut bench = Bench::new(&[1.6e5]);
        bench.run(50);
        let run = bench.run(300);
        let sent = run.iter().map(|(sent, _)| sent).sum::<f64>() / 300.0;
        assert!(sent > 0.85e5, "{sent}");
        assert!(run.iter().all(|(_, queue)| *queue < 0.044), "{run:?}");
    }

    #[test]
    fn flows_that_began_unequal_come_together() {
        let mut bench = Bench::new(&[0.8e5, 0.3e5]);
        bench.run(20);
        bench.tfrc = vec![2e5, 2e5];
        bench.run(300);
        let rates = bench.rates();
        assert!(rates[0] / rates[1] < 1.2, "{rates:?}");
    }

    #[test]
    fn a_queue_of_others_leaves_x_to_tfrc_for_most_of_the_time() {
        let mut bench = Bench::new(&[0.5e5]);
        bench.others = 1e5;
        let run = bench.run(1_000);
        let free = run.iter().filter(|(sent, _)| *sent == 0.5e5).count();
        assert!(free > 900, "{free}");
    }

    #[test]
    fn it_is_held_again_once_the_others_are_gone() {
        let mut bench = Bench::new(&[1.2e5]);
        bench.others = 1e5;
        bench.run(100);
        bench.others = 0.0;
        bench.run(400);
        assert!(bench.run(100).iter().all(|(_, queue)| *queue < 0.044));
    }

    /// A path of 100 ms that carries what is sent, which was 100,000 bytes a second of late.
    fn met(allowed: Rate, queue: u64) -> Report {
        Report {
            allowed,
            received: allowed.max(Rate::from_bytes_per_sec(1e5)),
            carried: allowed.max(Rate::from_bytes_per_sec(1e5)),
            rtt: RTT,
            queue: Duration::from_millis(queue),
            room: Duration::from_millis(40),
            frame_queue: Duration::from_millis(queue),
            lost: false,
            late: false,
        }
    }

    /// What X is after each of these queues, with reports so far apart; at first 100,000 bytes a second.
    fn rates(packet: u64, apart: u64, queues: impl IntoIterator<Item = u64>) -> Vec<f64> {
        let mut drain = Drain::new(Bytes::new(packet), Duration::from_millis(40));
        let mut now = Instant::ZERO;
        let rate = |queue| {
            let x = match drain.rate() {
                Rate::INFINITY => Rate::from_bytes_per_sec(1e5),
                rate => rate,
            };
            now += Duration::from_millis(apart);
            drain.observe(now, &met(x, queue));
            drain.rate().bytes_per_sec().round()
        };
        queues.into_iter().map(rate).collect()
    }

    #[test]
    fn a_queue_that_is_no_shorter_is_heeded_again() {
        assert_eq!(
            rates(1_200, 140, [16, 16, 14, 14]),
            [88e3, 77_440.0, 77_440.0, 80_482.0]
        );
        assert_eq!(
            rates(1_200, 140, [40, 30, 30, 20]),
            [88e3, 88e3, 77_440.0, 77_440.0]
        );
        // A report of frames that left before X was taken back tells nothing of it.
        assert_eq!(rates(1_200, 70, [40, 40, 40]), [88e3, 88e3, 77_440.0]);
    }

    #[test]
    fn once_the_queue_has_gone_x_returns_to_nearly_what_it_was() {
        let back = rates(1, 140, [40].into_iter().chain([0; 30]));
        assert!((94e3..95.5e3).contains(&back[30]), "{back:?}");
    }

    /// 0.15 of 1,200 bytes in each 140 ms is 1,286 bytes a second more, and 2.45 and 3.95 times that after 29 and 59
    /// without a queue.
    #[test]
    fn then_it_grows_by_a_part_of_a_packet_in_a_round_trip_and_by_more_as_no_queue_stands() {
        let grown = rates(1_200, 140, [40].into_iter().chain([0; 61]));
        let first = grown[2] - 0.1 * (95e3 - 88e3) - grown[1];
        assert!((1_285.0..1_287.0).contains(&first), "{grown:?}");
        for (report, more) in [(31, 3_150.0), (61, 5_079.0)] {
            let gained = grown[report] - grown[report - 1];
            assert!(
                (more - 1.5..more + 1.5).contains(&gained),
                "{gained} {grown:?}"
            );
        }
    }

    #[test]
    fn x_does_not_outgrow_what_the_path_was_seen_to_carry() {
        let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
        for i in 0..100 {
            let x = drain.rate().min(Rate::from_bytes_per_sec(1e5));
            let queue = if i == 0 { 40 } else { 0 };
            let report = Report {
                received: Rate::from_bytes_per_sec(0.8e5),
                carried: Rate::from_bytes_per_sec(1e5),
                ..met(x, queue)
            };
            drain.observe(Instant::from_millis(140 * i), &report);
        }
        assert_eq!(drain.rate(), Rate::from_bytes_per_sec(1.03e5));
        // What has been reached is not given up where frames are small for a while.
        let small = Report {
            carried: Rate::from_bytes_per_sec(0.5e5),
            ..met(drain.rate(), 0)
        };
        drain.observe(Instant::from_millis(14_100), &small);
        assert_eq!(drain.rate(), Rate::from_bytes_per_sec(1.03e5));
    }

    /// Whether X is TFRC's alone after these queues, the one that stands and the longest that frames met, in milliseconds, and
    /// losses, with reports so far apart; a round trip and a frame interval are 140 ms.
    fn yields(apart: u64, reports: &[(u64, u64, bool)]) -> bool {
        let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
        let mut now = Instant::ZERO;
        for &(queue, longest, lost) in reports {
            now += Duration::from_millis(apart);
            let report = Report {
                frame_queue: Duration::from_millis(queue.max(longest)),
                lost,
                ..met(drain.rate().min(Rate::from_bytes_per_sec(1e5)), queue)
            };
            drain.observe(now, &report);
        }
        drain.yields(now)
    }

    /// X is taken back for a queue, which overflows all the same, and has gone.
    const HELD: [(u64, u64, bool); 3] = [(40, 40, false), (40, 40, true), (0, 0, false)];

    #[test]
    fn a_queue_that_overflows_time_after_time_although_x_is_taken_back_is_that_of_others() {
        let twice = [HELD; 2].concat();
        assert!(yields(140, &twice));
        // A path that carries less than it did overflows as X is taken back, and for as long as it takes to come down.
        assert!(!yields(140, &HELD));
        let lost = (40, 40, true);
        let fall = [(40, 40, false), lost, lost, lost, (0, 0, false)];
        assert!(!yields(140, &fall));
        // What left before X was taken back may be lost until its report is due.
        assert!(!yields(70, &twice));
        // One that overflows as it comes is held if X was taken back for the one before, and is another when that has gone.
        let at_once = |n| [[lost, (0, 0, false)]].repeat(n).concat();
        assert!(!yields(140, &at_once(2)));
        assert!(yields(140, &at_once(3)));
        let fall = [&at_once(1)[..], &fall[1..]].concat();
        assert!(!yields(140, &fall));
        // Nor is what overflows twice although X was not taken back between.
        assert!(!yields(
            140,
            &[&HELD[..2], &[(0, 0, false), (0, 40, true), (0, 40, true)]].concat()
        ));
        // One that is gone again by the next packet may have overflowed.
        let comes_and_goes = [(40, 40, false), (0, 0, false), (0, 40, true)];
        assert!(yields(140, &[comes_and_goes; 2].concat()));
        // One of long ago tells nothing.
        let calm = vec![(0, 0, false); 30_000 / 140];
        let late = [&HELD[..], &calm, &HELD].concat();
        assert!(!yields(140, &late));
        assert!(yields(140, &[&late[..], &HELD].concat()));
    }

    #[test]
    fn a_path_that_loses_packets_whatever_the_queue_tells_nothing_of_others() {
        // X was taken back where frames met 40 ms.
        let then = |met| [(40, 40, false), (0, 0, false), (0, met, true)];
        assert!(yields(140, &[then(29); 2].concat()));
        assert!(!yields(140, &[then(28); 4].concat()));
        assert!(!yields(140, &[HELD, then(28), HELD].concat()));
        assert!(yields(140, &[HELD, then(28), HELD, HELD].concat()));
        // And 16, of which seven tenths are no queue yet.
        let short = |met| [(16, 16, false), (0, 0, false), (0, met, true)];
        assert!(yields(140, &[short(15); 2].concat()));
        assert!(!yields(140, &[short(14); 4].concat()));
    }

    #[test]
    fn jitter_is_no_queue_nor_is_half_of_what_there_is_room_for() {
        for (queue, room, held) in [
            (14, 40, false),
            (15, 40, true),
            (8, 16, false),
            (9, 16, true),
        ] {
            let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
            let report = Report {
                room: Duration::from_millis(room),
                ..met(Rate::from_bytes_per_sec(1e5), queue)
            };
            drain.observe(Instant::from_millis(100), &report);
            assert_eq!(drain.rate() < Rate::INFINITY, held, "{queue}");
        }
    }

    #[test]
    fn of_a_source_with_less_to_send_what_it_sends_is_taken_back() {
        let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
        let report = Report {
            received: Rate::from_bytes_per_sec(1e5),
            ..met(Rate::from_bytes_per_sec(2e5), 40)
        };
        drain.observe(Instant::from_millis(100), &report);
        assert_eq!(drain.rate(), Rate::from_bytes_per_sec(0.88e5));
    }

    #[test]
    fn a_path_whose_deadline_has_hardly_any_room_for_a_queue_leaves_as_much_as_one_that_has_most() {
        for room in [0, 1, 13, 1_000] {
            for (queue, rate) in [(14, f64::INFINITY), (15, 0.88e5)] {
                let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
                let report = Report {
                    room: Duration::from_millis(room),
                    ..met(Rate::from_bytes_per_sec(1e5), queue)
                };
                drain.observe(Instant::from_millis(100), &report);
                assert_eq!(drain.rate(), Rate::from_bytes_per_sec(rate), "{room}");
            }
        }
    }

    #[test]
    fn a_path_that_has_no_time_for_a_frame_has_no_bound() {
        let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
        let mut report = met(Rate::from_bytes_per_sec(1e5), 200);
        drain.observe(Instant::from_millis(100), &report);
        assert!(drain.rate() < Rate::INFINITY);
        report.late = true;
        drain.observe(Instant::from_millis(200), &report);
        assert_eq!(drain.rate(), Rate::INFINITY);
        assert!(!drain.yields(Instant::from_millis(201)));
    }

    #[test]
    fn a_queue_is_full_by_the_longest_that_frames_met_as_it_came() {
        for (longest, full) in [(43, true), (42, false)] {
            let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
            let mut now = Instant::ZERO;
            let came = Report {
                frame_queue: Duration::from_millis(60),
                ..met(Rate::from_bytes_per_sec(1e5), 20)
            };
            let gone = met(Rate::from_bytes_per_sec(1e5), 0);
            let lost = Report {
                frame_queue: Duration::from_millis(longest),
                lost: true,
                ..gone
            };
            for report in [came, gone, lost, came, gone, lost] {
                now += Duration::from_millis(140);
                drain.observe(now, &report);
            }
            assert_eq!(drain.yields(now), full, "{longest}");
        }
    }

    #[test]
    fn overflows_before_a_path_had_no_time_for_a_frame_do_not_count() {
        for late in [false, true] {
            let mut drain = Drain::new(Bytes::new(1_200), Duration::from_millis(40));
            let mut now = Instant::ZERO;
            for (queue, lost, late) in [
                (40, false, false),
                (40, true, false),
                (0, false, late),
                (40, false, false),
                (40, true, false),
            ] {
                now += Duration::from_millis(140);
                let report = Report {
                    lost,
                    late,
                    ..met(Rate::from_bytes_per_sec(1e5), queue)
                };
                drain.observe(now, &report);
            }
            assert_eq!(drain.yields(now), !late);
        }
    }
}
