//! Tells a media server the addresses of this end that become known after the offer (RFC 9725 §4.3.1, RFC 8840).

use std::fmt::Write as _;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use evenkeel_secure::endpoint::{Candidate, IceCreds};

use super::signalling::SignallingSession;
use crate::failure;
use crate::web::candidate_attribute;

/// The most sets of addresses that wait to be sent.
const MAX_WAITING: usize = 8;

/// The thread that sends addresses, which ends with this value once its request is answered.
pub(crate) struct Trickle(SyncSender<Vec<Candidate>>);

impl Trickle {
    /// Starts the thread for the session with these credentials.
    pub(super) fn start(session: SignallingSession, credentials: IceCreds) -> Option<Self> {
        let (sender, waiting) = sync_channel::<Vec<Candidate>>(MAX_WAITING);
        let run = move || {
            for candidates in waiting {
                if let Err(error) = session.patch(&fragment(&credentials, &candidates)) {
                    failure::warn(format_args!(
                        "the media server refused the addresses that --ice-server found for this end: {error}"
                    ));
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("trickle".into());
        thread.spawn(run).ok()?;
        Some(Self(sender))
    }

    /// Sends these addresses. They are dropped if many wait already.
    pub(crate) fn send(&self, candidates: Vec<Candidate>) {
        let _ = self.0.try_send(candidates);
    }
}

/// Returns the addresses as `application/trickle-ice-sdpfrag` (RFC 8840 §4.2).
fn fragment(credentials: &IceCreds, candidates: &[Candidate]) -> String {
    let IceCreds { ufrag, pass } = credentials;
    let mut text = format!(
        "a=ice-ufrag:{ufrag}\r\na=ice-pwd:{pass}\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
    );
    for candidate in candidates {
        let _ = write!(text, "a=candidate:{}\r\n", candidate_attribute(candidate));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_rtp::packet::sdp::jsep::IceFragment;

    #[test]
    fn fragment_is_read_as_it_is_written() {
        let credentials = IceCreds::new();
        let candidate = Candidate::host(([192, 0, 2, 7], 5_004).into(), "udp").expect("a host");
        let text = fragment(&credentials, &[candidate.clone(), candidate]);
        let read = IceFragment::parse(&text).expect("a fragment");
        assert_eq!(read.candidates.len(), 2);
        let read = read.credentials.expect("credentials");
        assert_eq!(
            (read.ufrag, read.password),
            (credentials.ufrag, credentials.pass)
        );
    }
}
