//! The capturing thread: source, target, encoder and sending buffer, once a frame interval.

use std::fmt::Display;
use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::SourceError;
use evenkeel_codec::{EncodeError, VideoEncoder};
use evenkeel_media::call::Call;
use evenkeel_media::frame::EncodedFrame;
use evenkeel_net::Clock;
use evenkeel_net::Handle;
use evenkeel_rtp::packet::rtp::media_time;
use tfrc::time::{Duration, Instant};

use super::connection::Connection;
use super::display::jpeg_for_page;
use super::reference::{Original, References};
use super::stall::Given;
use crate::choices::Choice;
use crate::inputs::Feed;
use crate::page::Page;
use crate::stop::Stop;

/// The ticks of the media clock in a second: every video payload has 90 kHz (RFC 3551 §5).
pub(crate) const MEDIA_CLOCK: u32 = 90_000;

/// The figures of a frame that went through the encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded {
    /// The time at which the frame was queued.
    pub(crate) at: Instant,
    /// The distance from the reachable size, as a share of the target.
    pub(crate) size_error: f64,
}

/// The reason for which no more pictures are sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum CaptureError {
    /// The source of this name had no picture.
    #[error("--source {0}: it ended before its first picture; is it whole, and is it video?")]
    Empty(String),
    /// The source of this name broke off.
    #[error("--source {name} broke off: {}", reason(.1), name = .0)]
    Source(String, SourceError),
    /// The pictures cannot be coded.
    #[error("cannot code what --source gives: {0}")]
    Encoder(EncodeError),
}

/// Returns the reason why a source broke off, without the name that a failed read or write repeats.
fn reason(error: &SourceError) -> &dyn Display {
    match error {
        SourceError::Io { error, .. } => error,
        other => other,
    }
}

/// The times at which pictures are due.
#[derive(Debug)]
struct Schedule {
    next: Instant,
    interval: Duration,
    /// The lost time that is not yet a whole picture.
    lost: Duration,
}

impl Schedule {
    fn new(now: Instant, interval: Duration) -> Self {
        Self {
            next: now,
            interval,
            lost: Duration::ZERO,
        }
    }

    /// Returns when the next picture is due, and the number of pictures that were missed before it.
    ///
    /// A source that keeps its own time blocks until it has a picture. At most one interval of delay is made up for, so
    /// that a suspended process does not send a burst of old pictures, and longer delays are pictures that nobody took.
    fn advance(&mut self, now: Instant) -> (Instant, u64) {
        let due = self.next + self.interval;
        self.next = due.max(now - self.interval);
        self.lost += self.next.saturating_since(due);
        let missed = self.lost.as_nanos() / self.interval.as_nanos().max(1);
        let missed = u32::try_from(missed).unwrap_or(u32::MAX);
        self.lost = self.lost.saturating_sub(self.interval * missed);
        (self.next, missed.into())
    }
}

/// The state of the capturing thread.
pub(crate) struct Capture {
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) feed: Feed,
    pub(crate) given: Given,
    /// The connection, which is held only while it is used, so that a source that blocks keeps none alive.
    pub(crate) connection: Weak<Handle<Connection>>,
    pub(crate) captured: References,
    pub(crate) coded: SyncSender<Coded>,
    pub(crate) page: Option<Arc<Page>>,
}

impl Capture {
    /// Starts the thread. It ends on request, at the end of the source, or when the source or the encoder fails.
    pub(crate) fn start(self) -> io::Result<JoinHandle<Result<(), CaptureError>>> {
        thread::Builder::new()
            .name("capture".into())
            .spawn(move || self.run())
    }

    fn run(mut self) -> Result<(), CaptureError> {
        let interval = self.feed.source.format().frame_rate.interval();
        let mut codec = self.feed.choices.get().codec;
        let mut encoder = codec.encoder(interval);
        let Some(offset) = self.call(|call, _| call.session().wire_timestamp(0)) else {
            return Ok(());
        };
        // Pictures are due from the first one on: a pipe may have none for long.
        let mut schedule = None;
        while !self.stop.is_asked() {
            let picture = match self.feed.source.next() {
                Ok(Some(picture)) => picture,
                // Ctrl-C reaches ffmpeg and a pipe's writer too, and may end them first.
                Ok(None) | Err(_) if self.stop.is_asked() => break,
                Ok(None) if schedule.is_some() => break,
                Ok(None) => return Err(CaptureError::Empty(self.feed.name)),
                Err(error) => return Err(CaptureError::Source(self.feed.name, error)),
            };
            self.given.count();
            let captured = self.clock.now();
            let schedule = schedule.get_or_insert_with(|| Schedule::new(captured, interval));
            let choice = self.feed.choices.get();
            if choice.codec != codec {
                // The first picture of a codec refers to none before it.
                codec = choice.codec;
                encoder = codec.encoder(interval);
            }
            let taken = self.take(choice, encoder.as_mut(), captured, picture, offset);
            if !taken.map_err(CaptureError::Encoder)? {
                break;
            }
            let (next, missed) = schedule.advance(self.clock.now());
            if missed > 0 {
                let answer = self.call(move |call, now| call.miss(now, missed));
                if answer.is_none() {
                    break;
                }
            }
            self.clock.sleep_until(next);
        }
        Ok(())
    }

    /// Encodes one picture and queues it; returns false if the endpoint has ended.
    fn take(
        &mut self,
        choice: Choice,
        encoder: &mut dyn VideoEncoder,
        captured: Instant,
        picture: Picture,
        offset: u32,
    ) -> Result<bool, EncodeError> {
        let target = self.ask(move |connection, now| {
            // Nobody is there yet, or not any more.
            if !connection.is_open() {
                return None;
            }
            let call = &mut connection.endpoint().call;
            if let Some(sender) = call.sender_mut() {
                sender.set_codec(choice.codec);
                sender.set_rules(now, choice.rules);
                sender.set_filler(choice.filler);
            }
            call.frame_target(now)
        });
        let Some(target) = target else {
            return Ok(false);
        };
        let picture = Arc::new(picture);
        if let Some(page) = self.page.as_ref().filter(|page| page.has_viewers()) {
            page.show_sent(&jpeg_for_page(&picture));
        }
        let Some(target) = target else {
            return Ok(true);
        };
        let Some(coded) = encoder.encode(&picture, &target)? else {
            let answer = self.call(Call::leave_out);
            return Ok(answer.is_some());
        };
        let timestamp = media_time(captured, MEDIA_CLOCK);
        self.captured.keep(Original {
            timestamp: timestamp.wrapping_add(offset),
            captured,
            picture,
        });
        let frame = EncodedFrame {
            captured,
            timestamp,
            picture: coded.picture,
        };
        // A slow monitor loses figures, never the picture.
        let _ = self.coded.try_send(Coded {
            at: self.clock.now(),
            size_error: coded.size_error,
        });
        let push = move |connection: &mut Connection, now| {
            // The packetiser refuses only sizes that the encoder refuses before it.
            let _ = connection.endpoint().call.push_frame(now, frame);
        };
        let connection = self.connection.upgrade();
        Ok(connection.is_some_and(|connection| connection.post(push).is_ok()))
    }

    /// Returns the answer of the connection, while it exists.
    fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection, Instant) -> R + Send + 'static,
    ) -> Option<R> {
        self.connection.upgrade()?.call(question).ok()
    }

    /// Returns the answer of the call, while it exists.
    fn call<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Call, Instant) -> R + Send + 'static,
    ) -> Option<R> {
        self.ask(|connection, now| question(&mut connection.endpoint().call, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pictures taken and missed in ten seconds, of a source that gives one each `pace` for 25 a second.
    fn counts(pace: Duration) -> (u64, u64) {
        let mut now = Instant::ZERO;
        let mut schedule = Schedule::new(now, Duration::from_millis(40));
        let (mut taken, mut missed) = (0, 0);
        while now < Instant::from_secs(10) {
            now += pace;
            taken += 1;
            let (next, skipped) = schedule.advance(now);
            missed += skipped;
            now = now.max(next);
        }
        (taken, missed)
    }

    #[test]
    fn slow_source_misses_what_it_does_not_give() {
        for (pace_ms, expected) in [
            (0, 0),
            (39, 0),
            (40, 0),
            (80, 125),
            (100, 150),
            (1_000, 240),
        ] {
            let (taken, missed) = counts(Duration::from_millis(pace_ms));
            // The first interval of delay is made up for.
            assert!(
                missed.abs_diff(expected) <= 2 && (taken + missed).abs_diff(250) <= 2,
                "a picture each {pace_ms} ms: {taken} taken, {missed} missed"
            );
        }
    }
}
