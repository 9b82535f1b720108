//! What a file that grows has of records if its writer was ended: whole ones, and after them at most a part of one more.

use std::fs;
use std::path::Path;

/// The records of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    /// How many are whole.
    pub(crate) whole: usize,
    /// True if another one begins and is cut off by the end of the file.
    pub(crate) is_torn: bool,
}

/// Lines, each of which must be as the caller says if it is whole.
pub(crate) fn lines(path: &Path, is_sound: impl Fn(&str) -> bool) -> Found {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (whole, torn) = text.split_at(text.rfind('\n').map_or(0, |last| last + 1));
    let wrong = whole.lines().find(|line| !is_sound(line));
    assert_eq!(wrong, None, "{}", path.display());
    Found {
        whole: whole.lines().count(),
        is_torn: !torn.is_empty(),
    }
}

/// The packets of a capture.
pub(crate) fn packets(path: &Path) -> Found {
    let file = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    walk(&file).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()))
}

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// No block is as long: the largest packet has 64 KiB. What claims to be would pass for one that is torn.
const TOO_LONG: usize = 1 << 17;

/// The packets of a pcapng file, block by block; an error if anything but the last block is not whole.
fn walk(file: &[u8]) -> Result<Found, String> {
    let word = |bytes: &[u8]| Some(u32::from_le_bytes(*bytes.first_chunk()?));
    let (mut rest, mut whole) = (file, 0);
    while let Some((kind, length)) = word(rest).zip(rest.get(4..).and_then(word)) {
        let at = file.len() - rest.len();
        let length = length as usize;
        let kinds = [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET];
        if !kinds.contains(&kind) || !length.is_multiple_of(4) || !(12..TOO_LONG).contains(&length)
        {
            return Err(format!("no block at {at}: kind {kind}, length {length}"));
        }
        let Some((block, behind)) = rest.split_at_checked(length) else {
            break;
        };
        if word(&block[length - 4..]) != Some(length as u32) {
            return Err(format!("the block at {at} does not end with its length"));
        }
        whole += usize::from(kind == ENHANCED_PACKET);
        rest = behind;
    }
    let is_torn = !rest.is_empty();
    Ok(Found { whole, is_torn })
}

#[test]
fn the_last_packet_of_a_capture_may_be_torn_and_no_other() {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length].concat()
    };
    let packet = block(ENHANCED_PACKET, &[7; 40]);
    let head = block(SECTION_HEADER, &[0; 16]);
    let whole = [&head[..], &packet, &packet].concat();
    let all = |whole, is_torn| Ok(Found { whole, is_torn });
    assert_eq!(walk(&whole), all(2, false));
    for missing in 1..packet.len() {
        assert_eq!(walk(&whole[..whole.len() - missing]), all(1, true));
        let hole = [&head[..], &packet[missing..], &packet].concat();
        assert!(walk(&hole).is_err(), "{missing} bytes");
    }
}
