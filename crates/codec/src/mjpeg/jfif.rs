//! Reads and writes images as JPEG files, which viewers open and cameras deliver.

use super::tables::{CHROMA_AC, CHROMA_DC, HuffmanSpec, LUMA_AC, LUMA_DC};
use crate::picture::{JpegImage, QuantTables, Sampling};

/// Returns the image as a JPEG file, with missing intervals in grey.
///
/// To see what a receiver shows, decode and code again: missing intervals are then concealed.
pub fn write(image: &JpegImage) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024 + image.scan_size().get() as usize);
    out.extend([0xFF, SOI]);
    segment(&mut out, APP0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (id, table) in [(0, &image.tables.luma), (1, &image.tables.chroma)] {
        segment(&mut out, DQT, &[&[id], &table[..]].concat());
    }
    let (height, width) = (image.height.to_be_bytes(), image.width.to_be_bytes());
    let luma = match image.sampling {
        Sampling::Yuv422 => LUMA_422,
        Sampling::Yuv420 => LUMA_420,
    };
    let frame = [8, height[0], height[1], width[0], width[1], 3];
    let components = [1, luma, 0, 2, 0x11, 1, 3, 0x11, 1];
    segment(&mut out, SOF0, &[&frame[..], &components].concat());
    let specs = [
        (0, &LUMA_DC),
        (0x10, &LUMA_AC),
        (1, &CHROMA_DC),
        (0x11, &CHROMA_AC),
    ];
    for (id, HuffmanSpec { lengths, symbols }) in specs {
        segment(&mut out, DHT, &[&[id], &lengths[..], symbols].concat());
    }
    if image.restart_interval > 0 {
        segment(&mut out, DRI, &image.restart_interval.to_be_bytes());
    }
    segment(&mut out, SOS, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);
    for (i, interval) in image.intervals.iter().enumerate() {
        if i > 0 {
            out.extend([0xFF, RST0 | ((i - 1) % 8) as u8]);
        }
        out.extend(interval.iter().flatten());
    }
    out.extend([0xFF, EOI]);
    out
}

/// Appends a marker segment, whose length includes itself.
fn segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xFF, marker]);
    out.extend((body.len() as u16 + 2).to_be_bytes());
    out.extend(body);
}

/// Reads a baseline JPEG file with the standard Huffman codes, which cameras may leave out.
///
/// # Errors
/// Returns an error if the file is cut short, or is a JPEG that [`JpegImage`] cannot represent.
pub fn parse(file: &[u8]) -> Result<JpegImage, JfifError> {
    let mut reader = Reader { file, offset: 0 };
    if reader.marker()? != SOI {
        return Err(JfifError::new("SOI", 0));
    }
    let mut tables = [[1; 64]; 4];
    let mut frame: Option<Frame> = None;
    let mut restart_interval = 0;
    loop {
        let marker = reader.marker()?;
        let start = reader.offset;
        let body = reader.segment()?;
        match marker {
            DQT => read_tables(body, &mut tables, start)?,
            DHT => check_codes(body, start)?,
            DRI => {
                let [high, low] = *body else {
                    return Err(JfifError::new("DRI", start));
                };
                restart_interval = u16::from_be_bytes([high, low]);
            }
            SOF0 => frame = Some(Frame::read(body, start)?),
            // Progressive, lossless and arithmetic frames are not baseline.
            0xC1..=0xCF => return Err(JfifError::new("SOF", start)),
            SOS => break,
            _ => {}
        }
    }
    let frame = frame.ok_or(JfifError::new("SOF0", reader.offset))?;
    let [luma, cb, cr] = frame.tables.map(|id| tables[id]);
    if cb != cr {
        return Err(JfifError::new("DQT", reader.offset));
    }
    let mut image = JpegImage {
        width: frame.width,
        height: frame.height,
        sampling: frame.sampling,
        tables: QuantTables { luma, chroma: cb },
        restart_interval,
        intervals: Vec::new(),
    };
    image.intervals = reader.intervals();
    let pieces = match restart_interval {
        0 => 1,
        mcus => image.mcus().div_ceil(mcus.into()),
    };
    // A file that was cut short lacks intervals, and surplus ones are dropped.
    image.intervals.resize(pieces, None);
    if image.intervals.iter().all(Option::is_none) {
        return Err(JfifError::new("scan", reader.offset));
    }
    Ok(image)
}

/// The error that this reader cannot take a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JPEG file: bad, missing or unsupported {field} at byte {offset}")]
pub struct JfifError {
    /// The segment that is wrong, missing or unsupported.
    pub field: &'static str,
    /// The offset in the file at which the segment was found or expected.
    pub offset: usize,
}

impl JfifError {
    const fn new(field: &'static str, offset: usize) -> Self {
        Self { field, offset }
    }
}

/// The content of SOF0.
struct Frame {
    width: u16,
    height: u16,
    sampling: Sampling,
    tables: [usize; 3],
}

impl Frame {
    fn read(body: &[u8], offset: usize) -> Result<Self, JfifError> {
        let &[8, h1, h0, w1, w0, 3, _, luma, t0, _, 0x11, t1, _, 0x11, t2] = body else {
            return Err(JfifError::new("SOF0", offset));
        };
        let sampling = match luma {
            LUMA_422 => Sampling::Yuv422,
            LUMA_420 => Sampling::Yuv420,
            _ => return Err(JfifError::new("SOF0 sampling", offset)),
        };
        let size = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
        let sides = 1..=super::encode::MAX_SIDE;
        if !sides.contains(&size.0) || !sides.contains(&size.1) || t0.max(t1).max(t2) > 3 {
            return Err(JfifError::new("SOF0", offset));
        }
        Ok(Self {
            width: size.0,
            height: size.1,
            sampling,
            tables: [t0, t1, t2].map(usize::from),
        })
    }
}

fn read_tables(body: &[u8], tables: &mut [[u8; 64]; 4], offset: usize) -> Result<(), JfifError> {
    let (chunks, rest) = body.as_chunks::<65>();
    if !rest.is_empty() {
        return Err(JfifError::new("DQT", offset));
    }
    for [id, table @ ..] in chunks {
        // The upper half of `id` is the precision, 0 for 8 bit.
        let entry = tables.get_mut(usize::from(*id));
        *entry.ok_or(JfifError::new("DQT", offset))? = *table;
    }
    Ok(())
}

/// Checks that the codes are the standard ones, because RFC 2435 carries no others.
fn check_codes(mut body: &[u8], offset: usize) -> Result<(), JfifError> {
    while let Some((&id, rest)) = body.split_first() {
        let spec = match id {
            0 => &LUMA_DC,
            0x10 => &LUMA_AC,
            1 => &CHROMA_DC,
            0x11 => &CHROMA_AC,
            _ => return Err(JfifError::new("DHT", offset)),
        };
        body = rest
            .strip_prefix(&spec.lengths)
            .and_then(|rest| rest.strip_prefix(spec.symbols))
            .ok_or(JfifError::new("DHT", offset))?;
    }
    Ok(())
}

/// A file and the position of the reader.
struct Reader<'a> {
    file: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn marker(&mut self) -> Result<u8, JfifError> {
        let rest = self.file.get(self.offset..).unwrap_or_default();
        let fill = rest.iter().take_while(|&&byte| byte == 0xFF).count();
        match rest.get(fill) {
            Some(&marker) if fill > 0 => {
                self.offset += fill + 1;
                Ok(marker)
            }
            _ => Err(JfifError::new("marker", self.offset)),
        }
    }

    fn segment(&mut self) -> Result<&'a [u8], JfifError> {
        let rest = self.file.get(self.offset..).unwrap_or_default();
        let body = match *rest {
            [high, low, ..] => rest.get(2..usize::from(u16::from_be_bytes([high, low]))),
            _ => None,
        };
        let body = body.ok_or(JfifError::new("segment", self.offset))?;
        self.offset += 2 + body.len();
        Ok(body)
    }

    /// Returns the entropy-coded bytes, cut at the restart markers, to the end of the image or the file.
    fn intervals(&self) -> Vec<Option<Vec<u8>>> {
        let scan = self.file.get(self.offset..).unwrap_or_default();
        let mut intervals = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < scan.len() {
            if scan[at] != 0xFF {
                at += 1;
                continue;
            }
            match scan.get(at + 1) {
                Some(0) => at += 2,
                Some(0xFF) => at += 1,
                Some(marker) if marker & 0xF8 == RST0 => {
                    intervals.push(interval(&scan[start..at]));
                    at += 2;
                    start = at;
                }
                _ => break,
            }
        }
        intervals.push(interval(&scan[start..at]));
        intervals
    }
}

/// Returns `None` for an interval without bytes, as [`write`] makes for a missing one.
fn interval(bytes: &[u8]) -> Option<Vec<u8>> {
    (!bytes.is_empty()).then(|| bytes.to_vec())
}

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const APP0: u8 = 0xE0;
const DQT: u8 = 0xDB;
const SOF0: u8 = 0xC0;
const DHT: u8 = 0xC4;
const DRI: u8 = 0xDD;
const SOS: u8 = 0xDA;
const RST0: u8 = 0xD0;

/// The luma sampling factors, horizontal and vertical, with chroma at 1x1.
const LUMA_422: u8 = 0x21;
const LUMA_420: u8 = 0x22;

#[cfg(test)]
mod tests {
    use super::super::{Scale, encode};
    use super::*;
    use crate::picture::Picture;
    use proptest::prelude::*;

    fn image() -> JpegImage {
        let mut picture = Picture::new(40, 40);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = (i * 7 % 200) as u8;
        }
        encode(&picture, Scale::from_quality(80.0)).expect("small")
    }

    #[test]
    fn file_is_read_back_as_written() {
        assert_eq!(parse(&write(&image())), Ok(image()));
    }

    /// The fuzz target `files` found this case.
    #[test]
    fn a_missing_interval_is_missing_in_the_file() {
        for missing in 0..3 {
            let mut image = image();
            image.intervals[missing] = None;
            assert_eq!(parse(&write(&image)), Ok(image));
        }
    }

    #[test]
    fn a_file_without_a_scan_is_none() {
        let mut image = image();
        image.intervals.fill(None);
        assert_eq!(
            parse(&write(&image)).map_err(|error| error.field),
            Err("scan")
        );
    }

    #[test]
    fn a_cut_file_lacks_its_last_intervals() {
        let file = write(&image());
        let cut = file.len() - image().intervals[2].as_ref().expect("coded").len() - 4;
        let parsed = parse(&file[..cut]).expect("headers are whole");
        assert_eq!(parsed.intervals[0], image().intervals[0]);
        assert_eq!(parsed.intervals[2], None);
    }

    #[test]
    fn what_rfc_2435_cannot_carry_is_named() {
        let file = write(&image());
        let at = |marker| {
            file.windows(2)
                .position(|pair| pair == [0xFF, marker])
                .expect("there")
        };
        let with = |at: usize, byte| {
            let mut file = file.clone();
            file[at] = byte;
            parse(&file).expect_err("must be refused").field
        };
        assert_eq!(with(1, EOI), "SOI");
        assert_eq!(with(at(SOF0) + 1, 0xC2), "SOF");
        assert_eq!(with(at(SOF0) + 11, 0x11), "SOF0 sampling");
        assert_eq!(with(at(DHT) + 4, 0x02), "DHT");
        assert_eq!(with(at(DQT) + 4, 0x10), "DQT");
        assert_eq!(with(at(SOF0) + 5, 0xFF), "SOF0");
    }

    proptest! {
        #[test]
        fn no_file_panics(
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
            length in any::<proptest::sample::Index>(),
        ) {
            let mut file = write(&image());
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            file.truncate(length.index(file.len()) + 1);
            let _ = parse(&file);
        }
    }
}
