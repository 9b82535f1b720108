//! A host at which a joiner leaves its reply for the inviter, so that one pasted line is enough.

mod client;
mod routes;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use client::{MailboxEvent, RendezvousClient};
pub(crate) use routes::{CONNECTION_LIMITS, router};

/// The path of a mailbox, before its name.
const MAILBOX_PATH: &str = "/mailbox/";

/// The time in seconds for which a reader waits for a message: proxies end what is silent for a minute.
const READ_TIMEOUT_S: u64 = 25;
