//! A transport stream from a file: each packet with the time at which it is due.
//!
//! A multiplexer states its clock every tenth of a second at most (ISO/IEC 13818-1 §2.7.2) and sends evenly in
//! between. So packets are read up to the next reference and spread over the time to it.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::io::{self, Read, Seek};

use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

use crate::demultiplexer::{Demultiplexer, TsPacket};
use crate::packet_reader::Damage;
use crate::ts::{SystemClock, TS_LEN};

/// At most so many packets are between two clock references: a tenth of a second at 800 Mb/s.
const MAX_BETWEEN: usize = 1 << 16;
/// The longest step that the standard allows (ISO/IEC 13818-1 §2.7.2).
const STANDARD_STEP: Duration = Duration::from_millis(100);
/// The clock has jumped if a step is longer. The standard has steps of 0.1 s (ISO/IEC 13818-1 §2.7.2), and streams of
/// few pictures a second have longer ones: to take such a step for a jump would play too fast for good, while to wait
/// for a short jump costs its length once.
const MAX_STEP: Duration = Duration::from_secs(1);

/// What keeps a stream from being sent.
#[derive(Debug, thiserror::Error)]
pub enum RenditionError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// No TS packet is in the megabyte from this byte on.
    #[error(
        "no MPEG-TS packet follows byte {at}; make one with ffmpeg -i FILE -c copy -f mpegts OUT.ts"
    )]
    NoPacket {
        /// The place in the file.
        at: u64,
    },
    /// Its packets are packets of another container.
    #[error(
        "its packets have {length} bytes, not the 188 of MPEG-TS; make them with ffmpeg -i FILE -c copy -f mpegts OUT.ts"
    )]
    PacketLength {
        /// Bytes of a packet.
        length: usize,
    },
    /// From this byte on nothing says how late it is for 65,536 packets, or nothing in the whole file says it twice.
    #[error(
        "no clock reference (PCR) that advances follows byte {at}; make one with ffmpeg -i FILE -c copy -f mpegts OUT.ts"
    )]
    NoClock {
        /// The place in the file.
        at: u64,
    },
    /// It was longer when it was opened.
    #[error(
        "it ends at byte {at} and had {len} when it was opened; do not change a file while it is sent"
    )]
    Shrunk {
        /// Where it ends now.
        at: u64,
        /// Where it ended.
        len: u64,
    },
}

/// A TS packet, and when it is due from the beginning of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) packet: TsPacket,
    pub(crate) at: Duration,
}

/// Packets from a clock reference up to the next one.
#[derive(Debug)]
struct Stretch {
    clock: SystemClock,
    packets: Vec<TsPacket>,
}

impl Stretch {
    /// The stream says that this reference does not continue the clock.
    fn is_announced_jump(&self) -> bool {
        let first = self.packets.first();
        first.is_some_and(|packet| packet.header.is_discontinuous)
    }

    /// The time from this reference to a later one, unless the clock jumps between them.
    fn step_to(&self, later: &Self) -> Option<Duration> {
        let step = later.clock.since(self.clock)?;
        (!later.is_announced_jump() && !step.is_zero() && step <= MAX_STEP).then_some(step)
    }
}

/// What a whole stream is, found by reading it once.
#[derive(Clone, Copy, Debug)]
struct Survey {
    len: Bytes,
    lasts: Duration,
    /// The clock at the beginning.
    origin: SystemClock,
    entries: u64,
    damage: Option<Damage>,
}

/// One stream, read from its beginning to its end.
#[derive(Debug)]
pub struct Rendition<R> {
    timeline: PacketTimeline<R>,
    survey: Survey,
}

impl<R: Read + Seek> Rendition<R> {
    /// Opens a stream and reads it once, to know its rate.
    ///
    /// # Errors
    /// If the stream is no MPEG-TS or states no time.
    pub fn open(input: R) -> Result<Self, RenditionError> {
        let mut timeline = PacketTimeline::new(Demultiplexer::open(input)?)?;
        let (mut packets, mut entries) = (0, 0);
        while let Some(timed) = timeline.next()? {
            packets += 1;
            entries += u64::from(timed.packet.is_entry);
        }
        let survey = Survey {
            len: Bytes::new(packets * TS_LEN as u64),
            lasts: timeline.at,
            origin: timeline.origin.ok_or(RenditionError::NoClock { at: 0 })?,
            entries,
            damage: timeline.stream.damage(),
        };
        Ok(Self {
            timeline: PacketTimeline::new(timeline.stream.rewind()?)?,
            survey,
        })
    }
}

impl<R: Read> Rendition<R> {
    /// The mean rate of the whole stream, TS headers included.
    pub fn mean_rate(&self) -> Rate {
        self.survey.len / self.survey.lasts
    }

    /// What of the file is left out because it is damaged.
    pub fn damage(&self) -> Option<Damage> {
        self.survey.damage
    }

    /// True if it can be changed to after its beginning: a later picture depends on none before.
    pub fn has_entries(&self) -> bool {
        self.survey.entries > 1
    }

    /// From the first packet to the end of the last.
    pub(crate) fn lasts(&self) -> Duration {
        self.survey.lasts
    }

    /// How much later this stream begins than another, by their clocks.
    pub(crate) fn begins_after(&self, other: &Self) -> Option<Duration> {
        self.survey.origin.since(other.survey.origin)
    }

    /// The next packet, which stays the next.
    pub(crate) fn peek(&mut self) -> Result<Option<&Timed>, RenditionError> {
        self.timeline.peek()
    }

    /// Takes the next packet.
    pub(crate) fn next(&mut self) -> Result<Option<Timed>, RenditionError> {
        self.timeline.next()
    }
}

/// Gives each packet its time.
///
/// The time is the sum of the clock's steps. A step is a jump if the stream announces it (`discontinuity_indicator`),
/// if it goes back, or if it is too long; the time then goes on by the step before. One reference that does not fit
/// between two that fit one another is wrong, and does not count.
#[derive(Debug)]
struct PacketTimeline<R> {
    stream: Demultiplexer<R>,
    /// Packets whose times are known.
    ready: VecDeque<Timed>,
    /// The next three stretches, or as many as there are.
    ahead: VecDeque<Stretch>,
    /// The packet that the stretch after them begins with.
    next: Option<TsPacket>,
    /// The time of the first of them.
    at: Duration,
    /// The clock at the time 0, by the first step.
    origin: Option<SystemClock>,
    /// The last step that was no jump.
    step: Duration,
    /// How long a packet takes, in seconds.
    spacing: f64,
}

impl<R: Read> PacketTimeline<R> {
    fn new(stream: Demultiplexer<R>) -> Result<Self, RenditionError> {
        let mut timeline = Self {
            stream,
            ready: VecDeque::new(),
            ahead: VecDeque::new(),
            next: None,
            at: Duration::ZERO,
            origin: None,
            step: STANDARD_STEP,
            spacing: 0.0,
        };
        // What comes before the first reference is due with it.
        let lead = timeline.read_to_reference(Vec::new())?;
        let at = Duration::ZERO;
        timeline.ready = lead
            .into_iter()
            .map(|packet| Timed { packet, at })
            .collect();
        if timeline.next.is_none() {
            return Err(RenditionError::NoClock { at: 0 });
        }
        Ok(timeline)
    }

    fn peek(&mut self) -> Result<Option<&Timed>, RenditionError> {
        while self.ready.is_empty() {
            self.look_ahead()?;
            let Some(stretch) = self.ahead.pop_front() else {
                return Ok(None);
            };
            self.time(stretch);
        }
        Ok(self.ready.front())
    }

    fn next(&mut self) -> Result<Option<Timed>, RenditionError> {
        self.peek()?;
        Ok(self.ready.pop_front())
    }

    /// Gives a stretch its times.
    fn time(&mut self, stretch: Stretch) {
        let count = stretch.packets.len() as f64;
        // The last stretch goes on as fast as the one before.
        if let Some(next) = self.ahead.front() {
            if let Some(step) = stretch.step_to(next) {
                let at = self.at;
                self.origin.get_or_insert_with(|| stretch.clock.before(at));
                self.step = step;
            }
            self.spacing = self.step.as_secs_f64() / count;
        }
        let spacing = self.spacing;
        let start = self.at;
        let after = |number: f64| start + Duration::from_secs_f64(spacing * number);
        let times = (0_u32..).map(|number| after(number.into()));
        let timed = stretch.packets.into_iter().zip(times);
        self.ready
            .extend(timed.map(|(packet, at)| Timed { packet, at }));
        self.at = after(count);
    }

    /// Reads up to three stretches, of which the second has no wrong reference.
    fn look_ahead(&mut self) -> Result<(), RenditionError> {
        self.read_stretches()?;
        if let [first, second, third] = self.ahead.make_contiguous()
            && !second.is_announced_jump()
            && first.step_to(third).is_some()
            && (first.step_to(second).is_none() || second.step_to(third).is_none())
        {
            first.packets.append(&mut second.packets);
            self.ahead.remove(1);
            self.read_stretches()?;
        }
        Ok(())
    }

    fn read_stretches(&mut self) -> Result<(), RenditionError> {
        while self.ahead.len() < 3
            && let Some(first) = self.next.take()
            && let Some(clock) = first.clock
        {
            let packets = self.read_to_reference(vec![first])?;
            self.ahead.push_back(Stretch { clock, packets });
        }
        Ok(())
    }

    /// Adds what precedes the next clock reference, or the end. Packets that fill a constant rate are left out at the
    /// end, and where there are too many.
    fn read_to_reference(
        &mut self,
        mut packets: Vec<TsPacket>,
    ) -> Result<Vec<TsPacket>, RenditionError> {
        let at = self.stream.offset();
        while let Some(packet) = self.stream.next()? {
            if packet.clock.is_some() {
                self.next = Some(packet);
                return Ok(packets);
            }
            if packets.len() < MAX_BETWEEN {
                packets.push(packet);
            } else if !packet.header.is_null() {
                return Err(RenditionError::NoClock { at });
            }
        }
        let end = packets.iter().rposition(|packet| !packet.header.is_null());
        packets.truncate(end.map_or(0, |last| last + 1));
        Ok(packets)
    }
}
