//! Every seed through its target, without a fuzzer and on the stable compiler.

use std::fs;
use std::path::Path;

use evenkeel_fuzz::TARGETS;

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
