//! The requests of WHIP (RFC 9725) and WHEP: an offer for an answer, and the end of the session.

use std::time::Duration;

use evenkeel_rtp::packet::sdp::jsep::MAX_SESSION_LEN;
use evenkeel_secure::identity::Fingerprint;
use ureq::http::{Response, StatusCode, header};
use ureq::{Body, RequestBuilder};

use super::links::{IceServerLink, ice_servers};
use super::url::{ServerUrl, ServerUrlError};
use crate::http_client::{agent, reason};

/// The time for an answer to the offer. A server may start a pipeline first.
const OFFER_TIMEOUT: Duration = Duration::from_secs(20);

/// The time for the end of a session, for which a person waits.
const DELETE_TIMEOUT: Duration = Duration::from_secs(3);

/// The most redirections of an offer.
const MAX_REDIRECTIONS: usize = 5;

/// The most bytes of a refusal that are shown.
const MAX_REFUSAL: usize = 200;

/// The protocol with a media server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerProtocol {
    /// This end publishes (RFC 9725).
    Whip,
    /// This end plays.
    Whep,
}

impl ServerProtocol {
    /// Returns the option that names the URL.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Whip => "--whip",
            Self::Whep => "--whep",
        }
    }
}

/// The reason for which a media server gives no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignallingError {
    #[error("{0}")]
    Url(#[from] ServerUrlError),
    #[error("{0}")]
    Request(String),
    #[error("the server answers {status}{said}: {remedy}")]
    Refused {
        status: StatusCode,
        /// What the server says of it, after a comma.
        said: String,
        remedy: &'static str,
    },
    #[error("the server redirects more than {MAX_REDIRECTIONS} times: check its configuration")]
    Redirections,
    #[error(
        "the server accepted the offer but sent no SDP answer: give {0} the URL of its WHIP or WHEP endpoint"
    )]
    NoAnswer(&'static str),
}

/// An endpoint of a media server.
pub(super) struct SignallingEndpoint {
    pub(super) protocol: ServerProtocol,
    pub(super) url: ServerUrl,
    pub(super) token: Option<String>,
    /// The fingerprint of the server's certificate, if no authority has to know it.
    pub(super) fingerprint: Option<Fingerprint>,
}

/// The answer of a media server to an offer.
pub(super) struct ServerAnswer {
    /// The answer in SDP.
    pub(super) text: String,
    /// The session, if the server named it.
    pub(super) session: Option<SignallingSession>,
    /// The servers that help through NATs (RFC 9725 §4.6).
    pub(super) ice_servers: Vec<IceServerLink>,
}

/// The session of this end at a media server.
#[derive(Clone)]
pub(super) struct SignallingSession {
    url: ServerUrl,
    token: Option<String>,
    fingerprint: Option<Fingerprint>,
    /// The tag of the ICE session, if the server gave one.
    etag: Option<String>,
}

impl SignallingEndpoint {
    /// Posts an offer; returns the answer.
    pub(super) fn post(self, offer: &str) -> Result<ServerAnswer, SignallingError> {
        let agent = agent(OFFER_TIMEOUT, self.fingerprint);
        let mut url = self.url;
        for _ in 0..=MAX_REDIRECTIONS {
            let request = agent
                .post(url.to_string())
                .content_type("application/sdp")
                .header(header::ACCEPT, "application/sdp");
            let request = authorised(request, self.token.as_deref());
            let mut answer = request.send(offer).map_err(|error| failed(&error))?;
            let header = |name| answer.headers().get(name)?.to_str().ok();
            let (location, etag) = (header(header::LOCATION), header(header::ETAG));
            match answer.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    url = url.join(location.unwrap_or_default())?;
                }
                StatusCode::CREATED | StatusCode::OK => {
                    let links = answer.headers().get_all(header::LINK).iter();
                    let ice_servers = ice_servers(links.filter_map(|link| link.to_str().ok()));
                    let session = location.map(|location| url.join(location)).transpose()?;
                    let session = session.map(|url| SignallingSession {
                        url,
                        token: self.token,
                        fingerprint: self.fingerprint,
                        etag: etag.map(ToOwned::to_owned),
                    });
                    let body = answer.body_mut().with_config();
                    let body = body.limit(MAX_SESSION_LEN as u64).read_to_string();
                    let text = body.map_err(|error| failed(&error));
                    let text = text.and_then(|text| match text.starts_with("v=0") {
                        true => Ok(text),
                        false => Err(SignallingError::NoAnswer(self.protocol.option())),
                    });
                    return match text {
                        Ok(text) => Ok(ServerAnswer {
                            text,
                            session,
                            ice_servers,
                        }),
                        Err(error) => {
                            session.iter().for_each(SignallingSession::end);
                            Err(error)
                        }
                    };
                }
                status => return Err(refused(self.protocol, status, &mut answer)),
            }
        }
        Err(SignallingError::Redirections)
    }
}

impl SignallingSession {
    /// Sends further addresses. A server that takes none is left alone (RFC 9725 §4.3).
    pub(super) fn patch(&self, fragment: &str) -> Result<(), SignallingError> {
        let request = agent(OFFER_TIMEOUT, self.fingerprint)
            .patch(self.url.to_string())
            .content_type("application/trickle-ice-sdpfrag");
        let request = match &self.etag {
            Some(etag) => request.header(header::IF_MATCH, etag),
            None => request,
        };
        let request = authorised(request, self.token.as_deref());
        let mut answer = request.send(fragment).map_err(|error| failed(&error))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::NOT_IMPLEMENTED => Ok(()),
            status => Err(refused(ServerProtocol::Whip, status, &mut answer)),
        }
    }

    /// Ends the session. A server that does not answer finds out by silence.
    pub(super) fn end(&self) {
        let request = agent(DELETE_TIMEOUT, self.fingerprint).delete(self.url.to_string());
        let _ = authorised(request, self.token.as_deref()).call();
    }
}

/// Adds the token to a request.
fn authorised<B>(request: RequestBuilder<B>, token: Option<&str>) -> RequestBuilder<B> {
    match token {
        Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => request,
    }
}

fn failed(error: &ureq::Error) -> SignallingError {
    SignallingError::Request(reason(error))
}

/// Returns a refusal in words.
fn refused(
    protocol: ServerProtocol,
    status: StatusCode,
    answer: &mut Response<Body>,
) -> SignallingError {
    let body = answer.body_mut().with_config();
    let body = body.limit(MAX_SESSION_LEN as u64).read_to_string();
    let is_shown = |letter: &char| !letter.is_control() || *letter == '\n';
    let said: String = body.unwrap_or_default().chars().filter(is_shown).collect();
    let said = said.lines().next().unwrap_or_default().trim();
    let said: String = said.chars().take(MAX_REFUSAL).collect();
    SignallingError::Refused {
        status,
        said: if said.is_empty() {
            said
        } else {
            format!(", '{said}'")
        },
        remedy: remedy(protocol, status),
    }
}

fn remedy(protocol: ServerProtocol, status: StatusCode) -> &'static str {
    match (status.as_u16(), protocol) {
        (401, _) => "it wants a token, or another one: give it by --token or EVENKEEL_TOKEN",
        (403, _) => "the token does not permit this: ask the server's owner for one that does",
        (404, ServerProtocol::Whip) => "there is no such place: check the path of the URL",
        (404, ServerProtocol::Whep) => {
            "there is no such stream: check the path of the URL, and that somebody publishes"
        }
        (405, _) => "the URL is not of WHIP or WHEP: check its path",
        (406 | 415 | 422 | 400, _) => {
            "it refuses the offer, which has H.264 alone: enable H.264 for this stream at the server"
        }
        (409, ServerProtocol::Whip) => "somebody publishes there already: choose another stream",
        (409, ServerProtocol::Whep) => "nobody publishes there yet: try again later",
        (429 | 503, _) => "it is busy: try again later",
        (300..=399, _) => "it redirects in a way that is not of WHIP: check the URL",
        _ => "check the server's log",
    }
}
