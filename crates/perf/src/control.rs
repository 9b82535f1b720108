//! The messages that agree on a test: big-endian, one a datagram; their first byte distinguishes them from RTP.
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
mod tests;
