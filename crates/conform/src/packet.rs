//! The interface system reads the fields of a datagram and may change them.

use std::time::Duration;

use evenkeel_rtp::packet::ext::{RttSendTs, TransportSequence};
use evenkeel_rtp::packet::rtcp::sack::{self, Sack};
use evenkeel_rtp::packet::rtcp::twcc::{self, Twcc};
use evenkeel_rtp::packet::rtcp::{
    Bye, Packet as Rtcp, Packets, ReceiverReport, TfrcFeedback, ccfb, sdes,
};
use evenkeel_rtp::packet::rtp::{RtpPacket, is_rtcp};
use evenkeel_rtp::session::Config;
use tfrc::Ecn;
use tfrc::sent_packets::PacketStatus;
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

/// A data packet's fields that matter to TFRC. Those that may be changed are written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// RTP sequence number; may be changed.
    pub seq: u16,
    /// The sender's clock at departure, microseconds modulo 2^32; may be changed.
    pub timestamp: u32,
    /// R_i, the round-trip time that the sender tells, in microseconds; zero while it knows none. May
    /// be changed, 24 bits wide.
    pub rtt_micros: u32,
    /// The ECN field; may be changed.
    pub ecn: Ecn,
    /// Bytes of the datagram.
    pub size: usize,
}

impl Data {
    /// R_i, once the sender knows it.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt_micros != 0).then(|| Duration::from_micros(self.rtt_micros.into()))
    }
}

/// A report's fields. All may be changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport {
    /// t_recvdata: the timestamp of the last data packet received.
    pub timestamp: u32,
    /// t_delay.
    pub delay: Duration,
    /// X_recv, at most 2^32 - 1 bytes a second.
    pub receive_rate: Rate,
    /// p.
    pub p: LossEventRate,
}

/// A datagram as the interface system understands it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Packet {
    /// Media with `rtt-sendts`.
    Data(Data),
    /// RTCP with TFRC feedback in it.
    Report(TfrcReport),
    /// RTCP with a report of arrivals in it: [`reported`] reads it.
    Arrivals,
    /// RTCP without, or anything else.
    Other,
}

/// A report of arrivals, whichever its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// The number of the first packet.
    pub first: u16,
    /// When it was made, on the receiver's clock; `None` if it does not say.
    pub made_at: Option<Instant>,
    /// The status of each packet.
    pub statuses: Vec<PacketStatus>,
}

/// Reads a datagram. The wire format is the one that `evenkeel-rtp` describes by default.
pub fn read(datagram: &[u8], ecn: Ecn) -> Packet {
    let found = if is_rtcp(datagram) {
        feedback_offset(datagram)
            .and_then(|at| TfrcFeedback::parse(&datagram[at..at + TfrcFeedback::FCI_LEN]).ok())
            .map(|feedback| {
                Packet::Report(TfrcReport {
                    timestamp: feedback.timestamp,
                    delay: feedback.delay(),
                    receive_rate: feedback.rate(),
                    p: feedback.p(),
                })
            })
            .or_else(|| reported(datagram).map(|_| Packet::Arrivals))
    } else {
        read_data(datagram, ecn).map(Packet::Data)
    };
    found.unwrap_or(Packet::Other)
}

/// Writes what was changed into the datagram that `packet` was read from.
pub fn write(packet: &Packet, datagram: &mut [u8]) {
    match packet {
        Packet::Data(data) => {
            let timing = RttSendTs {
                rtt_micros: data.rtt_micros,
                send_time: data.timestamp,
            };
            let seq = |datagram: &[u8], at: usize| {
                let bytes = datagram.get(at..at + 2)?;
                Some(u16::from_be_bytes([bytes[0], bytes[1]]))
            };
            // A packet's two numbers change by the same: reports name packets by either.
            let shift = data.seq.wrapping_sub(seq(datagram, 2).unwrap_or(data.seq));
            put(datagram, 2, &data.seq.to_be_bytes());
            if let Some(at) = element_offset(
                datagram,
                TransportSequence::DEFAULT_ID,
                TransportSequence::LEN,
            ) && let Some(number) = seq(datagram, at)
            {
                put(datagram, at, &number.wrapping_add(shift).to_be_bytes());
            }
            if let Some(at) = timing_offset(datagram) {
                put(datagram, at, &timing.to_bytes());
            }
        }
        Packet::Report(report) => {
            let feedback = TfrcFeedback::new(
                report.timestamp,
                report.delay,
                report.receive_rate,
                report.p,
            );
            let fields = [
                feedback.timestamp,
                feedback.delay_micros,
                feedback.receive_rate,
                feedback.loss_event_rate,
            ];
            if let Some(at) = feedback_offset(datagram) {
                for (field, at) in fields.iter().zip((at..).step_by(4)) {
                    put(datagram, at, &field.to_be_bytes());
                }
            }
        }
        Packet::Arrivals | Packet::Other => {}
    }
}

/// The report of arrivals in a datagram, if there is one.
pub fn reported(datagram: &[u8]) -> Option<Reported> {
    let mut packets = Packets::parse(datagram).ok()?.flatten();
    packets.find_map(|packet| match packet {
        Rtcp::Feedback(feedback) if feedback.format == ccfb::FORMAT => {
            let block = ccfb::parse(&feedback, feedback.media_ssrc).ok()??;
            Some(Reported {
                first: block.first,
                made_at: Some(block.header().made_at),
                statuses: block.statuses().collect(),
            })
        }
        Rtcp::Feedback(feedback) if feedback.format == twcc::FORMAT => {
            let twcc = Twcc::parse(feedback.fci).ok()?;
            Some(Reported {
                first: twcc.first,
                made_at: None,
                statuses: twcc.statuses().collect(),
            })
        }
        Rtcp::Application(app) if app.name == sack::NAME => {
            let sack = Sack::parse(&app).ok()?;
            let status = |came| match came {
                true => PacketStatus::Arrived {
                    at: None,
                    ecn: Ecn::NotEct,
                },
                false => PacketStatus::Missing,
            };
            Some(Reported {
                first: sack.vector.first,
                made_at: None,
                statuses: sack.received().map(status).collect(),
            })
        }
        _ => None,
    })
}

/// The synchronisation source that a datagram names as its own.
pub(crate) fn source(datagram: &[u8]) -> Option<u32> {
    let at = if is_rtcp(datagram) { 4 } else { 8 };
    let bytes = datagram.get(at..at + 4)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// A compound in which a source says BYE (RFC 3550 §6.1: a report and a name come first).
pub(crate) fn goodbye(ssrc: u32) -> Option<Vec<u8>> {
    let mut buf = [0; 128];
    let mut len = ReceiverReport { ssrc }.emit(&[], &mut buf)?;
    len += sdes::emit_cname(ssrc, "interposer", &mut buf[len..])?;
    len += Bye::emit(ssrc, &mut buf[len..])?;
    Some(buf[..len].to_vec())
}

fn read_data(datagram: &[u8], ecn: Ecn) -> Option<Data> {
    let header = RtpPacket::parse(datagram).ok()?.header();
    let at = timing_offset(datagram)?;
    let timing = RttSendTs::parse(datagram.get(at..at + RttSendTs::LEN)?).ok()?;
    Some(Data {
        seq: header.sequence,
        timestamp: timing.send_time,
        rtt_micros: timing.rtt_micros,
        ecn,
        size: datagram.len(),
    })
}

/// Where the data of a header extension of this identifier and length begins in an RTP packet.
fn element_offset(datagram: &[u8], id: u8, len: usize) -> Option<usize> {
    let packet = RtpPacket::parse(datagram).ok()?;
    let element = packet
        .elements()
        .flatten()
        .find(|element| element.id == id)?;
    (element.data.len() == len).then(|| offset_of(element.data, datagram))
}

/// Where the data of `rtt-sendts` begins in an RTP packet.
fn timing_offset(datagram: &[u8]) -> Option<usize> {
    element_offset(datagram, Config::EXTENSION_ID, RttSendTs::LEN)
}

/// Where the control information of the TFRC feedback begins in an RTCP datagram.
fn feedback_offset(datagram: &[u8]) -> Option<usize> {
    let mut packets = Packets::parse(datagram).ok()?.flatten();
    packets.find_map(|packet| match packet {
        Rtcp::Feedback(feedback)
            if feedback.format == Config::FEEDBACK_FORMAT
                && feedback.fci.len() == TfrcFeedback::FCI_LEN =>
        {
            Some(offset_of(feedback.fci, datagram))
        }
        _ => None,
    })
}

/// Where `part`, a piece of `whole`, begins in it.
fn offset_of(part: &[u8], whole: &[u8]) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}

fn put(datagram: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(field) = datagram.get_mut(at..at + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_rtp::packet::ext::Element;
    use evenkeel_rtp::packet::rtp::RtpHeader;
    use proptest::prelude::*;

    fn media() -> Vec<u8> {
        let header = RtpHeader {
            payload_type: 96,
            marker: true,
            sequence: 7,
            timestamp: 9,
            ssrc: 1,
        };
        let timing = RttSendTs::new(None, 5).to_bytes();
        let element = Element {
            id: Config::EXTENSION_ID,
            data: &timing,
        };
        let mut buf = [0; 64];
        let len = header.emit(&[element], &mut buf).unwrap();
        [&buf[..len], &[3; 100]].concat()
    }

    fn compound() -> Vec<u8> {
        let mut buf = [0; 256];
        let mut len = ReceiverReport { ssrc: 1 }.emit(&[], &mut buf).unwrap();
        len += sdes::emit_cname(1, "receiver", &mut buf[len..]).unwrap();
        len += TfrcFeedback::new(5, Duration::ZERO, Rate::ZERO, LossEventRate::ZERO)
            .emit(Config::FEEDBACK_FORMAT, 1, 2, &mut buf[len..])
            .unwrap();
        buf[..len].to_vec()
    }

    #[test]
    fn what_is_changed_in_a_data_packet_is_read_again_and_nothing_else_differs() {
        let mut datagram = media();
        let Packet::Data(mut data) = read(&datagram, Ecn::Ect0) else {
            panic!("no data");
        };
        assert_eq!((data.seq, data.timestamp, data.rtt()), (7, 5, None));
        (data.seq, data.timestamp, data.rtt_micros) = (8, 6, 20_000);
        let before = datagram.clone();
        write(&Packet::Data(data), &mut datagram);
        assert_eq!(read(&datagram, Ecn::Ect0), Packet::Data(data));
        let changed = before.iter().zip(&datagram).filter(|(a, b)| a != b).count();
        assert_eq!(changed, 4);
    }

    #[test]
    fn what_is_changed_in_a_report_is_read_again_also_inside_a_compound() {
        let mut datagram = compound();
        let report = TfrcReport {
            timestamp: 77,
            delay: Duration::from_micros(88),
            receive_rate: Rate::from_bytes_per_sec(99.0),
            p: LossEventRate::ONE,
        };
        assert_ne!(read(&datagram, Ecn::NotEct), Packet::Report(report));
        write(&Packet::Report(report), &mut datagram);
        assert_eq!(read(&datagram, Ecn::NotEct), Packet::Report(report));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut datagram: Vec<u8>, cut in 0..140usize) {
            write(&read(&datagram, Ecn::NotEct), &mut datagram);
            for mut known in [media(), compound()] {
                known.truncate(cut);
                write(&read(&known, Ecn::NotEct), &mut known);
            }
        }
    }
}
