//! A queue whose items lie in one slice.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// A queue that is read as a slice. A ring such as `VecDeque` would cost each access a branch.
#[derive(Clone, Debug)]
pub(crate) struct SliceQueue<T> {
    items: Vec<T>,
    /// The index of the first item. Those before it have been popped.
    start: usize,
}

impl<T> Default for SliceQueue<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            start: 0,
        }
    }
}

impl<T> SliceQueue<T> {
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.items.get(self.start)
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        if self.items.len() > self.start {
            self.items.last()
        } else {
            None
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.start
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Moves the items to the front if at least as many were popped. A push thus costs at most one move in the
    /// mean.
    #[cold]
    fn make_room(&mut self) {
        if self.start >= self.items.len() / 2 {
            self.items.drain(..self.start);
            self.start = 0;
        }
    }

    /// Pops this many of the oldest items, or all.
    #[inline]
    pub(crate) fn pop_oldest(&mut self, count: usize) {
        self.start += count.min(self.len());
    }

    /// Pops the newest item, if there is one.
    #[inline]
    pub(crate) fn pop_newest(&mut self) {
        if self.items.len() > self.start {
            self.items.pop();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.start = 0;
    }
}

impl<T> Deref for SliceQueue<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items[self.start..]
    }
}

impl<T> DerefMut for SliceQueue<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    use super::SliceQueue;

    proptest! {
        #[test]
        fn queue_holds_what_a_ring_holds(ops in prop::collection::vec(0..10u8, 0..400)) {
            let (mut queue, mut ring) = (SliceQueue::default(), VecDeque::new());
            for (op, item) in ops.into_iter().zip(0..) {
                match op {
                    0 => {
                        queue.pop_newest();
                        ring.pop_back();
                    }
                    1..4 => {
                        queue.pop_oldest(usize::from(op));
                        ring.drain(..ring.len().min(usize::from(op)));
                    }
                    4 if item % 8 == 0 => {
                        queue.clear();
                        ring.clear();
                    }
                    _ => {
                        queue.push(item);
                        ring.push_back(item);
                    }
                }
                prop_assert_eq!(queue.len(), ring.len());
                prop_assert_eq!((queue.first(), queue.last()), (ring.front(), ring.back()));
                prop_assert!(queue.iter().eq(&ring));
            }
        }
    }

    #[test]
    fn items_of_a_steady_queue_keep_their_room() {
        let mut queue = SliceQueue::default();
        let mut rooms = Vec::new();
        for item in 0..10_000 {
            queue.push(item);
            if item >= 100 {
                queue.pop_oldest(1);
                rooms.push(queue.items.capacity());
            }
        }
        assert!(rooms.iter().all(|room| *room <= 400), "{:?}", rooms.last());
    }
}
