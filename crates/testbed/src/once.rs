//! Work that several want and one does.

use std::sync::{Arc, Mutex, PoisonError};

/// What came of each piece of work so far.
#[derive(Debug)]
pub(crate) struct Once<K, V>(Mutex<Vec<(K, Slot<V>)>>);

/// Held by whoever does the work.
type Slot<V> = Arc<Mutex<Option<V>>>;

impl<K: PartialEq + Clone, V: Clone> Once<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// What `work` gives, done here unless somebody has done it or is about to: then theirs. Work that fails is done again
    /// by the next who asks.
    pub(crate) fn get<E>(&self, key: &K, work: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut done = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match &*done {
            Some(value) => Ok(value.clone()),
            None => Ok(done.insert(work()?).clone()),
        }
    }

    fn slot(&self, key: &K) -> Slot<V> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = slots.iter().find(|(known, _)| known == key) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        slots.push((key.clone(), Arc::clone(&slot)));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn what_is_under_way_is_waited_for_and_not_done_twice() {
        // Two who ask are seldom in the same few instructions, so they ask often.
        const ROUNDS: usize = 1_000;
        let asked = AtomicUsize::new(0);
        let rounds: Vec<_> = (0..ROUNDS)
            .map(|_| (Once::new(), AtomicUsize::new(0)))
            .collect();
        let ask = || {
            for (round, (once, count)) in rounds.iter().enumerate() {
                asked.fetch_add(1, Ordering::SeqCst);
                while asked.load(Ordering::SeqCst) < 2 * (round + 1) {
                    thread::yield_now();
                }
                let work = || {
                    // Time for the other to begin as well.
                    thread::yield_now();
                    Ok::<_, ()>(count.fetch_add(1, Ordering::SeqCst))
                };
                // A panic here would leave the other waiting for the next round.
                let _ = once.get(&"same", work);
            }
        };
        thread::scope(|scope| {
            scope.spawn(ask);
            scope.spawn(ask);
        });
        for (once, count) in rounds {
            assert_eq!(count.into_inner(), 1);
            assert_eq!(once.get(&"same", || Err(())), Ok(0));
            assert_eq!(once.get(&"other", || Ok::<_, ()>(5)), Ok(5));
        }
    }

    #[test]
    fn work_that_failed_is_done_again() {
        let once = Once::new();
        assert_eq!(once.get(&0, || Err::<u8, _>("no")), Err("no"));
        assert_eq!(once.get(&0, || Ok::<_, &str>(1)), Ok(1));
    }
}
