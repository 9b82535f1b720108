//! Publishes to a media server by WHIP (RFC 9725), or plays from one by WHEP.

mod links;
mod signalling;
#[cfg(test)]
mod tests;
mod trickle;
mod url;

use std::time::UNIX_EPOCH;

use evenkeel_codec::Codec;
use evenkeel_codec::source::Format;
use evenkeel_media::rtp_codec::RtpCodec as _;
use evenkeel_net::{Clock, Socket};
use evenkeel_rtp::packet::sdp::jsep::{
    DtlsSetup, IceCredentials, LocalDescription, Offer, PictureFormat, RemoteDescription,
};
use evenkeel_rtp::session;
use evenkeel_secure::credentials::draw_credentials;
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{IceCreds, SecureConfig};
use evenkeel_secure::identity::Identity;

pub(crate) use self::links::IceServerLink;
pub(crate) use self::signalling::ServerProtocol;
use self::signalling::{ServerAnswer, SignallingEndpoint, SignallingSession};
pub(crate) use self::trickle::Trickle;
use self::url::ServerUrl;
use crate::cli::{ConnectionArgs, MediaServerArgs};
use crate::failure::{self, Failure};
use crate::meeting::{self, Encrypted};
use crate::redaction::redacted;
use crate::web::{candidate_attribute, read_candidates};
use crate::wiring;

/// The environment variable of the token, which a list of processes does not show.
const TOKEN_VARIABLE: &str = "EVENKEEL_TOKEN";

/// A media server that the command line names.
pub(crate) struct MediaServer(SignallingEndpoint);

/// The session at a media server, which ends when this is dropped.
pub(crate) struct MediaServerSession(Option<SignallingSession>);

impl MediaServer {
    /// Reads the URL and the token of the command line.
    pub(crate) fn new(
        protocol: ServerProtocol,
        url: &str,
        args: &MediaServerArgs,
    ) -> Result<Self, Failure> {
        let option = protocol.option();
        let shown = redacted(url);
        let wrong = |error| Failure::usage(format!("{option} '{shown}': {error}"));
        let url = ServerUrl::parse(url).map_err(wrong)?;
        let token = args.token.clone();
        let token = token.or_else(|| std::env::var(TOKEN_VARIABLE).ok());
        let token = token.filter(|token| !token.is_empty());
        let is_letter = |byte: u8| byte.is_ascii_graphic();
        if token
            .as_ref()
            .is_some_and(|token| !token.bytes().all(is_letter))
        {
            return Err(Failure::usage(format!(
                "--token or {TOKEN_VARIABLE} has a letter that no token has: copy it without spaces"
            )));
        }
        if args.tls_fingerprint.is_some() && !url.is_secure() {
            return Err(Failure::usage(format!(
                "--tls-fingerprint: {option} {shown} has no certificate; write https://"
            )));
        }
        if token.is_some() && !url.is_secure() && !url.is_local() {
            failure::warn(format_args!(
                "the token goes to {shown} in the clear: anyone on the path can use it; https protects it"
            ));
        }
        Ok(Self(SignallingEndpoint {
            protocol,
            url,
            token,
            fingerprint: args.tls_fingerprint,
        }))
    }

    /// Offers the stream of a session, whose pictures have this format if it sends, and follows the answer.
    pub(crate) fn join(
        self,
        socket: &Socket,
        clock: &Clock,
        args: &ConnectionArgs,
        session: &mut session::Config,
        sends: Option<&Format>,
    ) -> Result<(Encrypted, MediaServerSession), Failure> {
        let url = redacted(&self.0.url.to_string());
        let place = format!("{} {url}", self.0.protocol.option());
        let wrong = |error: &dyn std::fmt::Display| Failure::runtime(format!("{place}: {error}"));
        let identity = Identity::generate(UNIX_EPOCH + clock.unix_time(clock.now()));
        let identity = identity.map_err(Failure::runtime)?;
        let candidates = meeting::candidates(socket.local_address())?;
        let mut servers = meeting::servers(args, socket, clock)?;
        let credentials = draw_credentials().map_err(Failure::runtime)?;
        // The offer names the source.
        session.ssrc = Some(getrandom::u32().map_err(Failure::runtime)?);
        let local = LocalDescription {
            session_id: session.seed,
            credentials: IceCredentials {
                ufrag: credentials.ufrag.clone(),
                password: credentials.pass.clone(),
            },
            fingerprint: identity.fingerprint().to_string(),
            candidates: candidates.iter().map(candidate_attribute).collect(),
            ssrc: session.ssrc.unwrap_or_default(),
            sends: sends.map(|format| PictureFormat {
                width: format.width,
                height: format.height,
                frames_per_second: format.frame_rate.per_second(),
            }),
            receives: sends.is_none(),
        };
        let offer = Offer::new(Codec::H264.payload_type(), local);
        let ServerAnswer {
            text: answer,
            session: resource,
            ice_servers,
        } = self
            .0
            .post(&offer.to_string())
            .map_err(|error| wrong(&error))?;
        let server = MediaServerSession(resource);
        let accepted = RemoteDescription::parse(&answer);
        let accepted = accepted.and_then(|answer| offer.accept(&answer));
        let fingerprint = |text: &str| text.parse().map_err(|error| wrong(&error));
        let accepted = accepted.map_err(|error| wrong(&format!("its answer: {error}")));
        let accepted =
            accepted.and_then(|(video, peer)| Ok((video, fingerprint(&peer.fingerprint)?, peer)));
        let (video, peer_fingerprint, peer) = accepted?;
        wiring::follow_negotiated(session, &video);
        servers.extend(meeting::servers_of(&ice_servers, socket, clock)?);
        let config = SecureConfig {
            candidates,
            servers,
            credentials,
            peer_credentials: IceCreds {
                ufrag: peer.credentials.ufrag,
                pass: peer.credentials.password,
            },
            peer_candidates: read_candidates(&peer.candidates),
            peer_fingerprint,
            identity,
            encrypts_extensions: false,
            role: match peer.setup {
                DtlsSetup::Active => Role::Server,
                _ => Role::Client,
            },
            // The offering end controls (RFC 8445 §6.1.1).
            controls: true,
        };
        let has_servers = !config.servers.is_empty();
        let trickle = server.0.as_ref().filter(|_| has_servers);
        let trickle =
            trickle.and_then(|session| Trickle::start(session.clone(), config.credentials.clone()));
        Ok((Encrypted::to_media_server(config, trickle), server))
    }
}

impl Drop for MediaServerSession {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.end();
        }
    }
}
