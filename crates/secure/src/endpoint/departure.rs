//! Writes what leaves: the packets of ICE, DTLS and the inner endpoint, directly or through a relay.

use evenkeel_rtp::endpoint::{Endpoint, Transmit};
use tfrc::Ecn;
use tfrc::time::Instant;

use super::{IcePath, Secure, is_rtcp};
use crate::gather::MAX_RELAY_OVERHEAD;
use crate::srtp::MAX_OVERHEAD;

impl<E: Endpoint> Secure<E> {
    /// Returns the next datagram of ICE or DTLS.
    pub(super) fn poll_waiting(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let (path, datagram) = self.waiting.pop_front()?;
            buf.get_mut(..datagram.len())?.copy_from_slice(&datagram);
            let transmit = self.depart(now, path, buf, datagram.len(), Ecn::NotEct);
            if transmit.is_some() {
                return transmit;
            }
        }
    }

    /// Returns the next packet of the inner endpoint. What must not leave is lost, as on the path.
    pub(super) fn poll_inner(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let (protector, _) = self.srtp.as_mut()?;
            let room = buf.len().checked_sub(MAX_OVERHEAD + MAX_RELAY_OVERHEAD)?;
            let plain = self.inner.poll_transmit(now, &mut buf[..room])?;
            let is_rtcp = is_rtcp(&buf[..plain.len]);
            let ssrc = buf[..plain.len].get(if is_rtcp { 4..8 } else { 8..12 });
            if let Some(ssrc) = ssrc.and_then(|ssrc| ssrc.try_into().ok()) {
                self.ssrc = u32::from_be_bytes(ssrc);
            }
            let Some(path) = self.path.current() else {
                continue;
            };
            let protected = if is_rtcp {
                protector.protect_rtcp(buf, plain.len)
            } else {
                protector.protect_rtp(buf, plain.len)
            };
            let Ok(len) = protected else { continue };
            let transmit = self.depart(now, path, buf, len, plain.ecn);
            if transmit.is_some() {
                return transmit;
            }
        }
    }

    /// Returns an authentic packet for a path that ICE proposes: a receiver report without a block (RFC 3550 §6.4.2).
    pub(super) fn poll_probe(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let path = self.path.poll_probe(now)?;
        let (protector, _) = self.srtp.as_mut()?;
        let report = buf.get_mut(..8)?;
        report[..4].copy_from_slice(&[0x80, 201, 0, 1]);
        report[4..].copy_from_slice(&self.ssrc.to_be_bytes());
        let len = protector.protect_rtcp(buf, 8).ok()?;
        let transmit = self.depart(now, path, buf, len, Ecn::NotEct);
        self.reschedule(self.path.timeout());
        transmit
    }

    /// Returns the next datagram for a server.
    pub(super) fn poll_server(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        let (destination, datagram) = self.gathering.output().datagrams.pop_front()?;
        buf.get_mut(..datagram.len())?.copy_from_slice(&datagram);
        Some(Transmit {
            destination,
            len: datagram.len(),
            ecn: Ecn::NotEct,
        })
    }

    /// Sends what is in the buffer on a path, through a relay if the path begins there.
    fn depart(
        &mut self,
        now: Instant,
        path: IcePath,
        buf: &mut [u8],
        len: usize,
        ecn: Ecn,
    ) -> Option<Transmit> {
        let mut destination = path.destination;
        let mut len = len;
        if self.gathering.is_relayed(path.source) {
            self.plain.clear();
            self.plain.extend_from_slice(&buf[..len]);
            let path = (path.source, path.destination);
            let wrapped = self.gathering.wrap(now, path, &self.plain, buf);
            // The relay may be asked for a permission, which is repeated until it is granted.
            self.reschedule(self.gathering.poll_timeout());
            (destination, len) = wrapped?;
        }
        Some(Transmit {
            destination,
            len,
            ecn,
        })
    }

    /// Wakes this end at this time, too.
    fn reschedule(&mut self, at: Option<Instant>) {
        self.timeout = self.timeout.into_iter().chain(at).min();
    }
}
