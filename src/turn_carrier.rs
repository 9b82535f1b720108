//! Carries datagrams between this end's socket and a TURN server in a stream of TCP, for networks without UDP.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::thread;

use evenkeel_net::Clock;
use evenkeel_secure::turn_stream::{StreamReader, StreamWriter};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tfrc::time::Duration;

use crate::failure;

/// The time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between the end of a connection and the next one.
const RECONNECT_AFTER: Duration = Duration::from_secs(2);

/// The bytes that the system holds of the stream. More would delay pictures by what waits there.
const SYSTEM_BUFFER: usize = 64 * 1024;

/// The bytes that wait for the system. Datagrams beyond them are dropped, as by a full queue on the path.
const MAX_PENDING: usize = 16 * 1024;

/// The most datagrams between two looks at the stream.
const DATAGRAM_BUDGET: usize = 64;

/// Starts a thread that carries datagrams to this server as long as the process runs. Returns the address that stands for
/// the server, which only the socket at `end` reaches.
pub(crate) fn start(clock: Clock, server: SocketAddr, end: SocketAddr) -> io::Result<SocketAddr> {
    let ip = match (end.ip(), server) {
        (ip, _) if !ip.is_unspecified() => ip,
        (_, SocketAddr::V4(_)) => Ipv4Addr::LOCALHOST.into(),
        (_, SocketAddr::V6(_)) => Ipv6Addr::LOCALHOST.into(),
    };
    let socket = UdpSocket::bind((ip, 0))?;
    socket.connect((ip, end.port()))?;
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let run = move || carry_on(&clock, server, &socket);
    thread::Builder::new().name("relay".into()).spawn(run)?;
    Ok(address)
}

/// Connects again and again. Says the first time why a connection fails or ends.
fn carry_on(clock: &Clock, server: SocketAddr, socket: &UdpSocket) {
    let mut is_said = false;
    let mut has_ended = false;
    loop {
        let stream = TcpStream::connect_timeout(&server, CONNECT_TIMEOUT);
        let ended = stream.and_then(|stream| {
            let carrier = Carrier::new(socket, stream)?;
            if std::mem::replace(&mut has_ended, true) {
                // What the server granted ended with the stream before.
                socket.send(&[])?;
            }
            carrier.run()
        });
        if let Err(error) = ended
            && !is_said
        {
            failure::warn(format_args!(
                "the relay {server} cannot be used by TCP (--ice-server): {error}; it is tried again"
            ));
            is_said = true;
        }
        clock.sleep_until(clock.now() + RECONNECT_AFTER);
        // What waited is too old for a person to see.
        while socket.recv(&mut []).is_ok() {}
    }
}

/// One connection to a server.
struct Carrier<'a> {
    socket: &'a UdpSocket,
    stream: TcpStream,
    writer: StreamWriter,
    reader: StreamReader,
    /// What the system did not yet take of the stream.
    pending: Vec<u8>,
    buffer: Vec<u8>,
}

impl<'a> Carrier<'a> {
    fn new(socket: &'a UdpSocket, stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        set_socket_send_buffer_size(&stream, SYSTEM_BUFFER)?;
        Ok(Self {
            socket,
            stream,
            writer: StreamWriter::default(),
            reader: StreamReader::default(),
            pending: Vec::new(),
            buffer: vec![0; MAX_PENDING],
        })
    }

    /// Carries until the connection ends, which is an error.
    fn run(mut self) -> io::Result<()> {
        loop {
            let mut of_stream = PollFlags::IN;
            of_stream.set(PollFlags::OUT, !self.pending.is_empty());
            let mut sources = [
                PollFd::new(self.socket, PollFlags::IN),
                PollFd::new(&self.stream, of_stream),
            ];
            match poll(&mut sources, None) {
                Err(error) if error != rustix::io::Errno::INTR => return Err(error.into()),
                _ => {}
            }
            self.take_datagrams();
            self.write()?;
            self.read()?;
        }
    }

    fn take_datagrams(&mut self) {
        for _ in 0..DATAGRAM_BUDGET {
            match self.socket.recv(&mut self.buffer) {
                Ok(len) if self.pending.len() + len <= MAX_PENDING => {
                    self.writer.write(&self.buffer[..len], &mut self.pending);
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match would_block(self.stream.write(&self.pending))? {
                Some(written) => drop(self.pending.drain(..written)),
                None => break,
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(len) = would_block(self.stream.read(&mut self.buffer))? else {
            return Ok(());
        };
        if len == 0 {
            return Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                "it ended the connection",
            ));
        }
        self.reader.push(&self.buffer[..len]);
        while let Some(message) = self.reader.next_message().map_err(io::Error::other)? {
            // The end may be gone: the run ends then.
            let _ = self.socket.send(message);
        }
        Ok(())
    }
}

/// Returns `None` if nothing can be read or written now.
fn would_block(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A message with a header of ChannelData, whose payload of one byte is padded in a stream.
    fn message(number: u8) -> [u8; 5] {
        [0x40, 0, 0, 1, number]
    }

    #[test]
    fn messages_pass_both_ways_and_after_a_new_connection() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let end = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = |socket: &UdpSocket| socket.local_addr().expect("it is bound");
        let server_address = server.local_addr().expect("it is bound");
        let carrier = start(Clock::start(), server_address, address(&end)).expect("a carrier");
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
        end.connect(carrier).expect("loopback");
        for number in 0..2 {
            let (mut stream, _) = server.accept().expect("a connection");
            stranger.send_to(&message(9), carrier).expect("loopback");
            end.send(&message(number)).expect("loopback");
            let mut padded = [0; 8];
            stream.read_exact(&mut padded).expect("a message");
            assert_eq!(padded[..5], message(number));
            stream.write_all(&padded).expect("a connection");
            let mut whole = [0; 8];
            if number > 0 {
                assert_eq!(end.recv(&mut whole).expect("a datagram"), 0);
            }
            let len = end.recv(&mut whole).expect("a message");
            assert_eq!(whole[..len], message(number));
        }
    }
}
