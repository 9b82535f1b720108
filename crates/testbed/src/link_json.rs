//! Queue, discipline and loss of a link as JSON of a [`control`](crate::control) message.
//!
//! A snapshot carries these values in the form in which a message sets them, so they can be sent back as they are.

use evenkeel_link::{CoDelConfig, Discipline, Loss, QueueLimit};
use serde_json::{Value, json};
use tfrc::time::Duration;
use tfrc::units::Bytes;

/// `{"packets": 20}`.
pub(crate) fn queue(limit: QueueLimit) -> Value {
    match limit {
        QueueLimit::Packets(packets) => json!({ "packets": packets }),
        QueueLimit::Bytes(bytes) => json!({ "size": size(bytes) }),
        QueueLimit::Time(limit) => json!({ "time": time(limit) }),
    }
}

/// `"drop-tail"`, `{"red": {"min": 5, …}}`.
pub(crate) fn discipline(discipline: Discipline) -> Value {
    match discipline {
        Discipline::DropTail => json!("drop-tail"),
        Discipline::Red(red) => json!({ "red": {
            "min": red.min,
            "max": red.max,
            "max_p": red.max_p,
            "weight": red.weight,
            "gentle": red.gentle,
            "ecn": red.ecn,
        } }),
        Discipline::CoDel(config) => json!({ "codel": codel(config) }),
        Discipline::FqCoDel(config) => {
            let mut table = codel(config.codel);
            table["quantum"] = size(config.quantum).into();
            table["queues"] = config.queues.into();
            json!({ "fq-codel": table })
        }
        Discipline::Pie(pie) => json!({ "pie": {
            "target": time(pie.target),
            "update": time(pie.update),
            "burst": time(pie.burst),
            "ecn": pie.ecn,
        } }),
    }
}

/// `"none"`, `{"random": "1%"}`.
pub(crate) fn loss(loss: Loss) -> Value {
    match loss {
        Loss::None => json!("none"),
        Loss::Bernoulli(probability) => json!({ "random": share(probability) }),
        Loss::Periodic(count) => json!({ "every": count }),
        Loss::GilbertElliott(model) => json!({ "gilbert-elliott": {
            "to_bad": share(model.to_bad),
            "to_good": share(model.to_good),
            "good_loss": share(model.good_loss),
            "bad_loss": share(model.bad_loss),
        } }),
        Loss::Policer(policer) => json!({ "policer": {
            "rate": format!("{}b/s", policer.rate.bits_per_sec()),
            "burst": size(policer.burst),
        } }),
    }
}

fn codel(config: CoDelConfig) -> Value {
    json!({
        "target": time(config.target),
        "interval": time(config.interval),
        "ecn": config.ecn,
    })
}

fn time(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

fn size(size: Bytes) -> String {
    format!("{}B", size.get())
}

fn share(share: f64) -> String {
    format!("{}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Request;
    use crate::link_table::LinkFile;
    use evenkeel_net::{Direction, LinkChange};

    #[test]
    fn what_is_told_of_a_link_can_be_sent_to_one() {
        for text in [
            "queue = { packets = 9 }",
            "queue = { size = \"30kB\" }\ndiscipline = { red = { min = 5, max = 15, max_p = 0.2, gentle = false, ecn = true } }",
            "queue = { time = \"50ms\" }\ndiscipline = { codel = { target = \"7ms\" } }\nloss = { random = \"1%\" }",
            "discipline = { fq-codel = { queues = 16, quantum = \"300B\", ecn = true } }\nloss = { every = 100 }",
            "discipline = { pie = { burst = \"100ms\" } }\nloss = { gilbert-elliott = { to_bad = \"1%\", to_good = \"20%\", good_loss = \"0%\", bad_loss = \"50%\" } }",
        ] {
            let [_, link] = LinkFile::read(&format!("[reverse]\n{text}")).unwrap();
            let request = json!({ "reverse": {
                "queue": queue(link.queue),
                "discipline": discipline(link.discipline),
                "loss": loss(link.loss),
            } });
            let wanted = [
                LinkChange::Queue(link.queue),
                LinkChange::Discipline(link.discipline),
                LinkChange::Loss(link.loss),
            ];
            let wanted = wanted.map(|change| (Direction::Reverse, change)).into();
            assert_eq!(
                Request::read(&request.to_string()),
                Ok(Request::Change(wanted))
            );
        }
    }
}
