//! Makes the command that repeats a run with its present settings, from its first words and viewers' changes.

use evenkeel_codec::Codec;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;

use super::knobs::Knobs;
use crate::shell::quoted;

/// The words of a command, and the settings that viewers have changed since its start.
pub(super) struct Repeat {
    words: Vec<String>,
    changed: Knobs,
}

impl Repeat {
    /// Creates the state of a run that was started by these words.
    pub(super) fn new(words: &[String]) -> Self {
        Self {
            words: words.to_vec(),
            changed: Knobs::default(),
        }
    }

    /// Records the settings that a viewer changed.
    pub(super) fn change(&mut self, knobs: &Knobs) {
        let changed = &mut self.changed;
        changed.rate_bps = knobs.rate_bps.or(changed.rate_bps);
        changed.delay_ms = knobs.delay_ms.or(changed.delay_ms);
        changed.queue_ms = knobs.queue_ms.or(changed.queue_ms);
        changed.loss_pct = knobs.loss_pct.or(changed.loss_pct);
        changed.tcp = knobs.tcp.or(changed.tcp);
        changed.codec = knobs.codec.or(changed.codec);
        changed.policy = knobs.policy.or(changed.policy);
        changed.filler = knobs.filler.or(changed.filler);
    }

    /// Returns the command, quoted for a shell.
    pub(super) fn line(&self) -> String {
        let mut words = self.words.clone();
        let changed = &self.changed;
        if let Some(rate) = changed.rate_bps {
            take(&mut words, "--trace-link");
            set(&mut words, "--rate", format!("{}M", rate / 1e6));
        }
        if let Some(delay) = changed.delay_ms {
            set(&mut words, "--rtt", format!("{delay}ms"));
        }
        if let Some(queue) = changed.queue_ms {
            let before = take(&mut words, "--queue");
            set(&mut words, "--queue", queue_of(before.as_deref(), queue));
        }
        if let Some(loss) = changed.loss_pct {
            set(&mut words, "--loss", format!("{loss}%"));
        }
        if let Some(flows) = changed.tcp {
            set(&mut words, "--tcp", flows.to_string());
        }
        let names = [
            ("--codec", changed.codec.map(Codec::name)),
            ("--policy", changed.policy.map(Rules::name)),
            ("--filler", changed.filler.map(Filler::name)),
        ];
        for (option, name) in names {
            if let Some(name) = name {
                set(&mut words, option, name.to_owned());
            }
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// Sets the option to this value, and removes its other occurrences.
fn set(words: &mut Vec<String>, option: &str, value: String) {
    take(words, option);
    words.extend([option.to_owned(), value]);
}

/// Removes the option, and returns its value if there was one.
fn take(words: &mut Vec<String>, option: &str) -> Option<String> {
    let value_in = |word: &str| Some(word.strip_prefix(option)?.strip_prefix('=')?.to_owned());
    let at = words
        .iter()
        .position(|word| word == option || value_in(word).is_some())?;
    let word = words.remove(at);
    value_in(&word).or_else(|| (at < words.len()).then(|| words.remove(at)))
}

/// Returns a queue of `ms` milliseconds under the discipline of `before`, if that names one.
fn queue_of(before: Option<&str>, ms: f64) -> String {
    let discipline = before.filter(|value| value.starts_with(|c: char| c.is_ascii_alphabetic()));
    let Some(discipline) = discipline else {
        return format!("{ms}ms");
    };
    let (name, settings) = discipline.split_once(':').unwrap_or((discipline, ""));
    let others = settings
        .split(',')
        .filter(|setting| !setting.is_empty() && !setting.starts_with("limit="));
    let limit = format!("limit={ms}ms");
    let settings: Vec<&str> = others.chain([limit.as_str()]).collect();
    format!("{name}:{}", settings.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(words: &[&str], changes: &[Knobs]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
        let mut repeat = Repeat::new(&words);
        changes.iter().for_each(|knobs| repeat.change(knobs));
        repeat.line()
    }

    fn rate(mbps: f64) -> Knobs {
        Knobs {
            rate_bps: Some(mbps * 1e6),
            ..Knobs::default()
        }
    }

    fn queue(ms: f64) -> Knobs {
        Knobs {
            queue_ms: Some(ms),
            ..Knobs::default()
        }
    }

    #[test]
    fn unchanged_run_is_repeated_as_it_was_typed() {
        let words = ["evenkeel", "demo", "--record", "my clip.y4m", "--rate=3M"];
        assert_eq!(
            repeat(&words, &[]),
            "evenkeel demo --record 'my clip.y4m' --rate=3M"
        );
    }

    #[test]
    fn last_change_replaces_the_option() {
        let changes = [rate(2.0), queue(70.0), rate(4.5)];
        for words in [
            &["demo", "--rate", "800 kb/s"][..],
            &["demo", "--rate=1M", "--queue", "20p"],
            &["demo", "--trace-link", "lte.down"],
        ] {
            assert_eq!(repeat(words, &changes), "demo --rate 4.5M --queue 70ms");
        }
        let changed = Knobs {
            delay_ms: Some(80.0),
            loss_pct: Some(0.5),
            tcp: Some(2),
            codec: Some(Codec::H264),
            ..Knobs::default()
        };
        assert_eq!(
            repeat(&["demo"], &[changed]),
            "demo --rtt 80ms --loss 0.5% --tcp 2 --codec h264"
        );
    }

    #[test]
    fn option_inside_another_value_stays() {
        let words = ["demo", "--record", "a --rate 3M b.y4m"];
        assert_eq!(
            repeat(&words, &[rate(1.0)]),
            "demo --record 'a --rate 3M b.y4m' --rate 1M"
        );
    }

    #[test]
    fn queue_keeps_its_discipline() {
        for (before, after) in [
            ("codel", "codel:limit=70ms"),
            ("red:min=5,max=15,limit=30kB", "red:min=5,max=15,limit=70ms"),
            ("30kB", "70ms"),
        ] {
            let words = ["demo", "--queue", before];
            assert_eq!(
                repeat(&words, &[queue(70.0)]),
                format!("demo --queue {after}")
            );
        }
    }
}
