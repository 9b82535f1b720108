//! Short TCP connections, as a browser makes them.

mod config;
mod receiver;
mod sender;

pub use config::{GapFrom, MAX_CONNECTIONS, WebConfig, WebConfigError};
pub use receiver::WebReceiver;
pub use sender::{Fetches, WebSender};
