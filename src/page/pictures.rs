//! One live picture for any number of viewers, as motion JPEG over HTTP.
//!
//! Only the newest picture is kept. A viewer takes it when it is ready for one, so a slow viewer misses pictures,
//! delays no thread and costs no memory.

use axum::body::Bytes;
use tokio::sync::watch;

/// The content type of a stream of pictures.
pub(super) const CONTENT_TYPE: &str = "multipart/x-mixed-replace; boundary=picture";
/// The first bytes of a stream.
const OPENING: &[u8] = b"--picture\r\n";
/// The last bytes of a part, which are sent with their part. A browser shows a picture at the boundary after it,
/// which would otherwise wait for the next picture.
const CLOSING: &[u8] = b"\r\n--picture\r\n";

/// The newest picture, framed as a part.
pub(super) struct Pictures {
    newest: watch::Sender<Option<Bytes>>,
}

impl Pictures {
    /// Creates a stream without a picture.
    pub(super) fn new() -> Self {
        Self {
            newest: watch::Sender::new(None),
        }
    }

    /// Returns true while a stream is open.
    pub(super) fn watched(&self) -> bool {
        self.newest.receiver_count() > 0
    }

    /// Replaces the newest picture.
    pub(super) fn show(&self, jpeg: &[u8]) {
        self.newest.send_replace(Some(part(jpeg)));
    }

    /// Opens a stream.
    pub(super) fn follow(&self) -> Viewer {
        if !self.watched() {
            // Pictures are made only while someone watches, so the last one may be minutes old.
            self.newest.send_replace(None);
        }
        let mut newest = self.newest.subscribe();
        newest.mark_changed();
        Viewer {
            newest,
            opened: false,
        }
    }
}

/// An open stream, which closes when this is dropped.
pub(super) struct Viewer {
    newest: watch::Receiver<Option<Bytes>>,
    opened: bool,
}

impl Viewer {
    /// Waits for the next bytes of the stream; `None` once the page has stopped.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if !self.opened {
            self.opened = true;
            return Some(Bytes::from_static(OPENING));
        }
        loop {
            self.newest.changed().await.ok()?;
            let part = self.newest.borrow_and_update().clone();
            if part.is_some() {
                return part;
            }
        }
    }
}

/// Returns a picture between two boundaries.
fn part(jpeg: &[u8]) -> Bytes {
    let mut part = format!(
        "Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n",
        jpeg.len()
    )
    .into_bytes();
    part.extend_from_slice(jpeg);
    part.extend_from_slice(CLOSING);
    part.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    /// Returns the bytes that the viewer can have without waiting.
    fn ready(viewer: &mut Viewer) -> Option<Bytes> {
        viewer.next().now_or_never().flatten()
    }

    #[test]
    fn part_carries_its_length_and_next_boundary() {
        assert_eq!(
            part(b"\xFF\xD8jpeg\xFF\xD9"),
            &b"Content-Type: image/jpeg\r\nContent-Length: 8\r\n\r\n\xFF\xD8jpeg\xFF\xD9\r\n--picture\r\n"[..]
        );
    }

    #[test]
    fn slow_viewer_gets_the_newest_picture_only() {
        let pictures = Pictures::new();
        let mut viewer = pictures.follow();
        assert_eq!(ready(&mut viewer).unwrap(), OPENING);
        assert_eq!(ready(&mut viewer), None);
        pictures.show(b"1");
        pictures.show(b"2");
        assert_eq!(ready(&mut viewer).unwrap(), part(b"2"));
        assert_eq!(ready(&mut viewer), None);
    }

    #[test]
    fn second_viewer_sees_the_last_picture_at_once() {
        let pictures = Pictures::new();
        let _first = pictures.follow();
        pictures.show(b"1");
        let mut second = pictures.follow();
        assert_eq!(ready(&mut second).unwrap(), OPENING);
        assert_eq!(ready(&mut second).unwrap(), part(b"1"));
    }

    #[test]
    fn picture_from_before_the_pause_is_dropped() {
        let pictures = Pictures::new();
        let viewer = pictures.follow();
        pictures.show(b"old");
        assert!(pictures.watched());
        drop(viewer);
        assert!(!pictures.watched());
        let mut viewer = pictures.follow();
        assert_eq!(ready(&mut viewer).unwrap(), OPENING);
        assert_eq!(ready(&mut viewer), None);
    }
}
