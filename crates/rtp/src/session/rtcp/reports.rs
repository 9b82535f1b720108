//! Handles the reports about media that this end sends.

use tfrc::time::Instant;
use tfrc::trace::Trace;

use crate::packet::rtcp::sack::{self, Sack};
use crate::packet::rtcp::twcc::{self, Twcc};
use crate::packet::rtcp::{
    Compound, Feedback, Packet, ReportBlock, TfrcApp, TfrcFeedback, ccfb, tfrc_app,
};
use crate::session::event::EventKind;
use crate::session::sender::outbound::Outbound;
use crate::session::sender::sent_history::ReportedDepartures;
use crate::session::statistics::Ignored;
use crate::session::{FeedbackMode, Session};

impl Session {
    /// Handles p and X_recv that the receiver computed.
    pub(in crate::session) fn handle_feedback(
        &mut self,
        feedback: &Feedback<'_>,
    ) -> Result<(), Ignored> {
        let mode = self.outbound.as_ref().map(Outbound::feedback_mode);
        let is_ours = feedback.format == self.config.feedback_format;
        if !is_ours || mode.is_some_and(|mode| mode != FeedbackMode::Tfrc) {
            return Ok(());
        }
        // A figure of p is the peer's own; reports of arrivals may have any author.
        if !self.peer.is_author(feedback.sender_ssrc) || feedback.media_ssrc != self.ssrc {
            return Err(Ignored::WrongSsrc);
        }
        let report = TfrcFeedback::parse(feedback.fci).map_err(|_| Ignored::BadRtcp)?;
        let (now, arrived) = (self.now, self.arrived);
        self.take_in_report(|outbound| outbound.handle_feedback(now, arrived, report))
    }

    /// Handles a report of p and X_recv by `handle`, and emits the events that follow.
    fn take_in_report(
        &mut self,
        handle: impl FnOnce(&mut Outbound) -> Result<Option<Trace>, Ignored>,
    ) -> Result<(), Ignored> {
        let outbound = self.outbound.as_mut().ok_or(Ignored::StaleFeedback)?;
        let (lie, capped) = (outbound.lie(), outbound.capped());
        let trace = handle(outbound);
        self.statistics.receive_rates_capped += outbound.capped() - capped;
        if lie.is_none() {
            self.emit_lie();
        }
        self.count_feedback(trace?);
        Ok(())
    }

    /// Handles p and X_recv of an APP packet, together with the reception report in the same datagram.
    pub(in crate::session) fn handle_reception(
        &mut self,
        compound: &Compound<'_>,
        block: Option<&ReportBlock>,
    ) -> Result<(), Ignored> {
        let outbound = self.outbound.as_ref();
        if !outbound.is_some_and(Outbound::sends_round_trip) {
            return Ok(());
        }
        let ssrc = self.ssrc;
        let reception = compound.packets().find_map(|packet| match packet {
            Packet::Application(app)
                if app.name == tfrc_app::NAME && self.peer.is_author(app.ssrc) =>
            {
                match TfrcApp::parse(&app) {
                    Ok(Some(TfrcApp::Reception(reception))) => Some(reception),
                    _ => None,
                }
            }
            _ => None,
        });
        let Some(reception) = reception else {
            return Ok(());
        };
        if reception.media_ssrc != ssrc {
            return Err(Ignored::WrongSsrc);
        }
        let block = block.ok_or(Ignored::StaleFeedback)?;
        let (now, arrived) = (self.now, self.arrived);
        self.take_in_report(|outbound| outbound.handle_reception(now, arrived, block, &reception))
    }

    /// Handles all reports of arrivals in a datagram together, because some receivers collect reports and send
    /// several.
    ///
    /// A refused report is counted and does not affect the others. If all are refused, the datagram is ignored.
    pub(in crate::session) fn handle_arrivals(
        &mut self,
        compound: &Compound<'_>,
    ) -> Result<(), Ignored> {
        let Some(outbound) = &mut self.outbound else {
            return Ok(());
        };
        let mode = outbound.feedback_mode();
        let reports = compound
            .packets()
            .filter(|packet| is_arrival_report(mode, packet));
        if reports.clone().next().is_none() {
            return Ok(());
        }
        let (ssrc, arrived) = (self.ssrc, self.arrived);
        let repair = outbound.repair_source();
        let (mut is_ingested, mut refused) = (false, Ok(()));
        outbound.ingest_arrivals(arrived, |departures| {
            for report in reports {
                let ingested = ingest_report(&report, ssrc, repair, arrived, departures);
                is_ingested |= ingested.is_ok();
                refused = refused.and(ingested);
            }
            is_ingested
        })?;
        let settled = self.settle_arrivals_due();
        match refused {
            Err(kind) if is_ingested => self.statistics.count_ignored(kind),
            alone => alone?,
        }
        settled
    }

    /// Settles the ingested reports of arrivals, if it is time.
    pub(in crate::session) fn settle_arrivals_due(&mut self) -> Result<(), Ignored> {
        let now = self.now;
        let Some(outbound) = &mut self.outbound else {
            return Ok(());
        };
        if outbound.arrivals_due().is_none_or(|due| now < due) {
            return Ok(());
        }
        let (lie, used_ecn) = (outbound.lie(), outbound.uses_ecn());
        let trace = outbound.settle_arrivals(now);
        let uses_ecn = outbound.uses_ecn();
        if lie.is_none() {
            self.emit_lie();
        }
        if used_ecn && !uses_ecn {
            self.emit(EventKind::MarksLost);
        }
        self.count_feedback(trace?);
        Ok(())
    }

    /// Handles a reception report about us. Before the first feedback its round trip sets the initial rate (RFC
    /// 5348 §4.2, RFC 3550 §6.4.1): at one packet a second, a receiver that reports once a frame may report late.
    pub(in crate::session) fn handle_block(&mut self, block: &ReportBlock) {
        self.emit(EventKind::ReceptionReport {
            fraction_lost: block.fraction_lost,
            cumulative_lost: block.cumulative_lost,
            jitter: block.jitter,
        });
        let round_trip = self.sent_reports.round_trip(self.arrived, block);
        let is_proven = self.sent_reports.answered_by(block).is_some();
        let now = self.now;
        if let Some(outbound) = &mut self.outbound {
            outbound.handle_block(now, block, round_trip, is_proven);
        }
    }

    /// Emits an event if the peer lied.
    fn emit_lie(&mut self) {
        let lie = self.outbound.as_ref().and_then(Outbound::lie);
        let again = self.outbound.as_ref().is_some_and(Outbound::lies_again);
        if let (Some(lie), Some(address), Some(ssrc)) = (lie, self.peer.address(), self.peer.ssrc())
        {
            self.emit(EventKind::ReceiverLied {
                address,
                ssrc,
                lie,
                again,
            });
        }
    }

    fn count_feedback(&mut self, trace: Option<Trace>) {
        self.statistics.feedback_received += 1;
        if let Some(trace) = trace {
            self.emit(EventKind::RateControl(trace));
        }
    }
}

/// Returns true if a packet is a report of arrivals in the format of this session.
fn is_arrival_report(mode: FeedbackMode, packet: &Packet<'_>) -> bool {
    match (mode, packet) {
        (FeedbackMode::Ccfb, Packet::Feedback(feedback)) => feedback.format == ccfb::FORMAT,
        (FeedbackMode::Twcc, Packet::Feedback(feedback)) => feedback.format == twcc::FORMAT,
        (FeedbackMode::Sack, Packet::Application(app)) => app.name == sack::NAME,
        _ => false,
    }
}

/// Ingests a report about the source `ssrc`, or returns why the report is ignored. A transport-wide report may name
/// either of our sources, as it counts both.
fn ingest_report(
    report: &Packet<'_>,
    ssrc: u32,
    repair: Option<u32>,
    at: Instant,
    departures: &mut ReportedDepartures,
) -> Result<(), Ignored> {
    match report {
        Packet::Feedback(feedback) if feedback.format == ccfb::FORMAT => {
            let block = ccfb::parse(feedback, ssrc).map_err(|_| Ignored::BadRtcp)?;
            let block = block.ok_or(Ignored::WrongSsrc)?;
            departures.ingest_report(at, &block.header(), block.statuses());
        }
        Packet::Feedback(feedback) => {
            if feedback.media_ssrc != ssrc && Some(feedback.media_ssrc) != repair {
                return Err(Ignored::WrongSsrc);
            }
            let twcc = Twcc::parse(feedback.fci).map_err(|_| Ignored::BadRtcp)?;
            departures.ingest_report(at, &twcc.header(), twcc.status_runs());
        }
        Packet::Application(app) => {
            let sack = Sack::parse(app).map_err(|_| Ignored::BadRtcp)?;
            if sack.media_ssrc != ssrc {
                return Err(Ignored::WrongSsrc);
            }
            departures.ingest_vector(at, &sack.vector, sack.received());
        }
        _ => {}
    }
    Ok(())
}
