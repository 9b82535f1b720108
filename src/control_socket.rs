//! A Unix socket that takes lines and answers each with a line.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A listening socket, whose file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// The bytes that are not yet a whole line.
    rest: Vec<u8>,
}

/// The most clients at a time; a further one waits.
const MAX_CLIENTS: usize = 8;
/// The length in bytes that no control message exceeds.
const MAX_LINE: usize = 64 << 10;
const TOO_LONG: &[u8] = b"{\"error\":\"a line has at most 65536 bytes\"}\n";

impl ControlSocket {
    /// Listens at a path. A socket that a killed process left there is replaced, a file is not.
    pub(crate) fn listen(path: &Path) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::usage(format!("--control {}: {error}", path.display()))
        };
        let is_socket = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse if is_socket => Failure::usage(format!(
                "--control {}: another process listens there: end it, or name another path",
                path.display()
            )),
            ErrorKind::AddrInUse => Failure::usage(format!(
                "--control {}: there is a file of this name, which is no socket: name another path",
                path.display()
            )),
            _ => failed(error),
        })?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            clients: Vec::new(),
        })
    }

    /// Answers every line that has arrived, and returns at once.
    pub(crate) fn serve(&mut self, answer: impl Fn(&str) -> String) {
        while self.clients.len() < MAX_CLIENTS
            && let Ok((stream, _)) = self.listener.accept()
        {
            if stream.set_nonblocking(true).is_ok() {
                let rest = Vec::new();
                self.clients.push(Client { stream, rest });
            }
        }
        self.clients.retain_mut(|client| client.serve(&answer));
    }
}

impl Client {
    /// Returns false if the client is to be closed: it left, does not read its answers, or sends no lines.
    fn serve(&mut self, answer: impl Fn(&str) -> String) -> bool {
        let mut buffer = [0; 4_096];
        let is_open = match self.stream.read(&mut buffer) {
            Ok(0) => {
                // A last line without a newline is a line, too.
                if !self.rest.is_empty() {
                    self.rest.push(b'\n');
                }
                false
            }
            Ok(length) => {
                self.rest.extend_from_slice(&buffer[..length]);
                true
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let mut reply = answer(String::from_utf8_lossy(&line).trim());
            reply.push('\n');
            if self.stream.write_all(reply.as_bytes()).is_err() {
                return false;
            }
        }
        let is_line = self.rest.len() <= MAX_LINE;
        if !is_line {
            // A client that does not read the answer is closed as well.
            let _ = self.stream.write_all(TOO_LONG);
        }
        is_open && is_line
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // The file may have been removed before.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};

    #[test]
    fn socket_of_dead_process_alone_is_replaced() {
        let path = |name: &str| {
            let name = format!("evenkeel-{name}-{}", std::process::id());
            std::env::temp_dir().join(name)
        };
        let (socket, file) = (path("control"), path("file"));
        // A killed process leaves its file without a listener.
        drop(UnixListener::bind(&socket).unwrap());
        let living = ControlSocket::listen(&socket).unwrap();
        let refused = ControlSocket::listen(&socket).unwrap_err().to_string();
        assert!(refused.contains("another process listens"), "{refused}");
        assert!(UnixStream::connect(&socket).is_ok());
        drop(living);
        assert!(!socket.exists());
        fs::write(&file, "text").unwrap();
        let refused = ControlSocket::listen(&file).unwrap_err().to_string();
        assert!(refused.contains("no socket"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        fs::remove_file(&file).unwrap();
    }

    fn connected() -> (Client, UnixStream) {
        let (stream, other) = UnixStream::pair().unwrap();
        let rest = Vec::new();
        (Client { stream, rest }, other)
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        let (mut client, other) = connected();
        (&other).write_all(b"first\nlast").unwrap();
        other.shutdown(std::net::Shutdown::Write).unwrap();
        while client.serve(|line| format!("heard {line}")) {}
        drop(client);
        let answers: Vec<String> = BufReader::new(other).lines().map(Result::unwrap).collect();
        assert_eq!(answers, ["heard first", "heard last"]);
    }

    #[test]
    fn endless_line_is_refused_in_one_line() {
        let (mut client, other) = connected();
        (&other).write_all(&vec![b'x'; MAX_LINE + 1]).unwrap();
        while client.serve(|_| unreachable!("no line has come")) {}
        drop(client);
        let mut line = String::new();
        BufReader::new(other).read_line(&mut line).unwrap();
        assert!(line.contains("at most 65536 bytes"), "{line}");
    }
}
