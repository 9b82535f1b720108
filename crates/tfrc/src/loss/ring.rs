//! A ring of at most N items, oldest first.

/// A bounded list in a circle, oldest first. The caller must not insert into a full list.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cache-layout", repr(C))]
pub(super) struct Ring<T, const N: usize> {
    len: usize,
    /// The index of the oldest item.
    start: usize,
    pub(super) items: [T; N],
}

impl<T: Copy, const N: usize> Ring<T, N> {
    pub(super) const fn new(empty: T) -> Self {
        Self {
            items: [empty; N],
            start: 0,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    const fn place(&self, index: usize) -> usize {
        (self.start + index) % N
    }

    pub(super) fn first(&self) -> Option<&T> {
        (self.len > 0).then(|| &self.items[self.place(0)])
    }

    /// Returns the index of the newest item that satisfies a condition.
    pub(super) fn newest(&self, is_wanted: impl Fn(&T) -> bool) -> Option<usize> {
        (0..self.len)
            .rev()
            .find(|index| is_wanted(&self.items[self.place(*index)]))
    }

    pub(super) fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        for index in 0..self.len {
            change(&mut self.items[self.place(index)]);
        }
    }

    pub(super) fn push(&mut self, item: T) {
        self.insert(self.len, item);
    }

    pub(super) fn insert(&mut self, index: usize, item: T) {
        for newer in (index..self.len).rev() {
            self.items[self.place(newer + 1)] = self.items[self.place(newer)];
        }
        self.items[self.place(index)] = item;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, index: usize) -> T {
        let item = self.items[self.place(index)];
        if index == 0 {
            self.start = self.place(1);
        } else {
            for newer in index + 1..self.len {
                self.items[self.place(newer - 1)] = self.items[self.place(newer)];
            }
        }
        self.len -= 1;
        item
    }
}
