//! Describes the machine on which a run took its time.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::thread::available_parallelism;

/// Cores, processor and kernel, as far as the system tells: `2 cores of Intel(R) Xeon(R) …, linux 6.1.0 x86_64`.
pub fn describe() -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    words(cores, model(&processor), kernel.trim())
}

fn words(cores: usize, model: Option<&str>, kernel: &str) -> String {
    let plural = if cores == 1 { "" } else { "s" };
    let of = model.map_or_else(String::new, |model| format!(" of {model}"));
    let system = [OS, kernel, ARCH].map(str::to_owned);
    let system = system.into_iter().filter(|word| !word.is_empty());
    let system = system.collect::<Vec<_>>().join(" ");
    format!("{cores} core{plural}{of}, {system}")
}

/// The first processor's name.
fn model(cpuinfo: &str) -> Option<&str> {
    let (_, name) = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?
        .split_once(':')?;
    Some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_in_it_and_what_it_does_not_tell_is_left_out() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast 9000 @ 3 GHz\nmodel name\t: other\n";
        let system = format!("{OS} 6.1.0 {ARCH}");
        assert_eq!(
            words(2, model(cpuinfo), "6.1.0"),
            format!("2 cores of Fast 9000 @ 3 GHz, {system}")
        );
        assert_eq!(words(1, model(""), ""), format!("1 core, {OS} {ARCH}"));
    }
}
