//! A call on its own thread: what it decides is handed out to those who wait for it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::time::Instant;

/// Frames that may wait for the display. One that finds no room is dropped: showing it later would
/// only make the next ones late too.
const FRAMES: usize = 4;
/// Events that may wait for the monitor: some seconds of them.
const EVENTS: usize = 8_192;

/// The endpoint that the driver drives: a [`Call`], and the ways out of it.
pub(crate) struct Station {
    /// The call itself.
    pub(crate) call: Call,
    frames: SyncSender<ReceivedFrame>,
    events: SyncSender<CallEvent>,
}

/// What comes out of a station.
pub(crate) struct Outlets {
    /// Frames, each at the moment at which it is to be shown.
    pub(crate) frames: Receiver<ReceivedFrame>,
    /// What the session and the media decided.
    pub(crate) events: Receiver<CallEvent>,
}

impl Station {
    /// A station around a call.
    pub(crate) fn new(call: Call) -> (Self, Outlets) {
        let (frames, due) = sync_channel(FRAMES);
        let (events, happened) = sync_channel(EVENTS);
        (
            Self {
                call,
                frames,
                events,
            },
            Outlets {
                frames: due,
                events: happened,
            },
        )
    }

    fn hand_out(&mut self, now: Instant) {
        while let Some(frame) = self.call.poll_frame(now) {
            // A full channel means that the display is behind.
            let _ = self.frames.try_send(frame);
        }
        while let Some(event) = self.call.poll_event() {
            let _ = self.events.try_send(event);
        }
    }
}

impl Endpoint for Station {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.call.handle_datagram(now, datagram);
        self.hand_out(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.call.handle_timeout(now);
        self.hand_out(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let transmit = self.call.poll_transmit(now, buf);
        if transmit.is_none() {
            self.hand_out(now);
        }
        transmit
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.call.poll_timeout()
    }
}
