//! Parses `--queue`: a limit, or a discipline with its settings.

use evenkeel_link::{
    CoDelConfig, Discipline, FqCoDelConfig, PieConfig, QueueLimit, RedConfig, RedUnit,
};
use tfrc::time::Duration;
use tfrc::units::Bytes;

use crate::units;

/// The queue of an emulated link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkQueue {
    /// The limit of the waiting packets.
    pub(crate) limit: QueueLimit,
    /// The discipline that chooses the waiting packets.
    pub(crate) discipline: Discipline,
}

/// The default limit of CoDel and PIE, which exceeds any queue that they permit for long.
const PACKET_LIMIT: QueueLimit = QueueLimit::Packets(1_000);
/// The default limit of FQ-CoDel, over all flows (RFC 8290 §5.2.3).
const FQ_CODEL_PACKET_LIMIT: QueueLimit = QueueLimit::Packets(10_240);

/// Parses a queue: `50ms`, `30kB` or `20p` as in [`units::queue`], or `red:min=5,max=15`, `codel:ecn`, `fq_codel`,
/// `pie:target=20ms,limit=100p`.
pub(crate) fn queue(text: &str) -> Result<LinkQueue, String> {
    let (name, settings) = match text.trim().split_once(':') {
        Some((name, settings)) => (name, settings.split(',').collect()),
        None => (text.trim(), Vec::new()),
    };
    let queue = match name {
        "red" => red(&settings)?,
        "codel" => codel(&settings)?,
        "fq_codel" => fq_codel(&settings)?,
        "pie" => pie(&settings)?,
        _ if text.contains(':') || name.starts_with(char::is_alphabetic) => {
            return Err(format!(
                "{name}: no such discipline: write red, codel, fq_codel or pie, with settings as in \
                 codel:ecn,limit=100p, or the limit of a drop-tail queue alone, such as 50ms"
            ));
        }
        limit => {
            return Ok(LinkQueue {
                limit: units::queue(limit)?,
                discipline: Discipline::DropTail,
            });
        }
    };
    match queue.discipline.problem() {
        Some(problem) => Err(problem.to_owned()),
        None => Ok(queue),
    }
}

fn red(settings: &[&str]) -> Result<LinkQueue, String> {
    let (mut min, mut max) = (None, None);
    let mut config = RedConfig::between(0.0, 0.0);
    let names = "min, max, max_p, weight, gentle, ecn, bytes, mean_packet";
    let limit = set_all(settings, PACKET_LIMIT, names, |key, value| {
        match key {
            "min" => min = Some(number(key, value)?),
            "max" => max = Some(number(key, value)?),
            "max_p" => config.max_p = named(key, units::loss(value))?,
            "weight" => config.weight = number(key, value)?,
            "gentle" => config.gentle = yes(key, value)?,
            "ecn" => config.ecn = yes(key, value)?,
            "bytes" if yes(key, value)? => config.unit = RedUnit::Bytes,
            "bytes" => config.unit = RedUnit::Packets,
            "mean_packet" => config.mean_packet = size(key, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let (Some(min), Some(max)) = (min, max) else {
        return Err(
            "red needs min and max, the average in packets from which it drops some and \
                    all: write red:min=5,max=15"
                .to_owned(),
        );
    };
    let discipline = Discipline::Red(RedConfig { min, max, ..config });
    Ok(LinkQueue { limit, discipline })
}

fn codel(settings: &[&str]) -> Result<LinkQueue, String> {
    let mut config = CoDelConfig::default();
    let names = "target, interval, ecn";
    let limit = set_all(settings, PACKET_LIMIT, names, |key, value| {
        set_codel(&mut config, key, value)
    })?;
    let discipline = Discipline::CoDel(config);
    Ok(LinkQueue { limit, discipline })
}

fn fq_codel(settings: &[&str]) -> Result<LinkQueue, String> {
    let mut config = FqCoDelConfig::default();
    let names = "target, interval, ecn, quantum, queues";
    let limit = set_all(settings, FQ_CODEL_PACKET_LIMIT, names, |key, value| {
        match key {
            "quantum" => config.quantum = size(key, value)?,
            "queues" => {
                let queues = value.parse().ok().filter(|queues| *queues > 0);
                config.queues = queues.ok_or("queues: write a number from 1 to 65535")?;
            }
            _ => return set_codel(&mut config.codel, key, value),
        }
        Ok(true)
    })?;
    let discipline = Discipline::FqCoDel(config);
    Ok(LinkQueue { limit, discipline })
}

fn pie(settings: &[&str]) -> Result<LinkQueue, String> {
    let mut config = PieConfig::default();
    let names = "target, update, burst, ecn";
    let limit = set_all(settings, PACKET_LIMIT, names, |key, value| {
        match key {
            "target" => config.target = time(key, value)?,
            "update" => config.update = time(key, value)?,
            "burst" => config.burst = named(key, units::delay(value))?,
            "ecn" => config.ecn = yes(key, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let discipline = Discipline::Pie(config);
    Ok(LinkQueue { limit, discipline })
}

/// Applies each setting with `set`, which returns false for a name that the discipline does not have. Returns the
/// limit of the queue, which every discipline has.
fn set_all(
    settings: &[&str],
    mut limit: QueueLimit,
    names: &str,
    mut set: impl FnMut(&str, &str) -> Result<bool, String>,
) -> Result<QueueLimit, String> {
    for setting in settings {
        // A name without a value means yes.
        let (key, value) = setting.split_once('=').unwrap_or((setting, "yes"));
        let (key, value) = (key.trim(), value.trim());
        if key == "limit" {
            limit = named(key, units::queue(value))?;
        } else if !set(key, value)? {
            return Err(format!("{key}: no such setting: there are {names}, limit"));
        }
    }
    Ok(limit)
}

/// Applies a setting of CoDel, alone or of each flow; returns false if it has no such setting.
fn set_codel(config: &mut CoDelConfig, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "target" => config.target = time(key, value)?,
        "interval" => config.interval = time(key, value)?,
        "ecn" => config.ecn = yes(key, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn named<T>(key: &str, read: Result<T, String>) -> Result<T, String> {
    read.map_err(|wrong| format!("{key}: {wrong}"))
}

fn yes(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{key}: write {key}=yes or {key}=no")),
    }
}

fn number(key: &str, value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|n| n.is_finite());
    number.ok_or_else(|| format!("{key}: not a number: {value:?}"))
}

/// Parses at least 1 ms: a shorter interval would be computed more often than packets arrive.
fn time(key: &str, value: &str) -> Result<Duration, String> {
    let time = named(key, units::delay(value))?;
    if time < Duration::from_millis(1) {
        return Err(format!("{key}: out of range: at least 1ms"));
    }
    Ok(time)
}

/// Parses the size of a packet.
fn size(key: &str, value: &str) -> Result<Bytes, String> {
    let bytes = value.trim_end_matches('B').parse::<u64>().ok();
    let bytes = bytes.filter(|bytes| (1..=65_535).contains(bytes));
    let bytes = bytes.ok_or_else(|| format!("{key}: write a size from 1B to 65535B"))?;
    Ok(Bytes::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_alone_is_a_drop_tail_queue() {
        let limit = QueueLimit::Time(Duration::from_millis(50));
        let discipline = Discipline::DropTail;
        assert_eq!(queue("50ms"), Ok(LinkQueue { limit, discipline }));
        assert_eq!(queue("20p").unwrap().limit, QueueLimit::Packets(20));
    }

    #[test]
    fn a_discipline_takes_its_settings() {
        let expected = RedConfig {
            max_p: 0.02,
            gentle: false,
            ecn: true,
            unit: RedUnit::Bytes,
            ..RedConfig::between(5.0, 15.0)
        };
        assert_eq!(
            queue("red:min=5,max=15,max_p=2%,gentle=no,ecn,bytes,limit=60p"),
            Ok(LinkQueue {
                limit: QueueLimit::Packets(60),
                discipline: Discipline::Red(expected),
            })
        );
        let codel = |text: &str| match queue(text).unwrap().discipline {
            Discipline::CoDel(codel) | Discipline::FqCoDel(FqCoDelConfig { codel, .. }) => codel,
            other => panic!("{other:?}"),
        };
        assert_eq!(codel("codel"), CoDelConfig::default());
        assert_eq!(codel("codel:target=10ms").target.as_millis(), 10);
        assert!(codel("fq_codel:interval=30ms,quantum=300B,queues=8,ecn").ecn);
        let fq_codel = queue("fq_codel").unwrap();
        assert_eq!(fq_codel.limit, QueueLimit::Packets(10_240));
        let pie = queue("pie:target=20ms,update=30ms,burst=0,ecn=no,limit=100ms").unwrap();
        assert_eq!(pie.limit, QueueLimit::Time(Duration::from_millis(100)));
    }

    #[test]
    fn error_names_the_setting_and_its_remedy() {
        for (text, message) in [
            ("lifo", "lifo: no such discipline: write red, codel"),
            ("codl:ecn", "codl: no such discipline"),
            ("red", "red needs min and max"),
            ("red:min=5", "red needs min and max"),
            ("red:min=15,max=5", "RED: max must be above min"),
            ("red:min=5,max=15,max_p=0", "RED: max_p must be above 0"),
            ("red:min=five,max=15", "min: not a number: \"five\""),
            (
                "red:min=5,max=15,gentle=maybe",
                "gentle: write gentle=yes or",
            ),
            ("codel:interval=0", "interval: out of range: at least 1ms"),
            ("codel:min=5", "min: no such setting: there are target"),
            ("codel:", ": no such setting"),
            ("fq_codel:queues=0", "queues: write a number from 1"),
            ("fq_codel:quantum=0", "quantum: write a size from 1B"),
            ("pie:target=10Mb", "target: not a time"),
            ("pie:limit=0p", "limit: out of range: a queue holds"),
            ("pie:burst=-1", "burst: out of range"),
            ("0ms", "out of range: a queue lasts"),
        ] {
            match queue(text) {
                Err(error) => assert!(error.contains(message), "{text}: {error}"),
                Ok(queue) => panic!("{text}: {queue:?}"),
            }
        }
    }
}
