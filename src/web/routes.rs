//! The page, and the signalling of WHIP (RFC 9725) and WHEP: an offer begins a session, which takes candidates and ends.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, patch, post};
use evenkeel_net::Handle;
use evenkeel_rtp::packet::sdp::jsep::{IceFragment, MAX_SESSION_LEN};
use evenkeel_secure::endpoint::{Account, IceServer};

use super::WebShared;
use super::negotiation::{OfferError, read_candidates};
use crate::http::{self, CSS, HTML, JAVASCRIPT, SVG, TEXT, answer, single_header};
use crate::run::{Connection, Trickled};

const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// The path, content type and content of each file of the page.
const ASSETS: [(&str, &str, &str); 3] = [
    ("/join.js", JAVASCRIPT, include_str!("assets/join.js")),
    ("/join.css", CSS, include_str!("assets/join.css")),
    ("/mark.svg", SVG, include_str!("../page/assets/mark.svg")),
];

/// Who may do what by an offer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OfferKind {
    /// WHIP: the browser sends, and may receive.
    Whip,
    /// WHEP: the browser only receives.
    Whep,
}

/// Returns all routes over the shared state.
pub(super) fn router(shared: Arc<WebShared>) -> Router {
    let page = (
        format!("/{}", shared.room),
        HTML,
        include_str!("assets/join.html"),
    );
    let assets = ASSETS
        .into_iter()
        .map(|(path, kind, content)| (path.to_owned(), kind, content));
    let files = assets.chain([page]);
    let files = files.fold(Router::new(), |router, (path, kind, content)| {
        let file = get(move || async move { answer(StatusCode::OK, kind, content) });
        router.route(&path, file)
    });
    let room = &shared.room;
    let whip = |state, headers, body| offer(OfferKind::Whip, state, headers, body);
    let whep = |state, headers, body| offer(OfferKind::Whep, state, headers, body);
    let signalling = Router::new()
        .route(&format!("/{room}/whip"), post(whip).options(preflight))
        .route(&format!("/{room}/whep"), post(whep).options(preflight))
        .route(
            &format!("/{room}/session/{{id}}"),
            patch(trickle).delete(leave).options(preflight),
        )
        .layer(middleware::from_fn_with_state(
            Arc::clone(&shared),
            authorised,
        ));
    files
        .merge(signalling)
        .fallback(|| async { answer(StatusCode::NOT_FOUND, TEXT, "there is no such room here\n") })
        .layer(middleware::map_response(secured))
        .with_state(shared)
}

async fn secured(mut response: Response) -> Response {
    http::set_security_headers(response.headers_mut());
    response
}

/// Refuses requests without the token. Pages of any site may ask, because no request is let in by a cookie: whoever asks must know
/// the token.
async fn authorised(
    State(shared): State<Arc<WebShared>>,
    request: Request,
    next: Next,
) -> Response {
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = if is_preflight || shared.token.is_in_authorization(request.headers()) {
        next.run(request).await
    } else {
        let words =
            "the link or the bearer token is wrong: ask the other end for the present one\n";
        let mut refused = answer(StatusCode::UNAUTHORIZED, TEXT, words);
        let scheme = HeaderValue::from_static("Bearer");
        refused
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
        refused
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "Location, ETag, Accept-Patch, Link",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Tells what may be asked (RFC 9725 §4.5, and CORS), and the servers to whoever has the token.
async fn preflight(State(shared): State<Arc<WebShared>>, asked: HeaderMap) -> Response {
    let headers = [
        (
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "POST, PATCH, DELETE, OPTIONS",
        ),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, If-Match",
        ),
        (ACCEPT_POST, SDP),
    ];
    let mut response = (StatusCode::NO_CONTENT, headers).into_response();
    if shared.token.is_in_authorization(&asked) {
        shared.add_servers(&mut response);
    }
    response
}

/// Answers an offer, and begins the session.
async fn offer(
    kind: OfferKind,
    State(shared): State<Arc<WebShared>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let text = match read_text(&headers, body, SDP).await {
        Ok(text) => text,
        Err(refused) => return *refused,
    };
    let addresses =
        shared.ask(|connection| connection.call(|connection, _| connection.local_addresses()));
    let Some(addresses) = addresses else {
        return call_ended();
    };
    let (negotiated, peer) = match shared.calls.answer(&text, addresses) {
        Ok(negotiated) => negotiated,
        Err(error) => {
            let status = match error {
                OfferError::Unreadable(_) => StatusCode::BAD_REQUEST,
                OfferError::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
                _ => StatusCode::NOT_ACCEPTABLE,
            };
            return answer(status, TEXT, format!("{error}\n"));
        }
    };
    match (kind, negotiated.video.receives) {
        (OfferKind::Whip, true) | (OfferKind::Whep, false) => {}
        (OfferKind::Whip, false) => {
            let words =
                "an offer to WHIP sends video: write sendonly or sendrecv, or post it to WHEP\n";
            return answer(StatusCode::BAD_REQUEST, TEXT, words);
        }
        (OfferKind::Whep, true) => {
            let words = "an offer to WHEP only receives: write recvonly, or post it to WHIP\n";
            return answer(StatusCode::BAD_REQUEST, TEXT, words);
        }
    }
    let id = peer.id.clone();
    let joined = shared
        .ask(move |connection| connection.call(move |connection, now| connection.join(now, peer)));
    match joined {
        Some(true) => {
            let headers = [
                (header::CONTENT_TYPE, SDP.to_owned()),
                (header::LOCATION, format!("/{}/session/{id}", shared.room)),
                (header::ETAG, etag(&id)),
                (ACCEPT_PATCH, FRAGMENT.to_owned()),
            ];
            let mut response = (StatusCode::CREATED, headers, negotiated.text).into_response();
            shared.add_servers(&mut response);
            response
        }
        Some(false) => {
            let words = "somebody is in this call: it has room for one browser; try again once that one has left\n";
            answer(StatusCode::CONFLICT, TEXT, words)
        }
        None => call_ended(),
    }
}

/// Adds the addresses that a browser found after its offer.
async fn trickle(
    State(shared): State<Arc<WebShared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let text = match read_text(&headers, body, FRAGMENT).await {
        Ok(text) => text,
        Err(refused) => return *refused,
    };
    let etags = single_header(&headers, &header::IF_MATCH);
    let Some(etags) = etags else {
        let words = "add If-Match with the ETag of the session\n";
        return answer(StatusCode::PRECONDITION_REQUIRED, TEXT, words);
    };
    if etags != "*" && etags.split(',').all(|it| it.trim() != etag(&id)) {
        let words = "If-Match is not the ETag of the session\n";
        return answer(StatusCode::PRECONDITION_FAILED, TEXT, words);
    }
    let fragment = match IceFragment::parse(&text) {
        Ok(fragment) => fragment,
        Err(error) => return answer(StatusCode::BAD_REQUEST, TEXT, format!("{error}\n")),
    };
    let candidates = read_candidates(&fragment.candidates);
    let ufrag = fragment.credentials.map(|credentials| credentials.ufrag);
    let trickled = shared.ask(move |connection| {
        connection
            .call(move |connection, now| connection.trickle(now, &id, ufrag.as_deref(), candidates))
    });
    match trickled {
        Some(Trickled::Added) => StatusCode::NO_CONTENT.into_response(),
        Some(Trickled::OtherCredentials) => {
            let words = "ICE does not restart here: leave, and join anew\n";
            answer(StatusCode::UNPROCESSABLE_ENTITY, TEXT, words)
        }
        Some(Trickled::NoSession) => no_session(),
        None => call_ended(),
    }
}

/// Ends a session.
async fn leave(State(shared): State<Arc<WebShared>>, Path(id): Path<String>) -> Response {
    let left = shared
        .ask(move |connection| connection.call(move |connection, now| connection.leave(now, &id)));
    match left {
        Some(true) => StatusCode::OK.into_response(),
        Some(false) => no_session(),
        None => call_ended(),
    }
}

fn no_session() -> Response {
    let words = "there is no such session: it has ended\n";
    answer(StatusCode::NOT_FOUND, TEXT, words)
}

fn call_ended() -> Response {
    answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "the call is over\n")
}

fn etag(id: &str) -> String {
    format!("\"{id}\"")
}

/// Reads a body of text of this content type; the error is the answer.
async fn read_text(headers: &HeaderMap, body: Body, kind: &str) -> Result<String, Box<Response>> {
    let given = single_header(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim();
    if !given.eq_ignore_ascii_case(kind) {
        let words = format!("the content type {given:?} is not read here: send {kind}\n");
        return Err(Box::new(answer(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            TEXT,
            words,
        )));
    }
    let body = http::read_body(body, MAX_SESSION_LEN).await;
    let body = body.map_err(|error| Box::new(error.answer()))?;
    String::from_utf8(body).map_err(|_| {
        let words = "the body is no text in UTF-8\n";
        Box::new(answer(StatusCode::BAD_REQUEST, TEXT, words))
    })
}

/// Writes a server for a browser (RFC 9725 §4.6).
fn server_link(server: &IceServer) -> String {
    let address = server.by_stream.unwrap_or(server.address);
    let transport = server.by_stream.map_or("udp", |_| "tcp");
    let quoted = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"");
    match &server.account {
        None => format!("<stun:{address}>; rel=\"ice-server\""),
        Some(Account { user, password }) => format!(
            "<turn:{address}?transport={transport}>; rel=\"ice-server\"; username=\"{}\"; credential=\"{}\"; credential-type=\"password\"",
            quoted(user),
            quoted(password)
        ),
    }
}

impl WebShared {
    /// Adds the servers that help through NATs.
    fn add_servers(&self, response: &mut Response) {
        let links = self.calls.servers().iter().map(server_link);
        for link in links.filter_map(|link| HeaderValue::from_str(&link).ok()) {
            response.headers_mut().append(header::LINK, link);
        }
    }

    /// Asks the connection; `None` if the run is over.
    fn ask<R>(
        &self,
        what: impl FnOnce(&Handle<Connection>) -> Result<R, evenkeel_net::DriverError>,
    ) -> Option<R> {
        let connection = self.connection.upgrade()?;
        what(&connection).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_written_as_links() {
        let address = ([192, 0, 2, 1], 3_478).into();
        let account = Account {
            user: "me".into(),
            password: r#"a"b\c"#.into(),
        };
        for (account, expected) in [
            (None, r#"<stun:192.0.2.1:3478>; rel="ice-server""#),
            (
                Some(account),
                r#"<turn:192.0.2.1:3478?transport=udp>; rel="ice-server"; username="me"; credential="a\"b\\c"; credential-type="password""#,
            ),
        ] {
            let server = IceServer {
                address,
                by_stream: None,
                account,
            };
            assert_eq!(server_link(&server), expected);
        }
    }
}
