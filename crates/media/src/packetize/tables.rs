//! Assigns the Q values of RFC 2435 to quantisation tables.
//!
//! Of a dozen packets the first is lost as often as any other. With Q = 255 the rest of the frame is then
//! undecodable, because only the first packet carries the tables (§3.1.8). Therefore:
//!
//! 1. Tables of the Independent JPEG Group's formula travel as Q = 1 to 99: every packet names them, and no
//!    bytes are spent.
//! 2. Other tables get a value from 128 to 254 at their first use, for the life of the stream, as §3.1.8
//!    demands of these values. The first packet of every frame still carries them for a receiver that joins
//!    late. A receiver that has them can decode a frame without its first packet.
//! 3. Only the 128th and later distinct tables use Q = 255.

use evenkeel_codec::mjpeg::rfc2435_tables;
use evenkeel_codec::picture::QuantTables;

/// The lowest Q whose tables are sent and stay the same (§3.1.8).
const FIRST_STATIC: u8 = 128;
/// The highest Q whose tables are sent and stay the same (§3.1.8).
const LAST_STATIC: u8 = 254;
/// The Q of tables that may change with every frame.
const DYNAMIC: u8 = 255;

/// The Q values that a sender has assigned.
#[derive(Clone, Debug, Default)]
pub struct TableIndex {
    /// The tables of Q = 128 and up, in the order of their first use.
    known: Vec<QuantTables>,
}

impl TableIndex {
    /// Returns the Q value for these tables, which is the same at every call.
    pub fn q(&mut self, tables: &QuantTables) -> u8 {
        if let Some(q) = standard_q(tables) {
            return q;
        }
        let index = self.known.iter().position(|known| known == tables);
        let index = index.unwrap_or_else(|| {
            if self.known.len() < usize::from(DYNAMIC - FIRST_STATIC) {
                self.known.push(tables.clone());
                self.known.len() - 1
            } else {
                usize::from(DYNAMIC - FIRST_STATIC)
            }
        });
        FIRST_STATIC + index as u8
    }
}

/// The tables that a receiver has seen, at most 127 pairs.
#[derive(Clone, Debug, Default)]
pub struct TableCache {
    /// The tables by Q − 128, up to the highest that was seen.
    known: Vec<Option<QuantTables>>,
}

impl TableCache {
    /// Remembers tables from a packet. Tables of Q = 255 apply to their own frame alone and are ignored.
    pub fn learn(&mut self, q: u8, tables: &QuantTables) {
        if !(FIRST_STATIC..=LAST_STATIC).contains(&q) {
            return;
        }
        let index = usize::from(q - FIRST_STATIC);
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        if self.known[index].as_ref() != Some(tables) {
            self.known[index] = Some(tables.clone());
        }
    }

    /// Gives the tables of `q`, as far as they are known without the first packet of the frame.
    pub fn get(&self, q: u8) -> Option<QuantTables> {
        match q {
            1..=99 => Some(rfc2435_tables(q)),
            FIRST_STATIC..=LAST_STATIC => self
                .known
                .get(usize::from(q - FIRST_STATIC))
                .cloned()
                .flatten(),
            _ => None,
        }
    }
}

/// Returns the Q from 1 to 99 that has these tables.
fn standard_q(tables: &QuantTables) -> Option<u8> {
    (1..=99).find(|&q| rfc2435_tables(q) == *tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(step: u8) -> QuantTables {
        QuantTables {
            luma: [step; 64],
            chroma: [step.wrapping_add(1); 64],
        }
    }

    #[test]
    fn standard_tables_need_no_bytes() {
        let mut index = TableIndex::default();
        for q in 1..=99 {
            // The coarsest few saturate alike, so any Q with the same tables is correct.
            let named = index.q(&rfc2435_tables(q));
            assert_eq!(TableCache::default().get(named), Some(rfc2435_tables(q)));
        }
        let half = rfc2435_tables(50);
        assert_eq!(half.luma[..4], [16, 11, 12, 14]);
        assert_eq!(half.chroma[..4], [17, 18, 18, 24]);
    }

    #[test]
    fn a_static_value_never_changes_its_meaning() {
        let mut index = TableIndex::default();
        let first: Vec<u8> = (0..140).map(|step| index.q(&flat(step))).collect();
        let second: Vec<u8> = (0..140).map(|step| index.q(&flat(step))).collect();
        assert_eq!(first, second);
        assert_eq!(first[..3], [128, 129, 130]);
        assert_eq!(first[126..129], [254, 255, 255]);
    }

    #[test]
    fn cache_keeps_static_tables_only() {
        let mut cache = TableCache::default();
        for q in [0, 100, 127, 130, 255] {
            cache.learn(q, &flat(q));
        }
        assert_eq!(cache.get(130), Some(flat(130)));
        for q in [0, 100, 127, 128, 129, 131, 254, 255] {
            assert_eq!(cache.get(q), None);
        }
    }
}
