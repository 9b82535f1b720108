//! A liar changes the arrivals that it reports: which packets came, and when.

use std::time::Duration;

use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::rtcp::{ccfb, twcc};
use evenkeel_sim::FeedbackMode;
use tfrc::Ecn;
use tfrc::time::Instant;

use super::super::bend::ReportedArrival;
use super::super::lie::Lie;
use super::{LEARNING, Liar, MAX_DATED_AHEAD};

impl Liar {
    /// Sends what it makes of what came, from packet `first` on.
    pub(super) fn send_reported(
        &mut self,
        now: Instant,
        mut first: u64,
        mut reported: Vec<ReportedArrival>,
        rtt: Duration,
        write: &mut Writing<'_>,
    ) {
        if self.lie == Lie::ClaimTogether && self.reports.is_multiple_of(2) {
            return;
        }
        let (mut made_at, mut repeat_dates) = (now, Vec::new());
        let has_loss = reported.contains(&None);
        if self.is_silent(now, has_loss) {
            return;
        }
        let known = self.reported.saturating_sub(first) as usize;
        self.claim_wait(&mut reported, known, now, rtt);
        match self.lie {
            Lie::HideLosses => self.hide(&mut reported, 1.0),
            Lie::HideHalf => self.hide(&mut reported, 0.5),
            Lie::ClaimUnsent => reported.extend([Some((now, Ecn::NotEct)); 50]),
            Lie::ClaimEarly => {
                let half = now - rtt / 2;
                let recent = reported
                    .iter()
                    .flatten()
                    .filter(|(at, _)| *at >= half)
                    .count();
                self.hide(&mut reported, 1.0);
                reported.extend(vec![Some((now, Ecn::NotEct)); recent]);
            }
            Lie::RaiseReceiveRate => {
                made_at = slow(now);
                reported
                    .iter_mut()
                    .flatten()
                    .for_each(|(at, _)| *at = slow(*at));
            }
            Lie::ClaimNoTime if self.reports < LEARNING => {
                let new = reported.iter_mut().skip(known).flatten();
                new.for_each(|(at, _)| *at = *at - self.path);
            }
            Lie::ClaimNoTime => {
                let new = reported.iter_mut().skip(known);
                self.bend.claim(new, self.path, rtt);
            }
            Lie::ClaimTogether => {
                let new = reported.iter_mut().skip(known).flatten();
                new.for_each(|(at, _)| *at = now);
            }
            Lie::RunClockSlow => {
                (made_at, repeat_dates) = self.slow_clock.dates(now);
                let new = reported.iter_mut().skip(known).flatten();
                new.for_each(|(at, _)| *at = made_at);
            }
            Lie::EraseMarks => {
                reported
                    .iter_mut()
                    .flatten()
                    .for_each(|(_, ecn)| *ecn = Ecn::Ect0);
            }
            _ => {}
        }
        let mut buf = [0; 1_200];
        if self.lie == Lie::PassOver {
            let parts: Vec<Vec<ReportedArrival>> =
                reported.split(Option::is_none).map(<[_]>::to_vec).collect();
            for part in parts {
                if let Some(len) =
                    write(self, first, &part, made_at, &mut buf).filter(|_| !part.is_empty())
                {
                    self.send(now, &buf[..len], false);
                }
                first += part.len() as u64 + 1;
            }
        } else if let Some(len) = write(self, first, &reported, made_at, &mut buf) {
            self.send(now, &buf[..len], has_loss);
        }
        self.reported = first + reported.len() as u64;
        if self.lie == Lie::FutureReport && now >= self.ahead {
            self.ahead = now + MAX_DATED_AHEAD;
            repeat_dates.push(self.ahead);
        }
        self.repeat(now, &repeat_dates, write);
    }

    /// Sends reports of these dates that tell of the last packet once more, as many as fit in each datagram.
    fn repeat(&mut self, now: Instant, dates: &[Instant], write: &mut Writing<'_>) {
        let mut datagram = Vec::new();
        let mut buf = [0; 64];
        for date in dates {
            let last = [Some((*date, Ecn::NotEct))];
            let Some(len) = write(self, self.reported - 1, &last, *date, &mut buf) else {
                continue;
            };
            if datagram.len() + len > 1_200 {
                self.send(now, &datagram, false);
                datagram.clear();
            }
            datagram.extend_from_slice(&buf[..len]);
        }
        if !datagram.is_empty() {
            self.send(now, &datagram, false);
        }
    }

    /// Packets came that much earlier; or, in a format that does not say when a report was made, one that was
    /// told before came that much later.
    fn claim_wait(
        &self,
        reported: &mut [ReportedArrival],
        known: usize,
        now: Instant,
        rtt: Duration,
    ) {
        let wait = self.wait(rtt);
        if wait.is_zero() {
            return;
        }
        if self.feedback == FeedbackMode::Twcc {
            let repeated = reported.iter_mut().take(known).flatten();
            repeated.take(1).for_each(|(at, _)| *at = now + wait);
        } else {
            let came = reported.iter_mut().flatten();
            came.for_each(|(at, _)| *at = *at - wait);
        }
    }

    /// A share of what is missing came with the packet before it.
    fn hide(&mut self, reported: &mut [ReportedArrival], share: f64) {
        let mut last = reported.iter().flatten().next().copied();
        for packet in reported {
            if packet.is_none() && self.random.unit() < share {
                *packet = last;
            }
            last = packet.or(last);
        }
    }

    pub(super) fn write_arrivals(
        &mut self,
        first: u64,
        reported: &[ReportedArrival],
        made_at: Instant,
        buf: &mut [u8],
    ) -> Option<usize> {
        let (ssrcs, zero) = ((self.name, self.source), NtpTime::from_bits(0));
        if self.feedback == FeedbackMode::Twcc {
            self.made = self.made.wrapping_add(1);
            let packets = reported.iter().map(|packet| packet.map(|(at, _)| at));
            twcc::emit(ssrcs, first as u16, packets, self.made, buf)
        } else {
            let packets = reported
                .iter()
                .map(|packet| packet.map(|(at, ecn)| (zero.at(at), ecn)));
            ccfb::emit(ssrcs, first as u16, packets, zero.at(made_at), buf)
        }
    }
}

/// Writes the reported arrivals from a packet number on, in a report that is made then.
type Writing<'a> =
    dyn FnMut(&mut Liar, u64, &[ReportedArrival], Instant, &mut [u8]) -> Option<usize> + 'a;

/// A clock at a third of its speed.
fn slow(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos() / 3)
}
