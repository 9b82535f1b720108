//! Puts a picture of H.264 together from RTP payloads (RFC 6184, packetisation modes 0 and 1).

use std::collections::BTreeMap;

use evenkeel_codec::picture::AccessUnit;
use evenkeel_rtp::packet::payload::h264::{Fragment, H264Payload, unit_type};

use crate::event::NotShown;

/// A picture that is being put together: its payloads, by sequence number.
#[derive(Debug, Default)]
pub(super) struct H264Assembly {
    payloads: BTreeMap<u64, Vec<u8>>,
}

impl H264Assembly {
    pub(super) fn push(&mut self, payload: &[u8], sequence: u64) {
        self.payloads.insert(sequence, payload.to_vec());
    }

    /// Returns true if the first payload begins a picture and the last one ends it.
    pub(super) fn is_closed(&self) -> bool {
        let first = self
            .payloads
            .first_key_value()
            .map(|(_, payload)| begins(payload));
        let last = self
            .payloads
            .last_key_value()
            .map(|(_, payload)| ends(payload));
        first == Some(true) && last == Some(true)
    }

    /// Returns the NAL units, with a hole for each run of missing packets. A hole follows the last unit unless the
    /// packet with the marker bit arrived.
    pub(super) fn finish(self, ended: bool) -> Result<AccessUnit, NotShown> {
        let mut builder = Builder::default();
        if !self
            .payloads
            .first_key_value()
            .is_some_and(|(_, payload)| begins(payload))
        {
            builder.hole();
        }
        let mut expected = None;
        for (sequence, payload) in &self.payloads {
            if expected.is_some_and(|expected| expected != *sequence) {
                builder.hole();
            }
            expected = sequence.checked_add(1);
            builder.take(payload);
        }
        if !ended || builder.open.is_some() {
            builder.hole();
        }
        if builder.units.iter().all(Option::is_none) {
            return Err(NotShown::Empty);
        }
        Ok(AccessUnit {
            units: builder.units,
        })
    }
}

/// The NAL units that are being put together.
#[derive(Default)]
struct Builder {
    units: Vec<Option<Vec<u8>>>,
    /// The unit whose fragments are arriving.
    open: Option<Vec<u8>>,
}

impl Builder {
    fn take(&mut self, payload: &[u8]) {
        match H264Payload::parse(payload) {
            Ok(H264Payload::Single(unit)) => self.whole(unit),
            Ok(H264Payload::Aggregate(units)) => units.for_each(|unit| self.whole(unit)),
            Ok(H264Payload::Fragment(fragment)) => self.fragment(&fragment),
            Err(_) => self.hole(),
        }
    }

    fn whole(&mut self, unit: &[u8]) {
        if self.open.is_some() {
            self.hole();
        }
        self.units.push(Some(unit.to_vec()));
    }

    fn fragment(&mut self, fragment: &Fragment<'_>) {
        if fragment.start {
            if self.open.is_some() {
                self.hole();
            }
            self.open = Some(vec![fragment.header]);
        }
        match &mut self.open {
            Some(unit) if unit[0] == fragment.header => unit.extend_from_slice(fragment.data),
            // The fragment belongs to a unit whose beginning is missing.
            _ => self.hole(),
        }
        if fragment.end
            && let Some(unit) = self.open.take()
        {
            self.units.push(Some(unit));
        }
    }

    /// Adds a hole, which also destroys the unit whose fragments were arriving.
    fn hole(&mut self) {
        self.open = None;
        if self.units.last() != Some(&None) {
            self.units.push(None);
        }
    }
}

/// Returns true if a picture may begin with this payload: with a unit that precedes slices, or with the slice of
/// the first macroblock, whose header begins with a one bit (H.264 §7.3.3).
fn begins(payload: &[u8]) -> bool {
    let unit_begins = |unit: &[u8]| match unit {
        [header, first, ..] if matches!(unit_type(*header), 1..=5) => first & 0x80 != 0,
        _ => true,
    };
    match H264Payload::parse(payload) {
        Ok(H264Payload::Single(unit)) => unit_begins(unit),
        Ok(H264Payload::Aggregate(mut units)) => units.next().is_some_and(unit_begins),
        Ok(H264Payload::Fragment(fragment)) => {
            fragment.start && unit_begins(&[fragment.header, fragment.data[0]])
        }
        Err(_) => false,
    }
}

/// Returns true if a NAL unit ends with this payload.
fn ends(payload: &[u8]) -> bool {
    match H264Payload::parse(payload) {
        Ok(H264Payload::Fragment(fragment)) => fragment.end,
        other => other.is_ok(),
    }
}
