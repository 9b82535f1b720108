//! RTCP as an attacker writes it: any fields, and the synchronisation sources of the call.

use std::time::Duration;

use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtcp::tfrc_app::{Reception, TfrcApp};
use evenkeel_rtp::packet::rtcp::{
    Bye, KeyframeRequest, ReceiverReport, ReportBlock, SenderReport, TfrcFeedback, ccfb, sack, twcc,
};
use tfrc::Ecn;
use tfrc::sent_packets::AckVector;
use tfrc::units::Rate;

use super::{Draw, Fields, last_arrived};
use crate::pair::{End, Pair};

/// The kinds of RTCP packets that an end reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    SenderReport,
    ReceptionReport,
    Bye,
    RoundTrip,
    Reception,
    Feedback,
    Arrivals,
    TransportWide,
    Vector,
    KeyframeRequest,
    Garbage,
}

impl Kind {
    pub(super) const ALL: [Self; 11] = [
        Self::SenderReport,
        Self::ReceptionReport,
        Self::Bye,
        Self::RoundTrip,
        Self::Reception,
        Self::Feedback,
        Self::Arrivals,
        Self::TransportWide,
        Self::Vector,
        Self::KeyframeRequest,
        Self::Garbage,
    ];
}

/// Returns a packet that claims to be from the other end than `to`.
pub(super) fn forge(pair: &Pair, kind: Kind, to: End, draw: &mut Draw) -> Vec<u8> {
    let (author, about) = (pair.session(to.other()).ssrc(), pair.session(to).ssrc());
    let ssrcs = (author, about);
    let next = u32::from(Fields::next(pair).header.sequence);
    // A report covers packets of the last second, and some that are still to leave.
    let first = next.wrapping_sub(draw.below(60)) as u16;
    let count = 1 + draw.below(60);
    let now = pair.now;
    let date = NtpTime::from_bits(0).at(now);
    let mut buf = vec![0; 1_200];
    let len = match kind {
        Kind::SenderReport => {
            let ntp = NtpTime::from_bits(u64::from(draw.next()) << 32);
            let report = SenderReport {
                ssrc: author,
                ntp,
                timestamp: draw.next(),
                packets: draw.next(),
                bytes: draw.next(),
            };
            report.emit(&[], &mut buf)
        }
        Kind::ReceptionReport => {
            let block = ReportBlock {
                ssrc: about,
                fraction_lost: draw.of(&[0, 128, 255]),
                cumulative_lost: draw.of(&[0, 1_000, 0x7f_ffff, -1]),
                highest_sequence: next.wrapping_add(draw.of(&[0, 1 << 30, 0x8000_0000])),
                jitter: draw.next(),
                last_sender_report: draw.next(),
                delay_since: draw.next(),
            };
            ReceiverReport { ssrc: author }.emit(&[block], &mut buf)
        }
        Kind::Bye => Bye::emit(author, &mut buf),
        Kind::RoundTrip => TfrcApp::RoundTrip(draw.next()).emit(author, &mut buf),
        Kind::Reception => {
            let report = TfrcApp::Reception(Reception {
                media_ssrc: about,
                delay_micros: draw.below(100_000),
                receive_rate: draw.of(&[0, 1_000, u32::MAX]),
                loss_event_rate: draw.of(&[0, u32::MAX]),
            });
            report.emit(author, &mut buf)
        }
        Kind::Feedback => {
            let feedback = TfrcFeedback {
                timestamp: last_arrived(pair).as_micros() as u32,
                delay_micros: draw.below(100_000),
                receive_rate: draw.of(&[0, 1_000, u32::MAX]),
                loss_event_rate: draw.of(&[0, u32::MAX]),
                transit: None,
            };
            feedback.emit(2, author, about, &mut buf)
        }
        Kind::Arrivals => {
            let arrived: Vec<_> = (0..count)
                .map(|_| (draw.below(2) > 0).then_some((date, Ecn::Ect0)))
                .collect();
            ccfb::emit(ssrcs, first, arrived.into_iter(), date, &mut buf)
        }
        Kind::TransportWide => {
            let arrived: Vec<_> = (0..count)
                .map(|_| (draw.below(2) > 0).then_some(now))
                .collect();
            twcc::emit(
                ssrcs,
                first,
                arrived.into_iter(),
                draw.next() as u8,
                &mut buf,
            )
        }
        Kind::Vector => {
            let vector = AckVector {
                first,
                receive_rate: Rate::from_bits_per_sec(f64::from(draw.of(&[0, 1_000, 1 << 31]))),
                delay: Duration::from_millis(draw.below(100).into()),
            };
            let bits: Vec<_> = (0..count.div_ceil(8)).map(|_| draw.next() as u8).collect();
            sack::emit(ssrcs, &vector, count as usize, bits, &mut buf)
        }
        Kind::KeyframeRequest => KeyframeRequest::PictureLoss.emit(author, about, &mut buf),
        Kind::Garbage => {
            buf.fill_with(|| draw.next() as u8);
            buf[0] = 0x80 | buf[0] & 0x3f;
            Some(draw.below(200) as usize)
        }
    };
    buf.truncate(len.expect("it fits"));
    buf
}
