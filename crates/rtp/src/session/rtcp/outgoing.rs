//! Sends RTCP: compounds and feedback, each when it is due.

use tfrc::Ecn;
use tfrc::time::Instant;

use super::timer::{LOWER_LAYERS, Members};
use crate::endpoint::Transmit;
use crate::packet::rtcp::{Bye, ReceiverReport, ReportBlock, SenderReport, TfrcApp, sdes};
use crate::session::peer::MEMBER_TIMEOUT;
use crate::session::receiver::reporter::{DueReport, ReportAddress};
use crate::session::sender::outbound::Outbound;
use crate::session::{CONTROL_BUFFER, Closing, Session};

/// The length of a sender report with a block.
const REPORT_LEN: usize = 28 + ReportBlock::LEN;

impl Session {
    /// Writes the next control packet (feedback, reports, BYE) that is due. `buf` must have [`CONTROL_BUFFER`]
    /// bytes; into a shorter buffer nothing is written.
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let now = self.advance(now);
        if buf.len() < CONTROL_BUFFER {
            return None;
        }
        let destination = self.peer.address()?;
        let len = match self.closing {
            Closing::Closed => return None,
            Closing::Bye => {
                self.closing = Closing::Closed;
                let len = self.write_compound(None, buf)?;
                len + Bye::emit(self.ssrc, &mut buf[len..])?
            }
            Closing::Open => self.write_due(now, buf)?,
        };
        self.statistics.rtcp_sent += 1;
        self.statistics.rtcp_bytes_sent += len as u64;
        self.peer.handle_sent(len);
        Some(Transmit {
            destination,
            len,
            ecn: Ecn::NotEct,
        })
    }

    /// Returns when TFRC's next report may leave: at its own time, or when the budget permits.
    pub(in crate::session) fn feedback_due(&self) -> Option<Instant> {
        let inbound = self.inbound.as_ref()?;
        if self.has_app_reports() && !self.config.reduced_size {
            return None;
        }
        let due = inbound.reporter().poll_timeout()?;
        let affordable = self.peer.is_present() && self.peer.allows(self.compound_len());
        let ready = self.budget.ready(self.feedback_cost());
        affordable.then(|| inbound.release(due, ready))
    }

    /// Returns when the compound's timer expires, if there is a peer.
    pub(in crate::session) fn compound_expiry(&self) -> Option<Instant> {
        let expiry = self.rtcp.expiry()?;
        let is_recent = |at: Option<Instant>| {
            at.is_some_and(|at| expiry.saturating_since(at) <= MEMBER_TIMEOUT)
        };
        let sent = self.outbound.as_ref().and_then(Outbound::last_departure);
        let is_wanted = is_recent(sent) || (self.peer.is_present() && is_recent(self.peer.heard()));
        (is_wanted && self.peer.allows(self.compound_len())).then_some(expiry)
    }

    /// Writes a compound, or feedback alone, if one is due.
    fn write_due(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        let members = self.members();
        let is_expired = self.compound_expiry().is_some_and(|expiry| expiry <= now);
        let compound =
            (is_expired && self.rtcp.is_due(now, members)) || self.must_send_round_trip();
        let feedback = if compound && self.has_app_reports() {
            self.take_report(now)
        } else {
            self.take_feedback(now)
        };
        let keyframe = self.take_keyframe_request(now);
        let mut len = 0;
        if compound || ((feedback.is_some() || keyframe) && !self.may_reduce()) {
            len = self.write_compound(feedback, buf)?;
            self.rtcp.handle_sent(now, len, members);
            self.statistics.compounds_sent += 1;
        } else if let Some(feedback) = feedback {
            if self.has_app_reports() {
                len = self.write_report(buf)?;
            }
            len += self.write_feedback(feedback, &mut buf[len..])?;
        }
        if keyframe {
            len += self.write_keyframe_request(&mut buf[len..])?;
        }
        (len > 0).then_some(len)
    }

    /// Returns true if the first round-trip time should be sent early (RFC 4585 §3.2). The receiver needs it to
    /// separate loss events.
    fn must_send_round_trip(&self) -> bool {
        let outbound = self.outbound.as_ref().filter(|_| self.is_sending());
        self.config.reduced_size
            && !self.has_sent_round_trip
            && outbound.is_some_and(|o| o.sends_round_trip() && o.rtt().is_some())
    }

    /// Takes the report, if it is due and the budget permits it.
    fn take_feedback(&mut self, now: Instant) -> Option<DueReport> {
        if self.feedback_due()? > now {
            return None;
        }
        let cost = self.feedback_cost();
        let inbound = self.inbound.as_mut()?;
        let (report, event) = inbound.reporter_mut().poll_report(now)?;
        self.budget.spend(now, cost);
        self.statistics.feedback_sent += 1;
        self.emit(event);
        Some(report)
    }

    /// Takes the report for a compound, which RTCP's own bandwidth pays.
    fn take_report(&mut self, now: Instant) -> Option<DueReport> {
        let inbound = self.inbound.as_mut()?;
        let (report, event) = inbound.reporter_mut().take_report(now)?;
        self.statistics.feedback_sent += 1;
        self.emit(event);
        Some(report)
    }

    /// Returns true if our reports about the peer's media need reception reports.
    fn has_app_reports(&self) -> bool {
        let inbound = self.inbound.as_ref();
        inbound.is_some_and(|inbound| inbound.reporter().needs_reception_report())
    }

    /// Returns the length of the next report on the wire.
    fn feedback_cost(&self) -> usize {
        let len = if self.may_reduce() {
            let with = if self.has_app_reports() {
                REPORT_LEN
            } else {
                0
            };
            with + self.report_len()
        } else {
            self.compound_len()
        };
        len + LOWER_LAYERS
    }

    /// Returns true if feedback may be sent alone. RFC 5506 §4.2.1 requires proof that feedback arrives: the
    /// sender's packets carry a round-trip time once it has received a report, and the first reports left in
    /// compounds.
    fn may_reduce(&self) -> bool {
        let inbound = self.inbound.as_ref();
        self.config.reduced_size
            && inbound.is_some_and(|inbound| inbound.reporter().round_trip_time().is_some())
            && self.statistics.compounds_sent > 0
    }

    fn members(&self) -> Members {
        let we_send = self.is_sending();
        let is_present = self.peer.is_present();
        let peer_sends = is_present && self.inbound.is_some();
        Members {
            all: 1 + u32::from(is_present),
            senders: u32::from(we_send) + u32::from(peer_sends),
            we_send,
        }
    }

    /// Returns the greatest length of a compound.
    pub(in crate::session) fn compound_len(&self) -> usize {
        REPORT_LEN + sdes::cname_len(&self.config.cname) + self.report_len()
    }

    /// Returns the length of the next report alone.
    fn report_len(&self) -> usize {
        let round_trip = match &self.outbound {
            Some(outbound) if outbound.sends_round_trip() => TfrcApp::ROUND_TRIP_LEN,
            _ => 0,
        };
        let inbound = self.inbound.as_ref();
        round_trip + inbound.map_or(0, |inbound| inbound.reporter().report_len())
    }

    /// Writes SR or RR, SDES and, if there is any, feedback, in the order of RFC 4585 §3.1.
    fn write_compound(&mut self, feedback: Option<DueReport>, buf: &mut [u8]) -> Option<usize> {
        let mut len = self.write_report(buf)?;
        len += sdes::emit_cname(self.ssrc, &self.config.cname, &mut buf[len..])?;
        let outbound = self.outbound.as_ref().filter(|_| self.is_sending());
        if let Some(outbound) = outbound.filter(|outbound| outbound.sends_round_trip()) {
            let rtt = outbound.rtt();
            len += TfrcApp::round_trip(rtt).emit(self.ssrc, &mut buf[len..])?;
            self.has_sent_round_trip = rtt.is_some();
        }
        if let Some(feedback) = feedback {
            len += self.write_feedback(feedback, &mut buf[len..])?;
        }
        Some(len)
    }

    /// Writes SR or RR.
    fn write_report(&mut self, buf: &mut [u8]) -> Option<usize> {
        let now = self.now;
        let block = self
            .inbound
            .as_mut()
            .filter(|inbound| inbound.received() > 0)
            .map(|inbound| inbound.report_block(now));
        let blocks = block.as_slice();
        let ssrc = self.ssrc;
        match self.outbound.as_ref().filter(|_| self.is_sending()) {
            Some(outbound) => {
                let (packets, bytes) = outbound.counts();
                let ntp = self.config.wallclock.at(now);
                self.sent_reports.handle_sent(now, ntp);
                SenderReport {
                    ssrc,
                    ntp,
                    timestamp: outbound.media_clock(now),
                    packets,
                    bytes,
                }
                .emit(blocks, buf)
            }
            None => ReceiverReport { ssrc }.emit(blocks, buf),
        }
    }

    fn write_feedback(&self, feedback: DueReport, buf: &mut [u8]) -> Option<usize> {
        let inbound = self.inbound.as_ref()?;
        let to = ReportAddress {
            format: self.config.feedback_format,
            ssrcs: (self.ssrc, inbound.ssrc()),
            wallclock: self.config.wallclock,
        };
        inbound.reporter().write(feedback, &to, buf)
    }
}
