//! A sender, and receivers that come after each other: their reports, true or not, and how they leave.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::pair::{End, PACKET, PAYLOAD_TYPE};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtcp::{Bye, Packet, Packets, ReceiverReport, ReportBlock, ccfb};
use evenkeel_rtp::session::{
    CONTROL_BUFFER, Config, EventKind, FeedbackMode, Incoming, Lie, MediaInfo, SendConfig, Session,
};
use tfrc::Ecn;
use tfrc::time::Instant;

const TICK: Duration = Duration::from_millis(10);
const ONE_WAY: Duration = Duration::from_millis(50);
/// Between two reports.
const INTERVAL: Duration = Duration::from_millis(100);
/// Packets that a report tells of.
const TOLD: u64 = 400;

/// A path that loses packets loses one in so many.
const ONE_IN: u64 = 100;
/// Reports that are not sent, of the four round trips that a sender waits.
const SILENT: u32 = 2;

/// A sender of ours and a path to receivers that come after each other.
pub(super) struct World {
    pub(super) now: Instant,
    pub(super) session: Session,
    pub(super) is_lossy: bool,
    /// The first packet that the present receiver tells of.
    pub(super) told_from: u64,
    /// When each packet left, by its number.
    pub(super) sent: BTreeMap<u64, Instant>,
    /// Whom it was said of that it lies, by what, and whether for one before it.
    pub(super) accused: Vec<(u32, Lie, bool)>,
    /// The last sender report, as reception reports name it, and when it left.
    pub(super) sender_report: Option<(u32, Instant)>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::of(SendConfig::new(PAYLOAD_TYPE), 1)
    }

    /// Where packets are lost.
    pub(super) fn lossy(verify: bool, seed: u64) -> Self {
        let send = SendConfig {
            verify,
            ..SendConfig::new(PAYLOAD_TYPE)
        };
        Self {
            is_lossy: true,
            ..Self::of(send, seed)
        }
    }

    pub(super) fn of(mut send: SendConfig, seed: u64) -> Self {
        send.feedback = FeedbackMode::Ccfb;
        send.leave_out_sequence_numbers = true;
        let now = Instant::from_secs(1);
        let config = Config {
            send: Some(send),
            ..End::A.sender(seed)
        };
        Self {
            now,
            session: Session::new(now, config),
            is_lossy: false,
            told_from: 0,
            sent: BTreeMap::new(),
            accused: Vec::new(),
            sender_report: None,
        }
    }

    /// Lets time pass with this receiver's honest reports, and gives the packets that left.
    pub(super) fn run(&mut self, ssrc: u32, time: Duration) -> usize {
        let (before, until) = (self.sent.len(), self.now + time);
        while self.now < until {
            self.go_on();
            self.report(ssrc, 0);
        }
        self.sent.len() - before
    }

    /// Lets time pass with this receiver's reports that everything came, and gives the packets that left.
    pub(super) fn run_hiding(&mut self, ssrc: u32, time: Duration) -> usize {
        let (before, until) = (self.sent.len(), self.now + time);
        while self.now < until {
            self.go_on();
            let came = self.came();
            if let (Some((&first, _)), Some((&last, &at))) =
                (came.first_key_value(), came.last_key_value())
            {
                let date = NtpTime::from_bits(0);
                let reported = vec![Some((date.at(at), Ecn::NotEct)); (last + 1 - first) as usize];
                let (mut buf, ssrcs) = ([0; CONTROL_BUFFER], (ssrc, self.session.ssrc()));
                let made_at = date.at(self.now - ONE_WAY);
                let len = ccfb::emit(ssrcs, first as u16, reported.into_iter(), made_at, &mut buf);
                self.hear(&buf[..len.expect("a report fits")]);
            }
        }
        self.sent.len() - before
    }

    /// Lets time pass with receivers that tell of no loss: each is silent when it misses a packet, and leaves before
    /// that shows.
    pub(super) fn run_leaving(&mut self, mut ssrc: u32, time: Duration) -> usize {
        let (before, until) = (self.sent.len(), self.now + time);
        let (mut is_known, mut silent) = (false, 0);
        while self.now < until {
            self.go_on();
            let came = self.came();
            let last = came
                .last_key_value()
                .map_or(self.told_from, |(last, _)| *last);
            let mut sent = self.sent.range(self.told_from..last);
            let misses = sent.any(|(seq, _)| !came.contains_key(seq));
            silent = if misses { silent + 1 } else { 0 };
            if silent == 1 + SILENT {
                if is_known {
                    self.leave(ssrc);
                }
                (ssrc, is_known, silent) = (ssrc + 1, false, 0);
                self.told_from = u64::from(self.session.next_sequence());
            } else if !misses {
                self.report(ssrc, 0);
                is_known |= !came.is_empty();
            }
        }
        self.sent.len() - before
    }

    /// Lets the time between two reports pass.
    pub(super) fn go_on(&mut self) {
        let next = self.now + INTERVAL;
        while self.now < next {
            self.now += TICK;
            self.send();
        }
    }

    /// What has come in time for a report that comes now.
    pub(super) fn came(&self) -> BTreeMap<u64, Instant> {
        let sent = self.sent.range(self.told_from..);
        sent.filter(|(seq, _)| !(self.is_lossy && *seq % ONE_IN == 0))
            .map(|(seq, at)| (*seq, *at + ONE_WAY))
            .filter(|(_, at)| *at + ONE_WAY <= self.now)
            .collect()
    }

    pub(super) fn send(&mut self) {
        let now = self.now;
        self.session.handle_timeout(now);
        let mut control = [0; CONTROL_BUFFER];
        while let Some(transmit) = self.session.poll_transmit(now, &mut control) {
            for packet in Packets::parse(&control[..transmit.len])
                .into_iter()
                .flatten()
            {
                if let Ok(Packet::SenderReport(report, _)) = packet {
                    self.sender_report = Some((report.ntp.middle(), now));
                }
            }
        }
        let mut buf = [0; PACKET];
        let payload = [0; PACKET];
        let len = self.session.payload_capacity();
        let info = MediaInfo {
            timestamp: 0,
            marker: true,
        };
        while self.session.next_departure(now).is_some_and(|at| at <= now) {
            self.sent
                .insert(u64::from(self.session.next_sequence()), now);
            let sent = self
                .session
                .write_media(now, &info, &payload[..len], &mut buf);
            assert!(sent.is_ok(), "a packet may leave");
        }
    }

    /// Reports what has come, and so many packets that never left.
    pub(super) fn report(&mut self, ssrc: u32, unsent: u64) {
        let zero = NtpTime::from_bits(0);
        let made_at = self.now - ONE_WAY;
        let came = self.came();
        let Some((&last, &at)) = came.last_key_value() else {
            return;
        };
        let first = came.keys().next().copied().unwrap_or(last);
        let first = first.max(last.saturating_sub(TOLD));
        let reported: Vec<_> = (first..=last)
            .map(|seq| came.get(&seq).map(|at| (zero.at(*at), Ecn::NotEct)))
            .chain((0..unsent).map(|_| Some((zero.at(at), Ecn::NotEct))))
            .collect();
        let mut buf = [0; CONTROL_BUFFER];
        let ssrcs = (ssrc, self.session.ssrc());
        let made_at = zero.at(made_at);
        let len = ccfb::emit(ssrcs, first as u16, reported.into_iter(), made_at, &mut buf);
        self.hear(&buf[..len.expect("a report fits")]);
    }

    /// Reports that the last packet is missing and that so many came which are still to be sent.
    pub(super) fn claim_unsent(&mut self, ssrc: u32, unsent: usize) {
        let made_at = NtpTime::from_bits(0).at(self.now);
        let mut reported = vec![Some((made_at, Ecn::NotEct)); 1 + unsent];
        reported[0] = None;
        let last = self.session.next_sequence() - 1;
        let (mut buf, ssrcs) = ([0; CONTROL_BUFFER], (ssrc, self.session.ssrc()));
        let len = ccfb::emit(ssrcs, last as u16, reported.into_iter(), made_at, &mut buf);
        self.hear(&buf[..len.expect("a report fits")]);
    }

    /// Lets time pass with reception reports that tell of no time on the way, and gives the packets that left.
    pub(super) fn claim_no_way(&mut self, ssrc: u32, time: Duration) -> usize {
        let (before, until) = (self.sent.len(), self.now + time);
        while self.now < until {
            self.now += TICK;
            self.send();
            self.report_reception(ssrc);
        }
        self.sent.len() - before
    }

    pub(super) fn report_reception(&mut self, ssrc: u32) {
        let (report, at) = self.sender_report.unwrap_or_default();
        // A sixteenth of a millisecond less than the whole.
        let waited = self.now.saturating_since(at).as_nanos() * 65_536 / 1_000_000_000;
        let block = ReportBlock {
            ssrc: self.session.ssrc(),
            fraction_lost: 0,
            cumulative_lost: 0,
            highest_sequence: self.session.next_sequence() - 1,
            jitter: 0,
            last_sender_report: report,
            delay_since: (waited as u32).saturating_sub(4),
        };
        let mut buf = [0; 64];
        let len = ReceiverReport { ssrc }.emit(&[block], &mut buf);
        self.hear(&buf[..len.expect("a report fits")]);
    }

    /// Says BYE, and is silent until the BYE is believed.
    pub(super) fn leave(&mut self, ssrc: u32) {
        let mut buf = [0; 8];
        let len = Bye::emit(ssrc, &mut buf).expect("a BYE fits");
        assert!(self.hear(&buf[..len]));
        for _ in 0..6 {
            self.go_on();
        }
    }

    pub(super) fn hear(&mut self, payload: &[u8]) -> bool {
        let datagram = Datagram {
            source: End::B.address(),
            arrival: self.now,
            ecn: Ecn::NotEct,
            payload,
        };
        let incoming = self.session.handle_datagram(self.now, datagram);
        let is_control = incoming == Incoming::Control;
        while let Some(event) = self.session.poll_event() {
            if let EventKind::ReceiverLied {
                address,
                ssrc,
                lie,
                again,
            } = event.kind
            {
                assert_eq!(address, End::B.address());
                self.accused.push((ssrc, lie, again));
            }
        }
        is_control
    }
}
