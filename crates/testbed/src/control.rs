//! Changing an emulator while it runs: a line of JSON in, a line of JSON out.
//!
//! ```text
//! {"forward": {"rate": "2Mb/s", "loss": {"random": "1%"}}}      {"ok":true}
//! {"both": {"delay": "80ms"}}                                    {"ok":true}
//! {"both": {"discipline": {"red": {"min": 5, "max": 15}}}}       {"ok":true}
//! {"reverse": {"speed": 3}}                                      {"error":"unknown field `speed`, …"}
//! "snapshot"                                                     {"forward":{…},"reverse":{…}}
//! ```
//!
//! A message is read as a whole before any of it is done, so one that is wrong changes nothing; all of one is done
//! before the next packet is.

use evenkeel_lab::units::{BitRate, Time};
use evenkeel_link::Schedule;
use evenkeel_net::{Direction, LinkChange, LinkSnapshot};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use crate::link_json;
use crate::link_table::{DisciplineTable, LossTable, QueueTable};

/// What a message asks for.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// These changes, in this order.
    Change(Vec<(Direction, LinkChange)>),
    /// What the emulator is now.
    Snapshot,
}

/// As it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    Snapshot,
    Forward(Changes),
    Reverse(Changes),
    Both(Changes),
}

/// What may change in a link that runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Changes {
    rate: Option<BitRate>,
    delay: Option<Time>,
    queue: Option<QueueTable>,
    /// It takes over what waits.
    discipline: Option<DisciplineTable>,
    loss: Option<LossTable>,
    /// Lines of `time, rate, delay, loss`, counted from now.
    schedule: Option<Text>,
}

/// A schedule's text.
#[derive(Debug)]
struct Text(Schedule);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Schedule::parse(&text)
            .map(Self)
            .map_err(|error| de::Error::custom(format!("schedule: {error}")))
    }
}

impl Request {
    /// Reads one message; else says what is wrong with it.
    pub fn read(line: &str) -> Result<Self, String> {
        let message = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let (directions, changes): (&[Direction], Changes) = match message {
            Message::Snapshot => return Ok(Self::Snapshot),
            Message::Forward(changes) => (&[Direction::Forward], changes),
            Message::Reverse(changes) => (&[Direction::Reverse], changes),
            Message::Both(changes) => (&Direction::BOTH, changes),
        };
        let changes = changes.list()?;
        if changes.is_empty() {
            return Err("no change: give rate, delay, queue, discipline, loss or schedule".into());
        }
        let each = |direction: &Direction| {
            let direction = *direction;
            let changes = changes.iter().cloned();
            changes.map(move |change| (direction, change))
        };
        Ok(Self::Change(directions.iter().flat_map(each).collect()))
    }
}

impl Changes {
    fn list(self) -> Result<Vec<LinkChange>, String> {
        let discipline = self.discipline.map(DisciplineTable::discipline);
        let queue = self.queue.map(QueueTable::limit);
        let loss = self.loss.map(LossTable::loss);
        let all = [
            self.rate.map(|rate| LinkChange::Rate(rate.0)),
            self.delay.map(|delay| LinkChange::Delay(delay.0)),
            queue.transpose()?.map(LinkChange::Queue),
            discipline.transpose()?.map(LinkChange::Discipline),
            loss.transpose()?.map(LinkChange::Loss),
            self.schedule.map(|text| LinkChange::Schedule(text.0)),
        ];
        Ok(all.into_iter().flatten().collect())
    }
}

/// The answer to a message that was done.
pub fn done() -> String {
    json!({ "ok": true }).to_string()
}

/// The answer to a message that was not.
pub fn refused(why: &str) -> String {
    json!({ "error": why }).to_string()
}

/// A link, for an answer or a report.
pub fn link(link: &LinkSnapshot) -> Value {
    let counters = &link.counters;
    // JSON has no infinity: an unlimited rate is null.
    let rate = link.rate.bits_per_sec();
    json!({
        "rate_bps": rate.is_finite().then_some(rate),
        "delay_s": link.delay.as_secs_f64(),
        "queue": link_json::queue(link.queue),
        "discipline": link_json::discipline(link.discipline),
        "loss": link_json::loss(link.loss),
        "queue_bytes": link.queue_bytes.get(),
        "queue_delay_s": link.queue_delay.as_secs_f64(),
        "received": counters.received.packets,
        "received_bytes": counters.received.bytes.get(),
        "delivered": counters.delivered.packets,
        "delivered_bytes": counters.delivered.bytes.get(),
        "lost": counters.lost.packets,
        "dropped": counters.dropped.packets,
        "marked": counters.marked.packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::{Discipline, Loss, QueueLimit};
    use tfrc::time::Duration;
    use tfrc::units::Rate;

    #[test]
    fn a_message_may_change_several_things_one_way_or_both() {
        let line = r#"{"forward": {"rate": "2Mb/s", "loss": {"random": "1%"}}}"#;
        let to = Direction::Forward;
        let expected = [
            (to, LinkChange::Rate(Rate::from_bits_per_sec(2e6))),
            (to, LinkChange::Loss(Loss::Bernoulli(0.01))),
        ];
        assert_eq!(Request::read(line), Ok(Request::Change(expected.into())));
        let line = r#"{"both": {"queue": {"packets": 9}}}"#;
        let change = LinkChange::Queue(QueueLimit::Packets(9));
        let expected = Direction::BOTH.map(|to| (to, change.clone()));
        assert_eq!(Request::read(line), Ok(Request::Change(expected.into())));
        let line = r#"{"reverse": {"discipline": "drop-tail"}}"#;
        let expected = [(
            Direction::Reverse,
            LinkChange::Discipline(Discipline::DropTail),
        )];
        assert_eq!(Request::read(line), Ok(Request::Change(expected.into())));
        assert_eq!(Request::read(r#""snapshot""#), Ok(Request::Snapshot));
    }

    #[test]
    fn a_schedule_comes_as_text() {
        let line = r#"{"forward": {"schedule": "0, 8M\n5, 2M, 40ms"}}"#;
        let Ok(Request::Change(changes)) = Request::read(line) else {
            panic!("refused");
        };
        let LinkChange::Schedule(schedule) = &changes[0].1 else {
            panic!("no schedule");
        };
        assert_eq!(schedule.changes()[1].delay, Some(Duration::from_millis(40)));
    }

    #[test]
    fn a_wrong_message_is_refused_whole_and_told_why() {
        let message = |line: &str| Request::read(line).unwrap_err();
        let unit = message(r#"{"forward": {"delay": "9ms", "rate": 5}}"#);
        assert!(unit.contains("Mb/s"), "{unit}");
        let unknown = message(r#"{"reverse": {"speed": 3}}"#);
        assert!(
            unknown.contains("speed") && unknown.contains("rate"),
            "{unknown}"
        );
        let red =
            message(r#"{"both": {"rate": "2Mb/s", "discipline": {"red": {"min": 9, "max": 5}}}}"#);
        assert!(red.contains("RED: max must be above min"), "{red}");
        let empty = message(r#"{"both": {"rate": "2Mb/s", "queue": {"packets": 0}}}"#);
        assert!(empty.contains("queue: packets is 0"), "{empty}");
        let small = message(r#"{"both": {"queue": {"size": "1B"}}}"#);
        assert_eq!(
            small,
            "queue: size is 1B, which holds no packet: give at least 1500B"
        );
        let every = message(r#"{"both": {"loss": {"every": 0}}}"#);
        assert!(every.contains("loss: every is 0"), "{every}");
        assert!(message("{}").contains("line 1"));
        assert!(message(r#"{"both": {}}"#).contains("no change"));
        let schedule = message(r#"{"both": {"schedule": "x"}}"#);
        assert!(schedule.contains("schedule: line 1: time"), "{schedule}");
    }
}
