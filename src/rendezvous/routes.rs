//! The answers of a rendezvous: to leave a message in a mailbox, and to wait for one.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use evenkeel_net::Clock;
use evenkeel_secure::invitation::MAILBOX_NAME_LEN;
use tokio::sync::Notify;

use super::store::MailboxStore;
use super::{MAILBOX_PATH, READ_TIMEOUT_S};
use crate::http::{RequestSource, SlotLimits, TEXT, answer, read_body};

/// The most connections: a reader has one, and most systems grant a process 1,024 files.
pub(crate) const CONNECTION_LIMITS: SlotLimits = SlotLimits {
    total: 512,
    per_host: 32,
};

/// The longest message. A sealed reply has 181 bytes.
pub(super) const MAX_MESSAGE: usize = 2_048;

/// The state that all requests share.
struct Rendezvous {
    clock: Clock,
    store: Mutex<MailboxStore>,
    /// Wakes the readers that wait, whichever mailbox has a new message.
    news: Notify,
}

impl Rendezvous {
    fn store(&self) -> MutexGuard<'_, MailboxStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the routes of a rendezvous without messages.
pub(crate) fn router(clock: Clock) -> Router {
    let rendezvous = Rendezvous {
        clock,
        // Half of 64 bits are more than a store counts to.
        store: Mutex::new(MailboxStore::new(RandomState::new().hash_one(0) >> 1)),
        news: Notify::new(),
    };
    Router::new()
        .route(&format!("{MAILBOX_PATH}{{name}}"), get(read).put(leave))
        .fallback(|| async {
            answer(
                StatusCode::NOT_FOUND,
                TEXT,
                "no such path: this is an evenkeel rendezvous, whose mailboxes are at /mailbox/NAME\n",
            )
        })
        .with_state(Arc::new(rendezvous))
}

async fn leave(
    State(rendezvous): State<Arc<Rendezvous>>,
    Extension(RequestSource(source)): Extension<RequestSource>,
    Path(name): Path<String>,
    body: Body,
) -> Response {
    if !is_name(&name) {
        return no_such_mailbox();
    }
    let sealed = match read_body(body, MAX_MESSAGE).await {
        Ok(sealed) => sealed,
        Err(error) => return error.answer(),
    };
    let now = rendezvous.clock.now();
    rendezvous.store().leave(now, source, name, sealed.into());
    rendezvous.news.notify_waiters();
    StatusCode::NO_CONTENT.into_response()
}

/// Answers with the message, as soon as there is one whose tag the reader does not know.
async fn read(
    State(rendezvous): State<Arc<Rendezvous>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if !is_name(&name) {
        return no_such_mailbox();
    }
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|tag| tag.to_str().ok()?.trim_matches('"').parse().ok());
    let found = async {
        loop {
            let news = rendezvous.news.notified();
            let found = {
                let now = rendezvous.clock.now();
                rendezvous.store().read(now, &name, known)
            };
            match found {
                Some(found) => return found,
                None => news.await,
            }
        }
    };
    match tokio::time::timeout(Duration::from_secs(READ_TIMEOUT_S), found).await {
        Ok((number, sealed)) => {
            let tag = HeaderValue::from_str(&format!("\"{number}\"")).expect("digits");
            let kind = HeaderValue::from_static("application/octet-stream");
            let headers = [
                (header::ETAG, tag),
                (header::CONTENT_TYPE, kind),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (headers, sealed).into_response()
        }
        Err(_) if known.is_some() => StatusCode::NOT_MODIFIED.into_response(),
        Err(_) => StatusCode::NO_CONTENT.into_response(),
    }
}

/// Returns true for a text that an invitation may give as a name, in the alphabet of base64url.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.len() == MAILBOX_NAME_LEN && name.bytes().all(is_letter)
}

fn no_such_mailbox() -> Response {
    answer(
        StatusCode::NOT_FOUND,
        TEXT,
        "no such mailbox: a name has 43 characters, A-Z a-z 0-9 - and _\n",
    )
}
