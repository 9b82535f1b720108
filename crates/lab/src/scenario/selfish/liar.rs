//! A receiver that lies: it keeps what an honest one keeps, and changes what it reports.

mod arrivals;

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel_link::Random;
use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::{Bye, TfrcFeedback, sack};
use evenkeel_rtp::packet::rtp::RtpPacket;
use evenkeel_rtp::session::{Config, ReceiveConfig};
use evenkeel_sim::{Agent, Body, FeedbackMode, LOWER_LAYERS, Packet};
use tfrc::sent_packets::{Arrivals, MeteredArrivals};
use tfrc::seq::Extender;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate};
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig};

use super::bend::Bend;
use super::lie::Lie;
use super::slow_clock::SlowClock;
use crate::network::Edition;

/// What an honest receiver keeps.
#[derive(Debug)]
enum Reception {
    Tfrc(Box<Receiver>),
    Arrivals(Box<Arrivals<512>>),
    Metered(Box<MeteredArrivals<1_024>>),
}

impl Reception {
    fn new(feedback: FeedbackMode, edition: Edition) -> Self {
        match feedback {
            FeedbackMode::Tfrc | FeedbackMode::App => {
                let config = ReceiverConfig {
                    standard: edition.standard(),
                    ..ReceiveConfig::new(super::PAYLOAD_TYPE).tfrc
                };
                Self::Tfrc(Box::new(Receiver::new(config)))
            }
            FeedbackMode::Ccfb | FeedbackMode::Twcc => {
                Self::Arrivals(Box::new(Arrivals::new(LIMIT)))
            }
            FeedbackMode::Sack => Self::Metered(Box::new(MeteredArrivals::new(LIMIT))),
        }
    }
}

/// The receiver.
#[derive(Debug)]
pub(super) struct Liar {
    lie: Lie,
    feedback: FeedbackMode,
    edition: Edition,
    reception: Reception,
    /// Its synchronisation source.
    name: u32,
    /// When the first loss was due to be told, for one that leaves before it is.
    missed: Option<Instant>,
    extender: Extender,
    source: u32,
    /// The share of packets that the path marks, or drops if they are not ECN-capable, and what draws them:
    /// the last hop of it is here.
    marks: (f64, Random),
    random: Random,
    made: u8,
    /// Reports so far.
    reports: u32,
    /// One past what reports have told.
    reported: u64,
    /// The round trip of the path, which no sender tells it before the first report.
    path: Duration,
    bend: Bend,
    slow_clock: SlowClock,
    /// When the next report is dated ahead.
    ahead: Instant,
    withheld: u32,
    outgoing: VecDeque<Vec<u8>>,
    /// Reports that are sent once more, and when.
    resends: VecDeque<(Instant, Vec<u8>)>,
}

const FIRST_NAME: u32 = 7;
/// The most packets that a report speaks of.
const LIMIT: usize = 350;
const REPLAYED_AFTER: Duration = Duration::from_secs(1);
/// A report is dated ahead by less than a step of the clock that a sender recognises.
const MAX_DATED_AHEAD: Duration = Duration::from_millis(900);
/// A sender learns how long a packet takes from fewer reports.
const LEARNING: u32 = 20;

impl Liar {
    pub(super) fn new(
        lie: Lie,
        feedback: FeedbackMode,
        edition: Edition,
        path: Duration,
        marks: f64,
        seed: u64,
    ) -> Self {
        Self {
            lie,
            feedback,
            edition,
            reception: Reception::new(feedback, edition),
            name: FIRST_NAME,
            missed: None,
            extender: Extender::new(),
            source: 0,
            marks: (marks, Random::new(seed, 1)),
            random: Random::new(seed, 2),
            made: 0,
            reports: 0,
            reported: 0,
            path,
            bend: Bend::default(),
            slow_clock: SlowClock::default(),
            ahead: Instant::ZERO,
            withheld: 0,
            outgoing: VecDeque::new(),
            resends: VecDeque::new(),
        }
    }

    /// What a packet says, if it is media.
    fn read(&mut self, now: Instant, packet: &Packet<Body>) -> Option<Arrival> {
        let Body::Bytes(bytes) = &packet.body else {
            return None;
        };
        let rtp = RtpPacket::parse(bytes).ok()?;
        let header = rtp.header();
        let mut elements = rtp.elements().flatten();
        let timing = elements.find(|element| element.id == Config::EXTENSION_ID)?;
        let timing = RttSendTs::parse(timing.data).ok()?;
        let number = elements.find(|element| element.id == Config::TRANSPORT_SEQUENCE_ID);
        let number =
            number.and_then(|element| Some(u16::from_be_bytes(element.data.try_into().ok()?)));
        self.source = header.ssrc;
        let is_congested = self.marks.1.unit() < self.marks.0;
        if is_congested && packet.ecn == Ecn::NotEct {
            return None;
        }
        Some(Arrival {
            seq: self.extender.extend(number.unwrap_or(header.sequence))?,
            at: now,
            timestamp: timing.send_time,
            rtt: timing.rtt(),
            size: packet.size - LOWER_LAYERS,
            ecn: if is_congested { Ecn::Ce } else { packet.ecn },
        })
    }

    fn due(&self) -> Option<Instant> {
        match &self.reception {
            Reception::Tfrc(receiver) => receiver.poll_timeout(),
            Reception::Arrivals(arrivals) => arrivals.poll_timeout(),
            Reception::Metered(metered) => metered.arrivals().poll_timeout(),
        }
    }

    /// The report that is due, if it is, as datagrams.
    fn report(&mut self, now: Instant) -> Option<()> {
        if self.due()? > now {
            return None;
        }
        let mut buf = [0; 1_200];
        self.reports += 1;
        match &mut self.reception {
            Reception::Tfrc(receiver) => {
                let before = receiver.receive_rate();
                let report = receiver.poll_report(now)?;
                let rtt = receiver.round_trip_time().unwrap_or_default();
                let reports_loss =
                    report.loss_event_rate > LossEventRate::ZERO && report.receive_rate < before;
                let (mut rate, mut p, mut delay) =
                    (report.receive_rate, report.loss_event_rate, report.delay);
                match self.lie {
                    Lie::HideLosses | Lie::EraseMarks => p = LossEventRate::ZERO,
                    Lie::HideHalf => p = LossEventRate::new(p.get() / 2.0),
                    Lie::RaiseReceiveRate => rate = rate * 3.0,
                    Lie::Boast => rate = rate * 1_000.0,
                    _ => delay += self.wait(rtt),
                }
                if self.is_silent(now, report.loss_event_rate > LossEventRate::ZERO) {
                    return None;
                }
                let feedback = TfrcFeedback::new(report.timestamp, delay, rate, p);
                let len =
                    feedback.emit(Config::FEEDBACK_FORMAT, self.name, self.source, &mut buf)?;
                self.send(now, &buf[..len], reports_loss);
            }
            Reception::Arrivals(arrivals) => {
                let span = arrivals.poll_report(now)?;
                let rtt = arrivals.round_trip_time().unwrap_or_default();
                let reported = arrivals.arrivals_in(span).collect();
                self.send_reported(
                    now,
                    span.first,
                    reported,
                    rtt,
                    &mut |liar, first, reported, made_at, buf| {
                        liar.write_arrivals(first, reported, made_at, buf)
                    },
                );
            }
            Reception::Metered(metered) => {
                let (span, mut vector) = metered.poll_report(now)?;
                let rtt = metered.arrivals().round_trip_time().unwrap_or_default();
                let reported = metered.arrivals().arrivals_in(span).collect();
                let times = match self.lie {
                    Lie::RaiseReceiveRate => 3.0,
                    Lie::Boast => 1_000.0,
                    _ => 1.0,
                };
                vector.receive_rate = vector.receive_rate * times;
                vector.delay += self.wait(rtt);
                let ssrcs = (self.name, self.source);
                self.send_reported(
                    now,
                    span.first,
                    reported,
                    rtt,
                    &mut |_, first, reported, _, buf| {
                        vector.first = first as u16;
                        let bits = sack::bits_of(reported.iter().map(Option::is_some));
                        sack::emit(ssrcs, &vector, reported.len(), bits, buf)
                    },
                );
            }
        }
        Some(())
    }

    /// True if it says nothing of what it has: a loss for the first time. Then it leaves before the sender, which waits for
    /// four round trips, takes it for silent.
    fn is_silent(&mut self, now: Instant, reports_loss: bool) -> bool {
        if self.lie != Lie::BeginAgain {
            return false;
        }
        if reports_loss {
            self.missed.get_or_insert(now);
        }
        let Some(missed) = self.missed else {
            return false;
        };
        if now >= missed + self.path * 3 {
            self.leave();
        }
        true
    }

    /// Says BYE, and knows nothing.
    fn leave(&mut self) {
        let mut buf = [0; 8];
        if let Some(len) = Bye::emit(self.name, &mut buf) {
            self.outgoing.push_back(buf[..len].to_vec());
        }
        self.name += 1;
        (self.missed, self.reported) = (None, 0);
        self.reception = Reception::new(self.feedback, self.edition);
    }

    /// How much longer a report has waited than it did.
    fn wait(&self, rtt: Duration) -> Duration {
        match self.lie {
            Lie::LengthenDelay => rtt / 2,
            Lie::Alternate if self.reports.is_multiple_of(2) => rtt / 2,
            Lie::ShortenRALittle => rtt / 32,
            _ => Duration::ZERO,
        }
    }

    fn send(&mut self, now: Instant, report: &[u8], reports_loss: bool) {
        match self.lie {
            Lie::Withhold if self.withheld > 0 => self.withheld -= 1,
            Lie::Withhold if reports_loss => self.withheld = 2,
            Lie::Replay => {
                self.outgoing
                    .extend([report.to_vec(), report.to_vec(), report.to_vec()]);
                self.resends
                    .push_back((now + REPLAYED_AFTER, report.to_vec()));
            }
            _ => self.outgoing.push_back(report.to_vec()),
        }
    }
}

impl Agent for Liar {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Some(arrival) = self.read(now, packet) else {
            return;
        };
        match &mut self.reception {
            Reception::Tfrc(receiver) => {
                receiver.handle_data(&arrival);
            }
            Reception::Arrivals(arrivals) => {
                arrivals.handle_data(&arrival);
            }
            Reception::Metered(metered) => {
                metered.handle_data(&arrival);
            }
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if self.resends.front().is_some_and(|(at, _)| *at <= now) {
            self.outgoing
                .extend(self.resends.pop_front().map(|(_, report)| report));
        }
        if self.outgoing.is_empty() {
            self.report(now);
        }
        let report = self.outgoing.pop_front()?;
        Some(Packet {
            size: Bytes::from(report.len()) + LOWER_LAYERS,
            ecn: Ecn::NotEct,
            body: Body::Bytes(report.into()),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.outgoing.is_empty() {
            return Some(Instant::ZERO);
        }
        let resends = self.resends.front().map(|(at, _)| *at);
        [self.due(), resends].into_iter().flatten().min()
    }
}
