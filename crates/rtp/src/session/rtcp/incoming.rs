//! Handles RTCP that arrives: a datagram is parsed once, and every reader shares the packets.

use std::net::SocketAddr;
use std::time::Duration;

use crate::endpoint::Datagram;
use crate::packet::rtcp::sack::{self, Sack};
use crate::packet::rtcp::{
    App, Compound, KeyframeRequest, Packet, ReportBlock, SenderReport, TfrcApp, ccfb, tfrc_app,
};
use crate::session::Session;
use crate::session::event::EventKind;
use crate::session::peer::Origin;
use crate::session::statistics::Ignored;

impl Session {
    pub(in crate::session) fn handle_rtcp(
        &mut self,
        datagram: &Datagram<'_>,
    ) -> Result<(), Ignored> {
        let compound = Compound::parse(datagram.payload).map_err(|_| Ignored::BadRtcp)?;
        let author = compound.author().ok_or(Ignored::BadRtcp)?;
        if author == self.ssrc {
            return Err(Ignored::OwnSsrc);
        }
        let is_about_us = self.is_about_us(&compound);
        let block = compound.block_about(self.ssrc);
        if is_about_us
            && self
                .peer
                .has_moved_reports(self.now, datagram.source, author)
        {
            self.follow(datagram.source);
            self.peer.await_answer(self.now);
        }
        // A receiver without RFC 5761 reports from a port beside the one of its media.
        let reports_for = |peer: &SocketAddr| {
            is_about_us && peer.ip().to_canonical() == datagram.source.ip().to_canonical()
        };
        let peer = self.peer.address().filter(reports_for);
        let source = peer.unwrap_or(datagram.source);
        let origin = match self.peer.origin(self.now, source, author) {
            Origin::Stranger(_)
                if is_about_us && self.peer.yields_to_proof(self.now, source, author) =>
            {
                self.latch(source, author);
                Origin::Known
            }
            _ if is_about_us => self.peer.reporter(self.now, source, author),
            origin => origin,
        };
        match origin {
            Origin::Known => {}
            Origin::New | Origin::Successor if !self.peer.trusts(source) => {
                return Err(Ignored::WrongSource);
            }
            Origin::New | Origin::Successor if is_about_us => {
                self.latch(source, author);
            }
            Origin::New | Origin::Successor => return Err(Ignored::WrongSsrc),
            Origin::Stranger(kind) => return Err(kind),
        }
        if is_about_us && self.is_answered(block.as_ref()) {
            self.peer.prove(author);
        }
        if compound.is_full() {
            self.rtcp.handle_received(datagram.payload.len());
        }
        let reports = self
            .handle_arrivals(&compound)
            .and_then(|()| self.handle_reception(&compound, block.as_ref()));
        // A packet that is refused takes no other with it: feedback that forged feedback overtook would otherwise hide
        // the reception report that contradicts it.
        let handled = compound.packets().fold(reports, |handled, packet| {
            handled.and(self.handle_packet(&packet))
        });
        if let Some(block) = block {
            self.handle_block(&block);
        }
        handled?;
        self.peer
            .handle_heard(self.now, author, datagram.payload.len());
        self.peer.handle_source(self.now, datagram.source, true);
        self.statistics.rtcp_received += 1;
        Ok(())
    }

    /// Returns true unless the peer must answer a report of ours, and this block does not.
    fn is_answered(&self, block: Option<&ReportBlock>) -> bool {
        self.peer.answers_since().is_none_or(|since| {
            let left = block.and_then(|block| self.sent_reports.answered_by(block));
            left.is_some_and(|left| left >= since)
        })
    }

    /// Returns true if a packet is about our source. A stranger who never received from us cannot guess it.
    fn is_about_us(&self, compound: &Compound<'_>) -> bool {
        compound.packets().any(|packet| match packet {
            Packet::SenderReport(_, mut blocks) | Packet::ReceiverReport(_, mut blocks) => {
                blocks.any(|block| block.ssrc == self.ssrc)
            }
            Packet::Feedback(feedback) if feedback.format == ccfb::FORMAT => {
                matches!(ccfb::parse(&feedback, self.ssrc), Ok(Some(_)))
            }
            Packet::Feedback(feedback) => self.owns(feedback.media_ssrc),
            Packet::PayloadFeedback(feedback) => {
                KeyframeRequest::find(&feedback, self.ssrc).is_some()
            }
            Packet::Application(app) => {
                app.name == sack::NAME
                    && Sack::parse(&app).is_ok_and(|sack| sack.media_ssrc == self.ssrc)
            }
            Packet::Sdes(_) | Packet::Bye(_) | Packet::Unknown(_) => false,
        })
    }

    /// Returns true for our source of media, and for our source of repair packets.
    pub(in crate::session) fn owns(&self, ssrc: u32) -> bool {
        let outbound = self.outbound.as_ref();
        ssrc == self.ssrc || outbound.is_some_and(|outbound| outbound.is_repair_source(ssrc))
    }

    fn handle_packet(&mut self, packet: &Packet<'_>) -> Result<(), Ignored> {
        match packet {
            Packet::SenderReport(report, _) => self.handle_sender_report(*report),
            Packet::Feedback(feedback) => self.handle_feedback(feedback),
            Packet::PayloadFeedback(feedback) => {
                self.handle_payload_feedback(feedback);
                Ok(())
            }
            Packet::Application(app) if app.name == tfrc_app::NAME => self.handle_app(app),
            Packet::Bye(bye) if bye.sources().any(|source| self.peer.is_author(source)) => {
                self.peer.handle_bye(self.now);
                Ok(())
            }
            Packet::ReceiverReport(..)
            | Packet::Bye(_)
            | Packet::Sdes(_)
            | Packet::Application(_)
            | Packet::Unknown(_) => Ok(()),
        }
    }

    fn handle_sender_report(&mut self, report: SenderReport) -> Result<(), Ignored> {
        let arrival = self.arrived;
        // A report may concern another stream of the peer, such as its sound.
        let inbound = self.inbound.as_mut();
        let Some(inbound) = inbound.filter(|inbound| inbound.ssrc() == report.ssrc) else {
            return Ok(());
        };
        if !inbound.handle_sender_report(report, arrival) {
            return Err(Ignored::Replayed);
        }
        self.rtcp.start(self.now);
        self.emit(EventKind::SenderReport {
            ntp: report.ntp,
            timestamp: report.timestamp,
            packets: report.packets,
        });
        Ok(())
    }

    /// Records the round-trip time that the sender of the media measured.
    fn handle_app(&mut self, app: &App<'_>) -> Result<(), Ignored> {
        let message = TfrcApp::parse(app).map_err(|_| Ignored::BadRtcp)?;
        if let (Some(TfrcApp::RoundTrip(micros)), Some(inbound)) = (message, &mut self.inbound)
            && inbound.ssrc() == app.ssrc
        {
            inbound.handle_round_trip(self.now, Duration::from_micros(micros.into()));
        }
        Ok(())
    }

    /// Believes the BYE of a peer that has been silent since.
    pub(in crate::session) fn check_bye(&mut self) {
        if !self.peer.check_bye(self.now) {
            return;
        }
        if let Some(outbound) = &mut self.outbound {
            // The receiver may return, and will not send first: we probe as before its first packet.
            outbound.restart(self.now);
        }
        self.emit(EventKind::PeerLeft);
    }
}
