//! The messages that agree on a test: big-endian, one a datagram, told from RTP by their first byte.
//!
//! Every message begins with [`MAGIC`] and its kind. A client's messages are padded to [`CLIENT_LEN`],
//! and a server's answers are no longer, but for [`ServerMessage::Results`], which only an address gets
//! that has returned a token.

mod fields;

use evenkeel_rtp::packet::wire::ParseError;
use evenkeel_rtp::packet::wire::{Reader, Writer};
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::count::Count;
use crate::terms::{Refusal, Terms};
use fields::{invalid, millis, read_count, read_terms, write_count, write_terms};

/// The first bytes of every message, with the version of this format. RTP and RTCP begin with the bits
/// 10 (RFC 3550 §5.1), an `E` with 01.
pub const MAGIC: [u8; 4] = *b"EKP3";
/// The length of every message of a client.
pub const CLIENT_LEN: usize = 64;
/// The longest message of a server: full results, which fit into the smallest MTU of IPv6.
pub const MAX_LEN: usize = 4 + 1 + 8 + 2 + 2 + 1 + RESULTS * COUNT_LEN;
/// Flows that one [`ServerMessage::Results`] tells of.
pub const RESULTS: usize = 17;
const COUNT_LEN: usize = 8 * 8 + 4;

/// What a client says.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage {
    /// Asks for a token.
    Hello,
    /// Asks for a test.
    Request {
        /// The token that proves the address.
        token: u64,
        /// What is asked for.
        terms: Terms,
    },
    /// The test is over: asks for the results of `flow` and those after it.
    Finish {
        /// The name of the test.
        test: u16,
        /// The first flow to tell of.
        flow: u16,
    },
    /// Has all results.
    Goodbye {
        /// The name of the test.
        test: u16,
    },
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage {
    /// To [`ClientMessage::Hello`].
    Token {
        /// To be sent back.
        token: u64,
    },
    /// To [`ClientMessage::Request`]: the test has begun.
    Accept {
        /// Its name.
        test: u16,
    },
    /// To [`ClientMessage::Request`]: it will not be.
    Refuse(Refusal),
    /// To [`ClientMessage::Finish`].
    Results {
        /// The name of the test.
        test: u16,
        /// The flow that the first count is of.
        flow: u16,
        /// What the server counted, flow by flow; empty behind the last.
        counts: Vec<Count>,
    },
}

/// A message, and the number that a client drew to know its answers by.
#[derive(Clone, Debug, PartialEq)]
pub struct Tagged<M> {
    /// The client's number.
    pub nonce: u64,
    /// The message.
    pub message: M,
}

/// True if a datagram is, or should be, one of these messages.
pub fn is_control(datagram: &[u8]) -> bool {
    datagram.starts_with(&MAGIC)
}

/// The name of a message; `None` for what is none.
pub fn describe(datagram: &[u8]) -> Option<String> {
    let (_, kind, _) = header(datagram).ok()?;
    let name = match kind {
        HELLO => "Hello",
        REQUEST => "Request",
        FINISH => "Finish",
        GOODBYE => "Goodbye",
        TOKEN => "Token",
        ACCEPT => "Accept",
        REFUSE => "Refuse",
        RESULT => "Results",
        _ => return None,
    };
    Some(format!("evenkeel perf: {name}"))
}

const HELLO: u8 = 1;
const REQUEST: u8 = 2;
const FINISH: u8 = 3;
const GOODBYE: u8 = 4;
const TOKEN: u8 = 129;
const ACCEPT: u8 = 130;
const REFUSE: u8 = 131;
const RESULT: u8 = 132;

impl Tagged<ClientMessage> {
    /// Reads what a server received.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (mut reader, kind, nonce) = header(bytes)?;
        if bytes.len() != CLIENT_LEN {
            return Err(invalid("length", 0));
        }
        let message = match kind {
            HELLO => ClientMessage::Hello,
            REQUEST => ClientMessage::Request {
                token: reader.u64("token")?,
                terms: read_terms(&mut reader)?,
            },
            FINISH => ClientMessage::Finish {
                test: reader.u16("test")?,
                flow: reader.u16("flow")?,
            },
            GOODBYE => ClientMessage::Goodbye {
                test: reader.u16("test")?,
            },
            _ => return Err(invalid("kind", MAGIC.len())),
        };
        Ok(Self { nonce, message })
    }

    /// Writes the message and gives its length, [`CLIENT_LEN`]; `None` if `buf` is shorter.
    pub fn emit(&self, buf: &mut [u8]) -> Option<usize> {
        let buf = buf.get_mut(..CLIENT_LEN)?;
        buf.fill(0);
        let mut writer = Writer::new(buf);
        let kind = match self.message {
            ClientMessage::Hello => HELLO,
            ClientMessage::Request { .. } => REQUEST,
            ClientMessage::Finish { .. } => FINISH,
            ClientMessage::Goodbye { .. } => GOODBYE,
        };
        write_header(&mut writer, kind, self.nonce)?;
        match &self.message {
            ClientMessage::Hello => {}
            ClientMessage::Request { token, terms } => {
                writer.u64(*token)?;
                write_terms(&mut writer, terms)?;
            }
            ClientMessage::Finish { test, flow } => {
                writer.u16(*test)?;
                writer.u16(*flow)?;
            }
            ClientMessage::Goodbye { test } => writer.u16(*test)?,
        }
        Some(CLIENT_LEN)
    }
}

impl Tagged<ServerMessage> {
    /// Reads what a client received.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (mut reader, kind, nonce) = header(bytes)?;
        let message = match kind {
            TOKEN => ServerMessage::Token {
                token: reader.u64("token")?,
            },
            ACCEPT => ServerMessage::Accept {
                test: reader.u16("test")?,
            },
            REFUSE => {
                let offset = reader.offset();
                let (reason, limit) = (reader.u8("reason")?, reader.u64("limit")?);
                ServerMessage::Refuse(match reason {
                    0 => Refusal::Token,
                    1 => Refusal::Flows(u16::try_from(limit).unwrap_or(u16::MAX)),
                    2 => Refusal::Rate(Rate::from_bits_per_sec(limit as f64)),
                    3 => Refusal::Duration(Duration::from_millis(limit)),
                    4 if limit == 0 => Refusal::OneOff,
                    5 if limit == 0 => Refusal::TooOften,
                    _ => return Err(invalid("reason", offset)),
                })
            }
            RESULT => {
                let (test, flow) = (reader.u16("test")?, reader.u16("flow")?);
                let offset = reader.offset();
                let count = usize::from(reader.u8("number of counts")?);
                if count > RESULTS {
                    return Err(invalid("number of counts", offset));
                }
                let counts = (0..count)
                    .map(|_| read_count(&mut reader))
                    .collect::<Result<_, _>>()?;
                ServerMessage::Results { test, flow, counts }
            }
            _ => return Err(invalid("kind", MAGIC.len())),
        };
        reader.end("message")?;
        Ok(Self { nonce, message })
    }

    /// Writes the message and gives its length; `None` if `buf` is shorter, or if it would tell of more
    /// than [`RESULTS`] flows.
    pub fn emit(&self, buf: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(buf);
        let kind = match self.message {
            ServerMessage::Token { .. } => TOKEN,
            ServerMessage::Accept { .. } => ACCEPT,
            ServerMessage::Refuse(_) => REFUSE,
            ServerMessage::Results { .. } => RESULT,
        };
        write_header(&mut writer, kind, self.nonce)?;
        match &self.message {
            ServerMessage::Token { token } => writer.u64(*token)?,
            ServerMessage::Accept { test } => writer.u16(*test)?,
            ServerMessage::Refuse(refusal) => {
                let (reason, limit) = match refusal {
                    Refusal::Token => (0, 0),
                    Refusal::Flows(most) => (1, u64::from(*most)),
                    Refusal::Rate(most) => (2, most.bits_per_sec() as u64),
                    Refusal::Duration(most) => (3, millis(*most)),
                    Refusal::OneOff => (4, 0),
                    Refusal::TooOften => (5, 0),
                };
                writer.u8(reason)?;
                writer.u64(limit)?;
            }
            ServerMessage::Results { test, flow, counts } => {
                writer.u16(*test)?;
                writer.u16(*flow)?;
                if counts.len() > RESULTS {
                    return None;
                }
                writer.u8(counts.len() as u8)?;
                for count in counts {
                    write_count(&mut writer, count)?;
                }
            }
        }
        Some(writer.len())
    }
}

fn header(bytes: &[u8]) -> Result<(Reader<'_>, u8, u64), ParseError> {
    let mut reader = Reader::new(bytes);
    if reader.take(MAGIC.len(), "magic")? != MAGIC {
        return Err(invalid("magic", 0));
    }
    let kind = reader.u8("kind")?;
    let nonce = reader.u64("nonce")?;
    Ok((reader, kind, nonce))
}

fn write_header(writer: &mut Writer<'_>, kind: u8, nonce: u64) -> Option<()> {
    writer.bytes(&MAGIC)?;
    writer.u8(kind)?;
    writer.u64(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Direction, Mode, ReportTiming};
    use evenkeel_rtp::session::FeedbackMode;
    use proptest::prelude::*;

    fn terms() -> impl Strategy<Value = Terms> {
        let choices = (
            0..3usize,
            0..4usize,
            any::<bool>(),
            1..=Terms::MAX_FLOWS,
            0..4usize,
        );
        let sizes = (
            Terms::MIN_LENGTH..=Terms::MAX_LENGTH,
            1..=Terms::MAX_LENGTH,
            1..1u64 << 40,
            any::<u32>(),
        );
        let times = (0..=100_000u64, 0..=10_000_000u64);
        let reports = (
            1..=ReportTiming::MAX_QUARTERS,
            prop::option::of(1..1u64 << 40),
            any::<bool>(),
        );
        (choices, sizes, times, reports).prop_map(|(choices, sizes, times, reports)| {
            let modes = [
                Mode::Rfc5348,
                Mode::Rfc3448,
                Mode::SmallPackets,
                Mode::Fixed,
            ];
            Terms {
                direction: [Direction::Forward, Direction::Reverse, Direction::Both][choices.0],
                mode: modes[choices.1],
                ecn: choices.2,
                flows: choices.3,
                feedback: FeedbackMode::ALL[choices.4],
                length: sizes.0,
                segment_size: sizes.1,
                rate: Some(Rate::from_bits_per_sec(sizes.2 as f64)),
                duration: Duration::from_millis(sizes.3.into()),
                burst: Duration::from_micros(times.0),
                min_nofeedback: Duration::from_micros(times.1),
                reports: ReportTiming {
                    quarters: reports.0,
                    session_bandwidth: reports.1.map(|bits| Rate::from_bits_per_sec(bits as f64)),
                    piggy_backed: reports.2,
                },
            }
        })
    }

    fn client_message() -> impl Strategy<Value = ClientMessage> {
        prop_oneof![
            Just(ClientMessage::Hello),
            (any::<u64>(), terms())
                .prop_map(|(token, terms)| ClientMessage::Request { token, terms }),
            any::<(u16, u16)>().prop_map(|(test, flow)| ClientMessage::Finish { test, flow }),
            any::<u16>().prop_map(|test| ClientMessage::Goodbye { test }),
        ]
    }

    fn count() -> impl Strategy<Value = Count> {
        any::<([u64; 7], u32, u64)>().prop_map(|(n, jitter, span)| Count {
            packets_sent: n[0],
            bytes_sent: n[1],
            packets_received: n[2],
            bytes_received: n[3],
            packets_lost: n[4],
            out_of_order: n[5],
            packets_marked: n[6],
            jitter: Duration::from_micros(jitter.into()),
            received_over: Duration::from_micros(span),
        })
    }

    fn server_message() -> impl Strategy<Value = ServerMessage> {
        let refusal = prop_oneof![
            Just(Refusal::Token),
            Just(Refusal::OneOff),
            Just(Refusal::TooOften),
            any::<u16>().prop_map(Refusal::Flows),
            (0..1u64 << 50).prop_map(|bits| Refusal::Rate(Rate::from_bits_per_sec(bits as f64))),
            any::<u32>().prop_map(|ms| Refusal::Duration(Duration::from_millis(ms.into()))),
        ];
        prop_oneof![
            any::<u64>().prop_map(|token| ServerMessage::Token { token }),
            any::<u16>().prop_map(|test| ServerMessage::Accept { test }),
            refusal.prop_map(ServerMessage::Refuse),
            (
                any::<(u16, u16)>(),
                prop::collection::vec(count(), 0..=RESULTS)
            )
                .prop_map(|((test, flow), counts)| ServerMessage::Results {
                    test,
                    flow,
                    counts
                }),
        ]
    }

    proptest! {
        #[test]
        fn what_a_client_writes_a_server_reads(nonce: u64, message in client_message()) {
            let message = Tagged { nonce, message };
            let mut buf = [0xff; MAX_LEN];
            let len = message.emit(&mut buf).unwrap();
            prop_assert_eq!(len, CLIENT_LEN);
            prop_assert!(is_control(&buf));
            prop_assert_eq!(Tagged::<ClientMessage>::parse(&buf[..len]), Ok(message));
        }

        #[test]
        fn what_a_server_writes_a_client_reads(nonce: u64, message in server_message()) {
            let is_results = matches!(message, ServerMessage::Results { .. });
            let message = Tagged { nonce, message };
            let mut buf = [0xff; MAX_LEN];
            let len = message.emit(&mut buf).unwrap();
            prop_assert!(is_results || len <= CLIENT_LEN);
            prop_assert_eq!(Tagged::<ServerMessage>::parse(&buf[..len]), Ok(message));
        }

        #[test]
        fn a_message_cut_short_or_too_long_is_refused(message in client_message(), len in 0..2 * CLIENT_LEN) {
            prop_assume!(len != CLIENT_LEN);
            let mut buf = [0; 2 * CLIENT_LEN];
            Tagged { nonce: 1, message }.emit(&mut buf).unwrap();
            prop_assert!(Tagged::<ClientMessage>::parse(&buf[..len]).is_err());
        }

        /// Whatever is read is written as it was, but for the padding: no two meanings.
        #[test]
        fn no_bytes_make_a_reader_panic(kind: u8, body in prop::collection::vec(any::<u8>(), 0..MAX_LEN)) {
            let mut bytes = MAGIC.to_vec();
            bytes.push(kind);
            bytes.extend(body);
            let mut buf = [0; MAX_LEN];
            if let Ok(message) = Tagged::<ServerMessage>::parse(&bytes) {
                let len = message.emit(&mut buf);
                prop_assert_eq!(len.map(|len| Tagged::<ServerMessage>::parse(&buf[..len])), Some(Ok(message)));
            }
            bytes.resize(CLIENT_LEN, 0);
            if let Ok(message) = Tagged::<ClientMessage>::parse(&bytes) {
                let len = message.emit(&mut buf);
                prop_assert_eq!(len.map(|len| Tagged::<ClientMessage>::parse(&buf[..len])), Some(Ok(message)));
            }
        }
    }
}
