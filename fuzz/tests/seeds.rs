//! Every seed through its target, without a fuzzer and on the stable compiler.

use std::fs;
use std::path::Path;

use evenkeel_fuzz::{TARGETS, h264_payload};

#[test]
fn every_target_takes_its_seeds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (name, check) in TARGETS {
        let files = fs::read_dir(seeds.join(name)).expect(name);
        let mut count = 0;
        for file in files {
            let path = file.expect(name).path();
            println!("{}", path.display());
            check(&fs::read(path).expect(name));
            count += 1;
        }
        assert!(count > 0, "{name} has no seeds");
    }
}

#[test]
fn h264_seed_needs_repair_packets_to_decode() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/h264_payload/repaired-stream");
    let mut stream = fs::read(path).expect("a seed");
    assert_eq!(h264_payload::play(&stream), 3);
    // Without the last repair packet, two.
    let mut last = 0;
    let mut next = 0;
    while let Some(&[_, high, low]) = stream.get(next..next + 3) {
        last = next;
        next += 3 + usize::from(u16::from_be_bytes([high, low]));
    }
    stream[last + 1..last + 3].fill(0);
    stream.truncate(last + 3);
    assert_eq!(h264_payload::play(&stream), 2);
}
