//! A link as a file or a control message describes it.

use evenkeel_lab::units::{BitRate, Share, Size, Time};
use evenkeel_link::{
    CoDelConfig, Discipline, FqCoDelConfig, GilbertElliott, Jitter, LinkConfig, Loss, PieConfig,
    Policer, QueueLimit, RedConfig, Reordering,
};
use serde::Deserialize;

/// A link when it starts: `[forward]` or `[reverse]`. What is not given is perfect.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkTable {
    /// Unlimited unless given.
    rate: Option<BitRate>,
    /// One way.
    delay: Option<Time>,
    queue: Option<QueueTable>,
    discipline: DisciplineTable,
    loss: LossTable,
    jitter: Option<JitterTable>,
    reordering: Option<ReorderingTable>,
    /// The share of packets that arrive twice.
    duplication: Option<Share>,
}

/// How much may wait: `{ packets = 20 }`, `{ size = "30kB" }`, `{ time = "50ms" }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum QueueTable {
    Packets(u32),
    Size(Size),
    /// At the link's rate at that moment. What is shorter than a packet takes holds none: they go if the link is free.
    Time(Time),
}

/// `"drop-tail"`, `{ red = { min = 5, max = 15 } }`, `{ codel = {} }`, `{ fq-codel = {} }`, `{ pie = {} }`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DisciplineTable {
    #[default]
    DropTail,
    Red(RedTable),
    Codel(CodelTable),
    FqCodel(FqCodelTable),
    Pie(PieTable),
}

/// [`RedConfig`]; its recommended weight and probability unless given.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedTable {
    /// Averages, in packets.
    min: f64,
    max: f64,
    max_p: Option<f64>,
    weight: Option<f64>,
    gentle: Option<bool>,
    #[serde(default)]
    ecn: bool,
}

/// [`CoDelConfig`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CodelTable {
    target: Option<Time>,
    interval: Option<Time>,
    ecn: bool,
}

/// [`FqCoDelConfig`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FqCodelTable {
    target: Option<Time>,
    interval: Option<Time>,
    ecn: bool,
    quantum: Option<Size>,
    queues: Option<u16>,
}

/// [`PieConfig`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PieTable {
    target: Option<Time>,
    update: Option<Time>,
    burst: Option<Time>,
    ecn: bool,
}

/// `"none"`, `{ random = "1%" }`, `{ every = 100 }`, `{ gilbert-elliott = { ... } }`, `{ policer = { ... } }`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LossTable {
    #[default]
    None,
    Random(Share),
    Every(u64),
    GilbertElliott(GilbertElliottTable),
    Policer(PolicerTable),
}

/// [`Policer`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicerTable {
    rate: BitRate,
    burst: Size,
}

/// [`GilbertElliott`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GilbertElliottTable {
    to_bad: Share,
    to_good: Share,
    good_loss: Share,
    bad_loss: Share,
}

/// `{ normal = "5ms" }`, `{ uniform = "2ms" }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JitterTable {
    Normal(Time),
    Uniform(Time),
}

/// [`Reordering`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReorderingTable {
    probability: Share,
    delay: Time,
}

impl LinkTable {
    /// The link; an error if its settings make no sense.
    pub fn config(&self) -> Result<LinkConfig, String> {
        let perfect = LinkConfig::default();
        let config = LinkConfig {
            rate: self.rate.map_or(perfect.rate, |rate| rate.0),
            delay: self.delay.map_or(perfect.delay, |delay| delay.0),
            jitter: match self.jitter {
                None => Jitter::None,
                Some(JitterTable::Normal(sigma)) => Jitter::Normal(sigma.0),
                Some(JitterTable::Uniform(most)) => Jitter::Uniform(most.0),
            },
            reordering: self
                .reordering
                .map_or(perfect.reordering, |table| Reordering {
                    probability: table.probability.0,
                    delay: table.delay.0,
                }),
            duplication: self.duplication.map_or(0.0, |share| share.0),
            queue: self.queue.map_or(Ok(perfect.queue), QueueTable::limit)?,
            discipline: self.discipline.discipline()?,
            loss: self.loss.loss()?,
        };
        Ok(config)
    }
}

impl QueueTable {
    /// An error if nothing fits into it.
    pub(crate) fn limit(self) -> Result<QueueLimit, String> {
        let nothing = |what: &str, least: &str| {
            Err(format!(
                "queue: {what}, which holds no packet: give at least {least}"
            ))
        };
        let least = QueueLimit::LEAST_BYTES;
        match self {
            Self::Packets(0) => nothing("packets is 0", "1"),
            Self::Size(Size(size)) if size < least => nothing(
                &format!("size is {}B", size.get()),
                &format!("{}B", least.get()),
            ),
            Self::Time(time) if time.0.is_zero() => {
                nothing("time is 0", "what a packet takes, such as 5ms")
            }
            Self::Packets(packets) => Ok(QueueLimit::Packets(packets.into())),
            Self::Size(size) => Ok(QueueLimit::Bytes(size.0)),
            Self::Time(time) => Ok(QueueLimit::Time(time.0)),
        }
    }
}

impl LossTable {
    /// An error if it loses every none-th packet.
    pub(crate) fn loss(self) -> Result<Loss, String> {
        Ok(match self {
            Self::None => Loss::None,
            Self::Random(share) => Loss::Bernoulli(share.0),
            Self::Every(0) => {
                return Err(
                    "loss: every is 0: give 1 or more, or \"none\" to lose nothing".to_owned(),
                );
            }
            Self::Every(count) => Loss::Periodic(count),
            Self::GilbertElliott(table) => Loss::GilbertElliott(GilbertElliott {
                to_bad: table.to_bad.0,
                to_good: table.to_good.0,
                good_loss: table.good_loss.0,
                bad_loss: table.bad_loss.0,
            }),
            Self::Policer(table) if table.burst.0 < QueueLimit::LEAST_BYTES => {
                return Err(format!(
                    "loss: the policer's burst is {}B, which lets no packet through: give at least {}B",
                    table.burst.0.get(),
                    QueueLimit::LEAST_BYTES.get()
                ));
            }
            Self::Policer(table) => Loss::Policer(Policer {
                rate: table.rate.0,
                burst: table.burst.0,
            }),
        })
    }
}

impl DisciplineTable {
    /// An error if its settings make no sense.
    pub(crate) fn discipline(self) -> Result<Discipline, String> {
        let discipline = match self {
            Self::DropTail => Discipline::DropTail,
            Self::Red(table) => {
                let usual = RedConfig::between(table.min, table.max);
                Discipline::Red(RedConfig {
                    max_p: table.max_p.unwrap_or(usual.max_p),
                    weight: table.weight.unwrap_or(usual.weight),
                    gentle: table.gentle.unwrap_or(usual.gentle),
                    ecn: table.ecn,
                    ..usual
                })
            }
            Self::Codel(table) => Discipline::CoDel(codel(table.target, table.interval, table.ecn)),
            Self::FqCodel(table) => {
                let usual = FqCoDelConfig::default();
                Discipline::FqCoDel(FqCoDelConfig {
                    codel: codel(table.target, table.interval, table.ecn),
                    quantum: table.quantum.map_or(usual.quantum, |size| size.0),
                    queues: table.queues.unwrap_or(usual.queues),
                })
            }
            Self::Pie(table) => {
                let usual = PieConfig::default();
                Discipline::Pie(PieConfig {
                    target: table.target.map_or(usual.target, |time| time.0),
                    update: table.update.map_or(usual.update, |time| time.0),
                    burst: table.burst.map_or(usual.burst, |time| time.0),
                    ecn: table.ecn,
                })
            }
        };
        match discipline.problem() {
            None => Ok(discipline),
            Some(problem) => Err(problem.to_owned()),
        }
    }
}

fn codel(target: Option<Time>, interval: Option<Time>, ecn: bool) -> CoDelConfig {
    let usual = CoDelConfig::default();
    CoDelConfig {
        target: target.map_or(usual.target, |time| time.0),
        interval: interval.map_or(usual.interval, |time| time.0),
        ecn,
    }
}

/// Both directions of an emulated link: a file.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkFile {
    forward: LinkTable,
    reverse: LinkTable,
}

impl LinkFile {
    /// Both links of a TOML text; else one line that names what is wrong.
    pub fn read(text: &str) -> Result<[LinkConfig; 2], String> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                1 + text[..span.start.min(text.len())].matches('\n').count()
            });
            format!("line {line}: {}", error.message())
        })?;
        let named = |name: &str, table: LinkTable| {
            table
                .config()
                .map_err(|problem| format!("{name}: {problem}"))
        };
        Ok([
            named("forward", file.forward)?,
            named("reverse", file.reverse)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::time::Duration;
    use tfrc::units::Rate;

    #[test]
    fn a_file_says_every_discipline_and_loss() {
        let disciplines = [
            r#""drop-tail""#,
            "{ red = { min = 5, max = 15, ecn = true } }",
            r#"{ codel = { target = "5ms" } }"#,
            "{ fq-codel = { queues = 16 } }",
            r#"{ pie = { burst = "100ms" } }"#,
        ];
        let losses = [
            r#""none""#,
            r#"{ random = "1%" }"#,
            "{ every = 100 }",
            r#"{ gilbert-elliott = { to_bad = "1%", to_good = "20%", good_loss = "0%", bad_loss = "50%" } }"#,
        ];
        for discipline in disciplines {
            for loss in losses {
                let text = format!("[forward]\ndiscipline = {discipline}\nloss = {loss}\n");
                let [forward, reverse] = LinkFile::read(&text).unwrap();
                let plain = (discipline, loss) == (disciplines[0], losses[0]);
                assert_eq!(forward == reverse, plain, "{text}");
            }
        }
    }

    #[test]
    fn quantities_have_their_units() {
        let text = "[reverse]\nrate = \"8Mb/s\"\ndelay = \"20ms\"\nqueue = { packets = 30 }\n";
        let [forward, reverse] = LinkFile::read(text).unwrap();
        assert_eq!(forward, LinkConfig::default());
        assert_eq!(reverse.rate, Rate::from_bits_per_sec(8e6));
        assert_eq!(reverse.delay, Duration::from_millis(20));
        assert_eq!(reverse.queue, QueueLimit::Packets(30));
    }

    #[test]
    fn an_error_names_the_line_and_what_would_be_right() {
        let error = |text: &str| LinkFile::read(text).unwrap_err();
        let message = error("[forward]\nrate = \"8\"\n");
        assert!(
            message.starts_with("line 2: ") && message.contains("Mb/s"),
            "{message}"
        );
        let message = error("[forward]\nspeed = 8\n");
        assert!(message.contains("speed"), "{message}");
        let message = error("[reverse]\ndiscipline = { red = { min = 9, max = 3 } }\n");
        assert_eq!(message, "reverse: RED: max must be above min");
        for (nonsense, why) in [
            ("queue = { packets = 0 }", "queue: packets is 0"),
            ("queue = { time = \"0s\" }", "queue: time is 0"),
            ("queue = { size = \"1499B\" }", "queue: size is 1499B"),
            ("loss = { every = 0 }", "loss: every is 0"),
            (
                "discipline = { fq-codel = { queues = 0 } }",
                "FQ-CoDel: queues is 0",
            ),
            (
                "discipline = { pie = { update = \"0s\" } }",
                "PIE: update must be at least 1ms",
            ),
        ] {
            let message = error(&format!("[forward]\n{nonsense}\n"));
            let begins = format!("forward: {why}");
            assert!(
                message.starts_with(&begins) && message.contains("give "),
                "{message}"
            );
        }
    }
}
