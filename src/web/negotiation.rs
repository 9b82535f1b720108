//! Turns the offer of a browser into an answer, and into the call that both ends then have.

use std::io;
use std::net::IpAddr;

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_media::call::Call;
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_net::Clock;
use evenkeel_rtp::packet::ext::PlayoutDelay;
use evenkeel_rtp::packet::sdp::SdpError;
use evenkeel_rtp::packet::sdp::jsep::{
    Answer, IceCredentials, LocalDescription, NegotiatedVideo, PictureFormat, RemoteDescription,
};
use evenkeel_rtp::session;
use evenkeel_secure::credentials::draw_credentials;
use evenkeel_secure::endpoint::{Candidate, IceCreds, IceRestart, IceServer, PEER};
use evenkeel_secure::identity::{Fingerprint, FingerprintError};
use tfrc::time::Duration;

use crate::http::Token;
use crate::run::{LocalAddresses, WebPeer};
use crate::wiring::{self, Role};

/// What this end needs to answer offers.
pub(crate) struct BrowserCallsConfig {
    pub(crate) clock: Clock,
    /// The servers that help through NATs, of which browsers are told.
    pub(crate) servers: Vec<IceServer>,
    pub(crate) fingerprint: Fingerprint,
    /// The pictures of this end.
    pub(crate) format: Format,
    pub(crate) policy: PolicyConfig,
    /// The time without feedback after which media stops.
    pub(crate) give_up: Duration,
}

/// The least playout delay that a browser is asked for. With none it shows each frame on arrival, however uneven.
const LEAST_PLAYOUT_DELAY: Duration = Duration::from_millis(10);

/// Answers offers of browsers.
pub(crate) struct BrowserCalls(BrowserCallsConfig);

/// The reason for which an offer is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum OfferError {
    #[error("the offer cannot be read: {0}")]
    Unreadable(SdpError),
    #[error("no call is possible by this offer: {0}")]
    Unacceptable(SdpError),
    #[error("the offer's certificate: {0}")]
    Fingerprint(FingerprintError),
    #[error("no random numbers: {0}")]
    Random(io::Error),
}

impl BrowserCalls {
    pub(crate) const fn new(config: BrowserCallsConfig) -> Self {
        Self(config)
    }

    pub(super) fn servers(&self) -> &[IceServer] {
        &self.0.servers
    }

    /// Answers an offer: the text of the answer, and the peer with which a session begins.
    pub(super) fn answer(
        &self,
        offer: &str,
        LocalAddresses { hosts, gathered }: LocalAddresses,
    ) -> Result<(Answer, WebPeer), OfferError> {
        let offer = RemoteDescription::parse(offer).map_err(OfferError::Unreadable)?;
        let id = Token::draw_secret().map_err(OfferError::Random)?;
        let seed = draw_seed().map_err(OfferError::Random)?;
        let credentials = draw_credentials().map_err(OfferError::Random)?;
        let Format {
            width,
            height,
            frame_rate,
        } = self.0.format;
        let local = LocalDescription {
            session_id: seed,
            credentials: IceCredentials {
                ufrag: credentials.ufrag.clone(),
                password: credentials.pass.clone(),
            },
            fingerprint: self.0.fingerprint.to_string(),
            candidates: hosts
                .iter()
                .chain(&gathered)
                .map(candidate_attribute)
                .collect(),
            ssrc: (seed >> 32) as u32,
            sends: Some(PictureFormat {
                width,
                height,
                frames_per_second: frame_rate.per_second(),
            }),
            receives: true,
        };
        let answer = Answer::new(&offer, &local).map_err(OfferError::Unacceptable)?;
        let session = self.session(&answer.video, seed, local.ssrc);
        let policy = self.0.policy;
        let peer = &answer.peer;
        let peer = WebPeer {
            id,
            restart: IceRestart {
                candidates: hosts,
                credentials,
                peer_credentials: IceCreds {
                    ufrag: peer.credentials.ufrag.clone(),
                    pass: peer.credentials.password.clone(),
                },
                peer_candidates: read_candidates(&peer.candidates),
            },
            fingerprint: peer.fingerprint.parse().map_err(OfferError::Fingerprint)?,
            make_call: Box::new(move |now| Call::new(now, session.clone(), policy, Payload::H264)),
        };
        Ok((answer, peer))
    }

    /// Returns the session of what was negotiated.
    fn session(&self, video: &NegotiatedVideo, seed: u64, ssrc: u32) -> session::Config {
        let role = match (video.sends, video.receives) {
            (true, false) => Role::Sends,
            (false, true) => Role::Receives,
            _ => Role::Both,
        };
        let (codec, clock) = (Codec::H264, &self.0.clock);
        let mut session = wiring::session("browser", role, codec, Some(PEER), seed, clock);
        session.ssrc = Some(ssrc);
        wiring::follow_negotiated(&mut session, video);
        if let Some(send) = &mut session.send {
            send.give_up = self.0.give_up;
            send.fallback = video.feedback.is_none();
            let asked = PlayoutDelay {
                min: LEAST_PLAYOUT_DELAY,
                max: self.0.policy.deadline,
            };
            send.playout_delay = video.playout_delay_id.map(|id| (id, asked));
        }
        session
    }
}

fn draw_seed() -> io::Result<u64> {
    getrandom::u64().map_err(io::Error::other)
}

/// Returns a candidate as in `a=candidate:`, without these words.
pub(crate) fn candidate_attribute(candidate: &Candidate) -> String {
    let text = candidate.to_sdp_string();
    text.strip_prefix("candidate:").unwrap_or(&text).to_owned()
}

/// Reads the candidates that can be tried: a name that only a browser's own network resolves cannot, and no TCP.
pub(crate) fn read_candidates(texts: &[String]) -> Vec<Candidate> {
    let is_udp = |text: &&String| {
        let transport = text.split_ascii_whitespace().nth(2);
        transport.is_some_and(|name| name.eq_ignore_ascii_case("udp"))
    };
    let read = |text: &String| Candidate::from_sdp_string(&format!("candidate:{text}")).ok();
    let can_be_sent_to = |candidate: &Candidate| {
        let address = candidate.addr();
        let ip = address.ip();
        address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !is_broadcast(ip)
    };
    let candidates = texts.iter().filter(is_udp).filter_map(read);
    candidates.filter(can_be_sent_to).collect()
}

fn is_broadcast(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.is_broadcast())
}

#[cfg(test)]
mod tests {
    use evenkeel_codec::source::FrameRate;
    use evenkeel_rtp::session::FeedbackMode;

    use super::*;

    const CHROMIUM: &str = include_str!("../../testdata/offers/chromium.sdp");
    const OBS: &str = include_str!("../../testdata/offers/obs.sdp");

    fn calls() -> BrowserCalls {
        let frame_rate = FrameRate::new(25, 1).expect("25 a second");
        BrowserCalls::new(BrowserCallsConfig {
            clock: Clock::start(),
            servers: Vec::new(),
            fingerprint: [7; 32].into(),
            format: Format {
                width: 640,
                height: 480,
                frame_rate,
            },
            policy: PolicyConfig::new(frame_rate.interval()),
            give_up: Duration::from_secs(30),
        })
    }

    fn session(offer: &str) -> session::Config {
        let calls = calls();
        let (answer, _) = calls
            .answer(offer, LocalAddresses::default())
            .expect("an answer");
        calls.session(&answer.video, 1, 2)
    }

    #[test]
    fn session_has_what_the_browser_agreed_to() {
        let session = session(CHROMIUM);
        assert_eq!((session.ssrc, session.extension_id), (Some(2), None));
        assert_eq!(session.transport_sequence_id, 3);
        let (send, receive) = (
            session.send.expect("sends"),
            session.receive.expect("receives"),
        );
        assert_eq!((send.payload_type, receive.payload_type), (109, 109));
        assert_eq!(
            (send.feedback, receive.feedback),
            (FeedbackMode::Twcc, FeedbackMode::Twcc)
        );
        assert!(!send.leave_out_sequence_numbers && receive.reports);
        let (id, delay) = send.playout_delay.expect("a playout delay");
        assert_eq!((id, delay.max), (5, calls().0.policy.deadline));
    }

    #[test]
    fn peer_without_reports_gets_none_and_is_paced_by_its_own() {
        let published = session(OBS);
        assert!(published.send.is_none());
        assert!(!published.receive.expect("receives").reports);
        let plays = session(&OBS.replace("a=sendonly", "a=recvonly"));
        assert!(plays.send.is_some_and(|send| send.fallback));
        assert!(!session(CHROMIUM).send.is_some_and(|send| send.fallback));
    }

    #[test]
    fn candidates_that_cannot_be_tried_are_skipped() {
        let texts = [
            "1 1 udp 2113937151 192.0.2.1 58233 typ host generation 0 network-cost 999",
            "1 1 udp 2113937151 6c8ea7b2.local 58233 typ host",
            "1 1 udp 2113937151 239.1.2.3 58233 typ host",
            "1 1 udp 2113937151 255.255.255.255 58233 typ host",
            "1 1 udp 2113937151 0.0.0.0 58233 typ host",
            "1 1 udp 2113937151 192.0.2.1 0 typ host",
            "1 1 TCP 2105524479 192.0.2.14 9 typ host tcptype active",
            "",
        ];
        assert_eq!(read_candidates(&texts.map(String::from)).len(), 1);
    }
}
