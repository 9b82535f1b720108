//! Packets on the wire and behind it, in the order in which they come out.

use evenkeel_prefetch::{prefetch, prefetch_part};
use std::collections::VecDeque;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A packet on its way.
// Aligned, so that none lies in two cache lines where `P` is a pointer and a number.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Travelling<P> {
    pub(crate) packet: P,
    pub(crate) size: Bytes,
    /// When it comes out; [`Instant::MAX`] while it is on the wire, and for one that never does.
    pub(crate) due: Instant,
}

/// At most this many packets come out of a link within the time that a simulation looks ahead.
const MAX_PREVIEWED: usize = 8;

/// Lets those that are soon to come out come near.
#[inline]
pub(crate) fn prefetch_first<T>(packets: &VecDeque<T>) {
    if let Some(first) = packets.front() {
        prefetch_part(first, 0..packets.len().min(MAX_PREVIEWED) * size_of::<T>());
    }
}

/// A queue whose first packet lies in the queue itself: most links of a large simulation carry one
/// packet at a time, and then need no memory elsewhere, whose fetching would cost more than the rest.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct InFlight<P> {
    first: Option<Travelling<P>>,
    rest: VecDeque<Travelling<P>>,
}

impl<P> InFlight<P> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// In the order in which they come out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Travelling<P>> {
        self.first.iter().chain(&self.rest)
    }

    /// Lets what the next to come out and the next to be added will touch outside of the line come near.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.rest);
        self.rest.back().inspect(|last| prefetch(*last));
    }

    /// When the first comes out.
    #[inline]
    pub(crate) fn first_due(&self) -> Option<Instant> {
        self.first.as_ref().map(|first| first.due)
    }

    #[inline]
    pub(crate) fn push(&mut self, travelling: Travelling<P>) {
        if self.first.is_none() {
            self.first = Some(travelling);
        } else {
            self.rest.push_back(travelling);
        }
    }

    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<Travelling<P>> {
        if self.rest.is_empty() {
            return self.first.take();
        }
        let first = core::mem::replace(&mut self.first, self.rest.pop_front());
        if self.rest.is_empty() {
            // Begins anew where memory is near instead of going round through all of it.
            self.rest.clear();
        }
        first
    }

    /// By its place in the line.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&Travelling<P>> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(behind) => self.rest.get(behind),
        }
    }

    pub(crate) fn pop_last(&mut self) -> Option<Travelling<P>> {
        self.rest.pop_back().or_else(|| self.first.take())
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut Travelling<P>> {
        self.rest.back_mut().or(self.first.as_mut())
    }

    /// Puts the last where it belongs by the time at which it comes out.
    pub(crate) fn sort_last(&mut self) {
        let Some(last) = self.rest.pop_back() else {
            return;
        };
        let is_not_later = |other: &Travelling<P>| other.due <= last.due;
        if self.first.as_ref().is_some_and(is_not_later) {
            let place = self.rest.partition_point(is_not_later);
            self.rest.insert(place, last);
        } else if let Some(first) = self.first.replace(last) {
            self.rest.push_front(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sorted_in_comes_out_by_its_time_and_equals_as_they_came(dues in prop::collection::vec(0..9u64, 0..12)) {
            let mut line = InFlight::new();
            for (number, due) in dues.iter().enumerate() {
                line.push(Travelling {
                    packet: number,
                    size: Bytes::ZERO,
                    due: Instant::from_nanos(*due),
                });
                line.sort_last();
            }
            let mut expected: Vec<(u64, usize)> = dues.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let order: Vec<(u64, usize)> = std::iter::from_fn(|| line.pop_first())
                .map(|out| (out.due.as_nanos(), out.packet))
                .collect();
            prop_assert_eq!(order, expected);
        }
    }
}
