//! Waiting for a deadline, a socket or another thread, whichever comes first.

use crate::clock::Clock;
use crate::wakeup_margin::WakeupMargin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use tfrc::time::{Duration, Instant};

/// Blocks until one of `sources` is readable or `deadline` has come; for ever without one.
///
/// A signal may end it early, and so does the care about a long wait: the caller looks at what is there.
/// Gives which sources are readable; all may be where that is not known.
pub(crate) fn readable<const N: usize>(
    clock: &Clock,
    sources: [BorrowedFd<'_>; N],
    deadline: Option<Instant>,
) -> [bool; N] {
    let mut fds = sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_since(clock.now());
        // `ppoll` is late by up to a thousandth of what it waits: so it waits for less, and then again.
        timespec(left.saturating_sub(if left > LONG_WAIT {
            left / 500
        } else {
            Duration::ZERO
        }))
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => fds.each_ref().map(|fd| !fd.revents().is_empty()),
        // An interruption, or the kernel's memory: the caller's loop comes again.
        Err(_) => [true; N],
    }
}

/// Like [`readable`], but for its `margin` before the deadline the thread keeps the processor: the end is then
/// as exact as the clock. What comes meanwhile is not looked for, so that nothing delays what is due; the
/// next wait finds it at once.
pub(crate) fn readable_then_spin<const N: usize>(
    clock: &Clock,
    sources: [BorrowedFd<'_>; N],
    deadline: Instant,
    margin: &mut WakeupMargin,
) -> [bool; N] {
    let asleep_until = deadline - margin.get();
    let sleeps = clock.now() < asleep_until;
    let ready = readable(clock, sources, Some(asleep_until));
    let woken = clock.now();
    if ready.contains(&true) || woken < asleep_until {
        return ready;
    }
    if sleeps {
        margin.learn(woken.saturating_since(asleep_until));
    }
    while clock.now() < deadline {
        std::hint::spin_loop();
    }
    [false; N]
}

/// Blocks until `socket` takes another datagram, or for `most`.
///
/// When the interface's queue is full and not the socket's, it is writable at once: then the time
/// is waited out without it.
pub(crate) fn writable(socket: BorrowedFd<'_>, most: Duration) {
    let timeout = timespec(most);
    let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
    if poll(&mut fds, Some(&timeout)) != Ok(0) {
        let _ = poll(&mut [], Some(&timeout));
    }
}

/// Lets timers of the calling thread expire at their time, instead of up to 50 µs later to save
/// wake-ups. `ppoll` still allows itself a thousandth of a longer wait, which is 40 µs between two
/// frames at 25 a second, and never more than 500 µs ([`LONG_WAIT`]).
///
/// Linux alone has this setting; where it fails, timers are as late as they are.
pub(crate) fn be_punctual() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

fn timespec(duration: Duration) -> Timespec {
    // What is no longer than a day fits every system's type.
    Timespec::try_from(duration.min(MAX_WAIT)).unwrap_or_default()
}

/// From here on a thousandth would be noticed: 32 ms between two packets of a sender that hears nothing.
const LONG_WAIT: Duration = Duration::from_millis(500);

/// How long a socket is left alone that gives errors instead of datagrams.
pub(crate) const DEAF_WAIT: Duration = Duration::from_millis(10);

/// Some systems refuse more than 2^31 ms, and who waits so long may look once a day.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// Ends another thread's wait.
#[derive(Debug)]
pub(crate) struct Waker(UnixStream);

/// The end that the waiting thread listens to.
#[derive(Debug)]
pub(crate) struct Wakeups(UnixStream);

impl Waker {
    pub(crate) fn new() -> io::Result<(Self, Wakeups)> {
        let (waker, wakeups) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wakeups.set_nonblocking(true)?;
        Ok((Self(waker), Wakeups(wakeups)))
    }

    pub(crate) fn wake(&self) {
        // Full means that wake-ups wait unread, closed that nobody waits: both are well.
        let _ = (&self.0).write(&[0]);
    }
}

impl Wakeups {
    /// Forgets the wake-ups so far. To be called before looking at what they announced.
    pub(crate) fn clear(&self) {
        let mut sink = [0; 64];
        while matches!((&self.0).read(&mut sink), Ok(read) if read == sink.len()) {}
    }
}

impl AsFd for Wakeups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_given_before_the_wait_ends_it() {
        let clock = Clock::start();
        let (waker, wakeups) = Waker::new().unwrap();
        for _ in 0..200 {
            waker.wake();
        }
        // Without a deadline this would hang.
        readable(&clock, [wakeups.as_fd()], None);
        wakeups.clear();
        let deadline = clock.now() + Duration::from_millis(1);
        readable(&clock, [wakeups.as_fd()], Some(deadline));
        assert!(clock.now() >= deadline, "the wake-ups were not cleared");
    }

    #[test]
    fn spinning_ends_no_earlier_than_the_deadline_but_for_a_wake_up() {
        let clock = Clock::start();
        let (waker, wakeups) = Waker::new().unwrap();
        let mut margin = WakeupMargin::unknown();
        let deadline = clock.now() + Duration::from_millis(1);
        readable_then_spin(&clock, [wakeups.as_fd()], deadline, &mut margin);
        assert!(clock.now() >= deadline);
        waker.wake();
        // A deadline that has passed hides no wake-up, or whoever is always late would hear nothing.
        let ready = readable_then_spin(&clock, [wakeups.as_fd()], deadline, &mut margin);
        assert_eq!(ready, [true]);
        let far = clock.now() + Duration::from_secs(3_600);
        // Without the wake-up this would take an hour.
        readable_then_spin(&clock, [wakeups.as_fd()], far, &mut margin);
    }

    #[test]
    fn waking_whom_nobody_waits_for_is_harmless() {
        let (waker, wakeups) = Waker::new().unwrap();
        drop(wakeups);
        waker.wake();
    }
}
