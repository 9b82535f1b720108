//! A title: renditions of the same pictures, in datagrams.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::demultiplexer::TsPacket;
use crate::rendition::{Rendition, RenditionError, Timed};
use crate::rendition_cursor::RenditionCursor;
use crate::ts::{TS_LEN, counter, set_counter};

/// Renditions that begin farther apart than this, or of which one lasts longer by more, were not made from one title.
const MAX_APART: Duration = Duration::from_secs(1);

/// What a server sends next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it is due, from the beginning.
    pub due: Duration,
    /// Whole TS packets.
    pub payload: Vec<u8>,
}

/// What a server can send.
pub trait Content: Send {
    /// The mean rates of the renditions there are, TS headers included; the lowest first.
    fn rates(&self) -> &[Rate];

    /// The next datagram, of `count` TS packets or fewer: of the rendition `wanted`, by its place in
    /// [`rates`](Self::rates), as soon as the change can be made. `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    fn next(&mut self, wanted: usize, count: usize) -> Result<Option<Datagram>, TitleError>;

    /// The rendition that the last datagram was of.
    fn current(&self) -> usize;

    /// The first place where renditions did not match.
    fn mismatch(&self) -> Option<&Mismatch> {
        None
    }
}

/// A place where one rendition has an entry and another has none, so that no change between them is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The names of the rendition that has the entry and of the rendition without it.
    names: [String; 2],
    at: Duration,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [has, lacks] = &self.names;
        write!(
            f,
            "{has} has a keyframe at {:.1} s and {lacks} has none there, so that the rate may change late or never; \
             make all of them with ffmpeg's -g N -keyint_min N -sc_threshold 0, or equal -force_key_frames",
            self.at.as_secs_f64()
        )
    }
}

/// What keeps renditions from being sent as one title, or at all.
#[derive(Debug, thiserror::Error)]
pub enum TitleError {
    /// There is none.
    #[error("a title needs a rendition")]
    Nothing,
    /// The clock of a rendition begins more than a second apart from the clock of the first.
    #[error(
        "{name} begins at another time than the first; make all of them from one file with equal options but for the rate"
    )]
    Apart {
        /// Its name.
        name: String,
    },
    /// One lasts more than a second longer than another.
    #[error(
        "{first} lasts {long:.1} s and {other} {other_long:.1} s, so they are no renditions of one title; \
         make all of them from one file, or serve them one by one",
        first = names[0], long = last[0].as_secs_f64(), other = names[1], other_long = last[1].as_secs_f64()
    )]
    Lengths {
        /// The names of the first and of the one that differs from it.
        names: [String; 2],
        /// How long they last.
        last: [Duration; 2],
    },
    /// One cannot be read.
    #[error("{name}: {error}")]
    Rendition {
        /// Its name.
        name: String,
        /// Why.
        error: RenditionError,
    },
}

fn unreadable(name: &str, error: RenditionError) -> TitleError {
    TitleError::Rendition {
        name: name.to_owned(),
        error,
    }
}

/// Renditions of the same pictures, of which one is sent at a time.
///
/// A change is made where the present one has a picture that depends on no other, to the picture that the
/// other has at that time: renditions made with equal intervals of such pictures match.
#[derive(Debug)]
pub struct Title<R> {
    cursors: Vec<RenditionCursor<R>>,
    rates: Vec<Rate>,
    current: usize,
    counters: Counters,
    /// The tables before the entry that was changed to, from the end.
    ahead: Vec<Timed>,
    mismatch: Option<Mismatch>,
}

impl<R: Read> Title<R> {
    /// A title of these renditions, which errors call so, and which begins with the lowest rate.
    ///
    /// # Errors
    /// If there is none, or they do not belong together.
    pub fn new(renditions: Vec<(String, Rendition<R>)>) -> Result<Self, TitleError> {
        let (first_name, first) = renditions.first().ok_or(TitleError::Nothing)?;
        let mut later = Vec::new();
        for (name, rendition) in &renditions {
            let after = rendition.begins_after(first).map(|after| (after, false));
            let before = || first.begins_after(rendition).map(|before| (before, true));
            let apart = after
                .or_else(before)
                .filter(|(apart, _)| *apart <= MAX_APART);
            let (apart, is_before) =
                apart.ok_or_else(|| TitleError::Apart { name: name.clone() })?;
            let last = [first.lasts(), rendition.lasts()];
            if last[0].abs_diff(last[1]) > MAX_APART {
                let names = [first_name.clone(), name.clone()];
                return Err(TitleError::Lengths { names, last });
            }
            // One second before the first is the earliest.
            later.push(if is_before {
                MAX_APART - apart
            } else {
                MAX_APART + apart
            });
        }
        let earliest = later.iter().min().copied().unwrap_or_default();
        let mut cursors: Vec<RenditionCursor<R>> = renditions
            .into_iter()
            .zip(later)
            .map(|((name, rendition), later)| RenditionCursor {
                name,
                rendition,
                later: later - earliest,
                tables: Vec::new(),
                broken: None,
            })
            .collect();
        let rate = |cursor: &RenditionCursor<R>| cursor.rendition.mean_rate();
        cursors.sort_by(|a, b| rate(a).bytes_per_sec().total_cmp(&rate(b).bytes_per_sec()));
        Ok(Self {
            rates: cursors.iter().map(rate).collect(),
            cursors,
            current: 0,
            counters: Counters::default(),
            ahead: Vec::new(),
            mismatch: None,
        })
    }

    /// Goes to the entry that another rendition has at this time. The present rendition
    /// goes on if there is no such entry.
    fn change(&mut self, wanted: usize, at: Duration) -> Result<(), TitleError> {
        let cursor = &mut self.cursors[wanted];
        let reached = cursor.broken.take().map_or_else(|| cursor.reach(at), Err);
        if !reached.map_err(|error| unreadable(&cursor.name, error))? {
            return Ok(());
        }
        self.ahead = cursor.take_tables();
        // They are handed out from the end.
        self.ahead.reverse();
        self.current = wanted;
        self.counters.restart();
        Ok(())
    }

    /// When the next packet is due, if a decoder can begin with it.
    fn next_entry(&mut self) -> Result<Option<Duration>, TitleError> {
        let cursor = &mut self.cursors[self.current];
        let next = cursor
            .peek()
            .map_err(|error| unreadable(&cursor.name, error))?;
        Ok(next.filter(|(_, is_entry)| *is_entry).map(|(at, _)| at))
    }

    fn take(&mut self) -> Result<Option<Timed>, TitleError> {
        if let Some(timed) = self.ahead.pop() {
            return Ok(Some(timed));
        }
        let cursor = &mut self.cursors[self.current];
        cursor
            .take()
            .map_err(|error| unreadable(&cursor.name, error))
    }

    /// Takes the renditions that are not sent along, so that a change has little to read.
    fn follow(&mut self, at: Duration) {
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if number != self.current && cursor.broken.is_none() {
                cursor.broken = cursor.reach(at).err();
            }
        }
    }

    /// Holds the others to the entry that the present one has at this time.
    fn compare(&mut self, at: Duration) {
        let has = self.cursors[self.current].name.clone();
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            if number == self.current || cursor.broken.is_some() {
                continue;
            }
            match cursor.lacks(at) {
                Ok(true) => {
                    let names = [has.clone(), cursor.name.clone()];
                    self.mismatch.get_or_insert(Mismatch { names, at });
                }
                Ok(false) => {}
                Err(error) => cursor.broken = Some(error),
            }
        }
    }
}

impl<R: Read + Send> Content for Title<R> {
    fn rates(&self) -> &[Rate] {
        &self.rates
    }

    fn next(&mut self, wanted: usize, count: usize) -> Result<Option<Datagram>, TitleError> {
        let wanted = wanted.min(self.cursors.len() - 1);
        let mut payload = Vec::new();
        let mut due = None;
        while payload.len() < count * TS_LEN {
            if self.ahead.is_empty()
                && let Some(at) = self.next_entry()?
            {
                self.compare(at);
                if wanted != self.current {
                    self.change(wanted, at)?;
                }
            }
            let Some(Timed { mut packet, at }) = self.take()? else {
                break;
            };
            self.counters.count(&mut packet);
            payload.reserve_exact(count * TS_LEN);
            payload.extend_from_slice(&packet.bytes);
            due.get_or_insert(at);
        }
        if let Some(due) = due {
            self.follow(due);
        }
        Ok(due.map(|due| Datagram { due, payload }))
    }

    fn current(&self) -> usize {
        self.current
    }

    fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_ref()
    }
}

/// The counters of all streams of a multiplex, which go on where one rendition follows another.
#[derive(Debug, Default)]
struct Counters(BTreeMap<u16, Counter>);

/// Of the last packet sent, and how much is added to those read; `None` before the first of a rendition.
#[derive(Clone, Copy, Debug)]
struct Counter {
    sent: u8,
    added: Option<u8>,
}

impl Counters {
    /// Another rendition follows.
    fn restart(&mut self) {
        self.0.values_mut().for_each(|counter| counter.added = None);
    }

    fn count(&mut self, packet: &mut TsPacket) {
        let read = counter(&packet.bytes);
        let entry = self.0.entry(packet.header.pid).or_insert(Counter {
            sent: read,
            added: Some(0),
        });
        let expected = entry.sent.wrapping_add(packet.header.counts().into());
        let added = *entry
            .added
            .get_or_insert(expected.wrapping_sub(read) & 0x0f);
        entry.sent = read.wrapping_add(added) & 0x0f;
        set_counter(&mut packet.bytes, entry.sent);
    }
}
