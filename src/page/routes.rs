//! The answers of the server, and the headers of every answer.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::broadcast::error::RecvError;

use super::guard::{self, Refused};
use super::knobs::Knobs;
use super::pictures::{self, Pictures};
use super::{Shared, sample};
use crate::http::{self, CSS, HTML, JAVASCRIPT, JSON, SVG, TEXT, Token, answer};

/// The longest body of a post: eight values with their names are under 300 bytes.
const MAX_POST: usize = 1_024;
/// The path, content type and content of each constant answer.
const ASSETS: [(&str, &str, &str); 9] = [
    ("/", HTML, include_str!("assets/index.html")),
    ("/page.css", CSS, include_str!("assets/page.css")),
    ("/page.js", JAVASCRIPT, include_str!("assets/page.js")),
    ("/chart.js", JAVASCRIPT, include_str!("assets/chart.js")),
    ("/status.js", JAVASCRIPT, include_str!("assets/status.js")),
    ("/format.js", JAVASCRIPT, include_str!("assets/format.js")),
    ("/knobs.js", JAVASCRIPT, include_str!("assets/knobs.js")),
    ("/stream.js", JAVASCRIPT, include_str!("assets/stream.js")),
    ("/mark.svg", SVG, include_str!("assets/mark.svg")),
];

/// Returns all routes over the shared state.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let assets = ASSETS
        .into_iter()
        .fold(Router::new(), |router, (path, kind, content)| {
            router.route(
                path,
                get(move || async move { answer(StatusCode::OK, kind, content) }),
            )
        });
    assets
        .route("/api/info", get(info))
        .route("/api/sample", get(latest))
        .route("/api/events", get(events))
        .route("/api/link", post(change_link))
        .route("/sent.mjpg", get(sent))
        .route("/received.mjpg", get(received))
        .fallback(|| async { answer(StatusCode::NOT_FOUND, TEXT, "there is no such page here\n") })
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

/// Refuses a wrong Host or token, and sets the headers that every answer has.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let token = shared.token.as_ref();
    let checked = guard::check_host(request.headers())
        .and_then(|()| guard::check_token(request.uri(), request.headers(), token));
    let cookie = token.filter(|token| token.is_in_query(request.uri()));
    let cookie = cookie.map(Token::set_cookie);
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => refuse(&refused),
    };
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    let headers = response.headers_mut();
    http::set_security_headers(headers);
    // Without this header any site could show the pictures.
    let policy = header::HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    response
}

async fn info(State(shared): State<Arc<Shared>>) -> Response {
    answer(StatusCode::OK, JSON, shared.info.clone())
}

async fn latest(State(shared): State<Arc<Shared>>) -> Response {
    match shared.history.latest() {
        Some(sample) => answer(StatusCode::OK, JSON, sample),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

async fn events(State(shared): State<Arc<Shared>>) -> Response {
    let (opening, live) = shared.history.follow();
    let samples = stream::unfold(live, async |mut live| {
        loop {
            match live.recv().await {
                Ok(event) => return Some((event, live)),
                // The viewer is too slow, and the missed samples are of no use any more.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let events = stream::iter([opening])
        .chain(samples)
        .map(Ok::<_, Infallible>);
    answer(
        StatusCode::OK,
        "text/event-stream",
        Body::from_stream(events),
    )
}

async fn sent(State(shared): State<Arc<Shared>>) -> Response {
    motion_jpeg(&shared.sent)
}

async fn received(State(shared): State<Arc<Shared>>) -> Response {
    motion_jpeg(&shared.received)
}

fn motion_jpeg(pictures: &Pictures) -> Response {
    let parts = stream::unfold(pictures.follow(), async |mut viewer| {
        viewer
            .next()
            .await
            .map(|bytes| (Ok::<_, Infallible>(bytes), viewer))
    });
    answer(
        StatusCode::OK,
        pictures::CONTENT_TYPE,
        Body::from_stream(parts),
    )
}

async fn change_link(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Err(refused) = guard::check_change(&headers) {
        return refuse(&refused);
    }
    let Some(controls) = &shared.controls else {
        return answer(
            StatusCode::NOT_FOUND,
            TEXT,
            "there is no link to steer in this mode\n",
        );
    };
    let posted = match http::read_body(body, MAX_POST).await {
        Ok(posted) => posted,
        Err(error) => return error.answer(),
    };
    match Knobs::parse(&posted) {
        Err(error) => answer(StatusCode::UNPROCESSABLE_ENTITY, TEXT, format!("{error}\n")),
        Ok(knobs) => match controls(knobs) {
            Err(error) => answer(StatusCode::CONFLICT, TEXT, format!("{error}\n")),
            Ok(()) => {
                let repeat = shared.repeat.lock();
                repeat
                    .unwrap_or_else(PoisonError::into_inner)
                    .change(&knobs);
                answer(StatusCode::OK, JSON, sample::to_json(&knobs))
            }
        },
    }
}

fn refuse(refused: &Refused) -> Response {
    let status = match refused {
        Refused::Host => StatusCode::MISDIRECTED_REQUEST,
        Refused::Origin | Refused::Token => StatusCode::FORBIDDEN,
        Refused::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
    };
    answer(status, TEXT, format!("{refused}\n"))
}
