//! Reads a rendition of a title, and finds the entries at which a player may switch to it.

use std::io::Read;

use tfrc::time::Duration;

use crate::rendition::{Rendition, RenditionError, Timed};

/// The entry of another rendition may be so much before or after ours, for the multiplexers' rounding.
const ENTRIES_APART: Duration = Duration::from_millis(100);
/// The tables have at most so many packets.
const MAX_TABLES: usize = 64;

/// The place in a rendition that is read next.
#[derive(Debug)]
pub(crate) struct RenditionCursor<R> {
    /// What errors call it.
    pub(crate) name: String,
    pub(crate) rendition: Rendition<R>,
    /// The offset of this rendition's times from the times of the earliest rendition.
    pub(crate) later: Duration,
    /// Passed over already: the last tables before the next packet.
    pub(crate) tables: Vec<Timed>,
    /// Why it cannot be read on, found while another was sent: it counts once this one is wanted.
    pub(crate) broken: Option<RenditionError>,
}

impl<R: Read> RenditionCursor<R> {
    /// When the next packet is due in the title, and whether a decoder can begin with it.
    pub(crate) fn peek(&mut self) -> Result<Option<(Duration, bool)>, RenditionError> {
        let next = self.rendition.peek()?;
        Ok(next.map(|timed| (timed.at + self.later, timed.packet.is_entry)))
    }

    pub(crate) fn take(&mut self) -> Result<Option<Timed>, RenditionError> {
        let next = self.rendition.next()?;
        Ok(next.map(|timed| Timed {
            at: timed.at + self.later,
            ..timed
        }))
    }

    /// Passes over what is before the entry at this time, or before what follows that time; true if there is
    /// such an entry.
    pub(crate) fn reach(&mut self, at: Duration) -> Result<bool, RenditionError> {
        while let Some((time, is_entry)) = self.peek()? {
            if time > at + ENTRIES_APART {
                return Ok(false);
            }
            if is_entry && time + ENTRIES_APART >= at {
                return Ok(true);
            }
            let passed = self.take()?.filter(|passed| passed.packet.is_table);
            let begins = |timed: &Timed| timed.packet.begins_tables();
            if passed.as_ref().is_some_and(begins) || self.tables.len() == MAX_TABLES {
                self.tables.clear();
            }
            self.tables.extend(passed);
        }
        Ok(false)
    }

    /// True if it is under way at this time and has no entry there.
    pub(crate) fn lacks(&mut self, at: Duration) -> Result<bool, RenditionError> {
        Ok(at >= self.later && !self.reach(at)? && self.peek()?.is_some())
    }

    /// The tables before the next packet.
    pub(crate) fn take_tables(&mut self) -> Vec<Timed> {
        let tables = std::mem::take(&mut self.tables);
        let begins = tables
            .first()
            .is_some_and(|timed| timed.packet.begins_tables());
        if begins { tables } else { Vec::new() }
    }
}
