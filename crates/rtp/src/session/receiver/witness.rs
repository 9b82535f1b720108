//! Believes a jump of a packet's field from its second witness on, because one packet may be damaged or forged.

/// A field of successive packets, whose jumps two packets in a row must state (RFC 3550 §A.1).
#[derive(Debug)]
pub(in crate::session) struct Witnessed<T> {
    believed: Option<T>,
    suspect: Option<T>,
}

impl<T> Default for Witnessed<T> {
    fn default() -> Self {
        Self {
            believed: None,
            suspect: None,
        }
    }
}

impl<T: Copy> Witnessed<T> {
    /// Returns the believed value, if there is one.
    pub(in crate::session) const fn believed(&self) -> Option<T> {
        self.believed
    }

    /// Takes the value of a packet, and returns true if the value is believed. `continues(a, b)` says whether `b`
    /// may follow `a` without a jump.
    pub(in crate::session) fn observe(
        &mut self,
        stated: T,
        continues: impl Fn(T, T) -> bool,
    ) -> bool {
        let is_next = |before: Option<T>| before.is_some_and(|before| continues(before, stated));
        let is_believed =
            self.believed.is_none() || is_next(self.believed) || is_next(self.suspect);
        self.suspect = (!is_believed).then_some(stated);
        if is_believed {
            self.believed = Some(stated);
        }
        is_believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_is_believed_from_its_second_witness_in_a_row() {
        let mut field = Witnessed::default();
        let near = |a: i32, b: i32| (a - b).abs() <= 1;
        let stated = [5, 6, 90, 7, 91, 7, 50, 90, 91, 8, 7];
        let believed = stated.map(|value| {
            field.observe(value, near);
            field.believed().unwrap()
        });
        assert_eq!(believed, [5, 6, 6, 7, 7, 7, 7, 7, 91, 91, 7]);
    }
}
