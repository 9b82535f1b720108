//! The target of a packet or an event, a link or an agent, in one number.

/// A link or an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stop {
    Link(u32),
    Agent(u32),
}

/// A [`Stop`] in one number: twice a link's number, or one more than twice an agent's number.
// Paths take half the memory, and an event is moved in registers: a pair would be written piece by piece and
// soon read as a whole, for which a processor waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed(u32);

impl From<Stop> for Packed {
    #[inline]
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Link(index) => Self(2 * index),
            Stop::Agent(index) => Self(2 * index + 1),
        }
    }
}

impl Packed {
    #[inline]
    pub(super) const fn stop(self) -> Stop {
        let Self(number) = self;
        match number % 2 {
            0 => Stop::Link(number / 2),
            _ => Stop::Agent(number / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_unpacked_as_it_was() {
        for stop in [Stop::Link(0), Stop::Agent(0), Stop::Link(7), Stop::Agent(7)] {
            assert_eq!(Packed::from(stop).stop(), stop);
        }
    }
}
