//! A hint to the processor: a value will soon be needed, so let it come into a near cache meanwhile.
//!
//! An ordinary load brings a value near as well, but the processor has to wait for it before it can put away
//! what comes after, and so has a few dozen instructions in hand at most. A hint is done as soon as it is
//! given. The standard library has it only as an unsafe function, as it takes a bare pointer: here it takes a
//! reference, so that crates which forbid unsafe code can give it.
//!
//! On processors other than x86-64 nothing is done.

#![no_std]
#![deny(unsafe_code)]

use core::ops::Range;

/// Bytes that come at once.
const LINE: usize = 64;

/// Lets a value come near; what it only points to stays where it is, and so does the end of one that is not
/// aligned and crosses into one more line than it fills.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_part(value, 0..size_of::<T>());
}

/// Lets these bytes come near, counted from where a value begins: a part of it, where the rest is rarely
/// needed, or more than it, where others lie behind it.
#[inline(always)]
pub fn prefetch_part<T>(value: &T, bytes: Range<usize>) {
    let begin: *const u8 = core::ptr::from_ref(value).cast();
    let mut offset = bytes.start;
    while offset < bytes.end {
        hint(begin.wrapping_add(offset));
        offset += LINE;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "the instruction is only to be had so")]
fn hint(at: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction gives nothing, changes nothing and never faults, whatever the address. It is of
    // SSE, which every x86-64 has.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_and_what_is_no_value_are_as_they_were() {
        let bytes = [7_u8; 1_000];
        prefetch(&bytes);
        prefetch(&());
        prefetch_part(&bytes[999], 0..0);
        prefetch_part(&bytes[999], 0..1 << 20);
        assert_eq!(bytes, [7; 1_000]);
    }
}
