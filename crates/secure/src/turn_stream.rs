//! Frames the messages between an end and a TURN server in a stream, for networks without UDP (RFC 8489 §6.2.2, RFC 8656 §12.5).

use std::collections::VecDeque;

use thiserror::Error;

/// The header of a STUN message, in bytes (RFC 8489 §5).
const STUN_HEADER: usize = 20;

/// The bytes after the length of every STUN message (RFC 8489 §5).
const MAGIC_COOKIE: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];

/// The header of a ChannelData message, in bytes (RFC 8656 §12.4).
const CHANNEL_HEADER: usize = 4;

/// The most requests that are remembered: as many as an allocation with a hundred permissions has open.
const MAX_REQUESTS: usize = 128;

/// The error that a stream has other bytes than those of a TURN server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stream is of another protocol than TURN: check host and port")]
pub struct NotTurn;

/// Writes the messages of one end to the stream of one connection.
#[derive(Debug, Default)]
pub struct StreamWriter {
    /// The transactions of the latest requests.
    requests: VecDeque<[u8; 12]>,
}

impl StreamWriter {
    /// Appends a message to the stream, with its padding. A request that is in the stream already is left out, because the
    /// stream loses nothing, and so are bytes that are no message.
    pub fn write(&mut self, message: &[u8], stream: &mut Vec<u8>) {
        let Ok(Some((len, padded))) = lengths(message) else {
            return;
        };
        if !(len..=padded).contains(&message.len()) || self.is_repeated(message) {
            return;
        }
        stream.extend_from_slice(message);
        stream.extend(std::iter::repeat_n(0, padded - message.len()));
    }

    fn is_repeated(&mut self, message: &[u8]) -> bool {
        // The class is in the two bits of the type that are zero in a request (RFC 8489 §5).
        let [0..=0x3F, second, ..] = *message else {
            return false;
        };
        let is_request = message[0] & 1 == 0 && second & 0x10 == 0;
        let transaction = message
            .get(8..STUN_HEADER)
            .and_then(|id| id.try_into().ok());
        let Some(transaction) = transaction.filter(|_| is_request) else {
            return false;
        };
        if self.requests.contains(&transaction) {
            return true;
        }
        if self.requests.len() == MAX_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(transaction);
        false
    }
}

/// Reads the messages of a server from the stream of one connection.
///
/// It holds one message of at most 64 KiB, and what arrived with its end.
#[derive(Debug, Default)]
pub struct StreamReader {
    bytes: Vec<u8>,
    /// The bytes in front that were given out.
    read: usize,
}

impl StreamReader {
    /// Takes in bytes of the stream. The caller then reads all messages.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next message, without padding, or `None` if it is not yet there as a whole.
    ///
    /// # Errors
    ///
    /// Refuses a stream that has no message next. Nothing more can be read from it.
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, NotTurn> {
        let rest = &self.bytes[self.read..];
        let Some((len, padded)) = lengths(rest)? else {
            return Ok(None);
        };
        if rest.len() < padded {
            return Ok(None);
        }
        self.read += padded;
        Ok(Some(&rest[..len]))
    }
}

/// Returns the length of the message at the front without and with padding, once its header is there (RFC 8656 §12.5).
fn lengths(bytes: &[u8]) -> Result<Option<(usize, usize)>, NotTurn> {
    let header = match bytes.first() {
        None => return Ok(None),
        Some(0..=0x3F) => STUN_HEADER,
        Some(0x40..=0x4F) => CHANNEL_HEADER,
        Some(_) => return Err(NotTurn),
    };
    let Some(&[high, low]) = bytes.get(2..4).and_then(|len| len.first_chunk()) else {
        return Ok(None);
    };
    let len = header + usize::from(u16::from_be_bytes([high, low]));
    if header == STUN_HEADER {
        // The length of a STUN message is a multiple of four (RFC 8489 §5).
        let is_stun = bytes
            .get(4..8)
            .map(|cookie| cookie == MAGIC_COOKIE && len.is_multiple_of(4));
        match is_stun {
            Some(true) => {}
            Some(false) => return Err(NotTurn),
            None => return Ok(None),
        }
    }
    Ok(Some((len, len.next_multiple_of(4))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn channel_data(payload: &[u8]) -> Vec<u8> {
        let len = u16::try_from(payload.len()).unwrap().to_be_bytes();
        [&[0x40, 1, len[0], len[1]], payload].concat()
    }

    fn request(number: u8) -> Vec<u8> {
        let mut request = vec![0; STUN_HEADER];
        request[1] = 3;
        request[4..8].copy_from_slice(&MAGIC_COOKIE);
        request[19] = number;
        request
    }

    #[test]
    fn request_is_in_the_stream_once() {
        let (mut writer, mut stream) = (StreamWriter::default(), Vec::new());
        for message in [
            request(1),
            request(1),
            request(2),
            vec![0x80; 40],
            Vec::new(),
        ] {
            writer.write(&message, &mut stream);
        }
        assert_eq!(stream, [request(1), request(2)].concat());
        let mut indication = request(1);
        indication[1] = 0x16;
        writer.write(&indication, &mut stream);
        writer.write(&indication, &mut stream);
        assert_eq!(stream.len(), 4 * STUN_HEADER);
    }

    #[test]
    fn foreign_stream_is_refused() {
        let alert = b"\x15\x03\x03\0\x02\x02\x46\0";
        for bytes in [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], alert] {
            let mut reader = StreamReader::default();
            reader.push(bytes);
            assert_eq!(reader.next_message(), Err(NotTurn));
        }
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            pieces in prop::collection::vec(1..50usize, 1..20),
        ) {
            let messages: Vec<_> = payloads.iter().map(|payload| channel_data(payload)).collect();
            let (mut writer, mut stream) = (StreamWriter::default(), Vec::new());
            for message in &messages {
                writer.write(message, &mut stream);
            }
            let (mut reader, mut read) = (StreamReader::default(), Vec::new());
            let mut pieces = pieces.iter().cycle();
            while !stream.is_empty() {
                let piece = stream.len().min(*pieces.next().unwrap());
                reader.push(&stream[..piece]);
                stream.drain(..piece);
                while let Some(message) = reader.next_message().unwrap() {
                    read.push(message.to_vec());
                }
            }
            prop_assert_eq!(read, messages);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = StreamReader::default();
            reader.push(&bytes);
            while let Ok(Some(message)) = reader.next_message() {
                prop_assert!(message.len() <= bytes.len());
            }
        }
    }
}
