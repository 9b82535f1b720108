//! The changes of a link over time, as a file.
//!
//! A line of `time, rate, delay, loss` is for the way from A to B, and its delays hold both ways. A line of `time, MESSAGE` changes
//! whatever else a [`control`](crate::control) message can change.
//!
//! ```text
//! 0, 8M, 20ms
//! 30s, {"both": {"discipline": {"codel": {}}}}
//! 60s, {"forward": {"loss": {"every": 100}}}
//! ```

use evenkeel_link::Schedule;
use evenkeel_net::{Direction, LinkChange};
use tfrc::time::Duration;

use crate::control::Request;

/// What a file says.
#[derive(Debug, Default, PartialEq)]
pub struct ScheduleFile {
    /// Its lines of four fields.
    pub schedule: Schedule,
    /// Its messages, in the order of their times.
    pub messages: Vec<Message>,
}

/// A message, and how long after the start it is meant for.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// From the start.
    pub at: Duration,
    /// What it changes.
    pub changes: Vec<(Direction, LinkChange)>,
}

impl ScheduleFile {
    /// Reads a file; else says which line is wrong, and how.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut messages: Vec<Message> = Vec::new();
        let mut fields = String::new();
        for (index, line) in text.lines().enumerate() {
            match line.split_once(',') {
                Some((time, message)) if message.trim_start().starts_with('{') => {
                    let wrong = |why: String| format!("line {}: {why}", index + 1);
                    let at = time_of(time).ok_or_else(|| {
                        wrong("time is not seconds, as in 12.5 or 500ms".to_owned())
                    })?;
                    if messages.last().is_some_and(|last| at < last.at) {
                        return Err(wrong(
                            "time is earlier than that of the message before".to_owned(),
                        ));
                    }
                    let Request::Change(changes) = Request::read(message.trim()).map_err(wrong)?
                    else {
                        return Err(wrong("it changes nothing".to_owned()));
                    };
                    messages.push(Message { at, changes });
                }
                _ => fields.push_str(line),
            }
            // Line numbers stay as they are.
            fields.push('\n');
        }
        let schedule = Schedule::parse(&fields).map_err(|error| error.to_string())?;
        Ok(Self { schedule, messages })
    }
}

/// As the other lines have it.
fn time_of(field: &str) -> Option<Duration> {
    let line = Schedule::parse(field).ok()?;
    line.changes().first().map(|change| change.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::Loss;

    #[test]
    fn what_four_fields_cannot_say_a_message_says() {
        let file = ScheduleFile::read(
            "0, 8M, 20ms\n\n500ms, {\"reverse\": {\"loss\": {\"every\": 100}}}\n30, 2M # later\n\
             40s, {\"both\": {\"queue\": {\"packets\": 9}}}",
        )
        .unwrap();
        let times: Vec<_> = file
            .schedule
            .changes()
            .iter()
            .map(|change| change.at)
            .collect();
        assert_eq!(times, [Duration::ZERO, Duration::from_secs(30)]);
        let [first, second] = &file.messages[..] else {
            panic!("{:?}", file.messages);
        };
        assert_eq!(first.at, Duration::from_millis(500));
        let loss = LinkChange::Loss(Loss::Periodic(100));
        assert_eq!(first.changes, [(Direction::Reverse, loss)]);
        assert_eq!(
            (second.at, second.changes.len()),
            (Duration::from_secs(40), 2)
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line, why) in [
            ("0, 8M\n5, {\"both\": {\"speed\": 3}}", 2, "speed"),
            (
                "5, {\"both\": {\"rate\": \"1Mb/s\"}}\n\n4, {\"both\": {\"rate\": \"1Mb/s\"}}",
                3,
                "earlier",
            ),
            ("soon, {\"both\": {\"rate\": \"1Mb/s\"}}", 1, "time"),
            (", {\"both\": {\"rate\": \"1Mb/s\"}}", 1, "time"),
            ("5, {\"both\": {}}\n", 1, "no change"),
            ("0, {\"both\": {\"rate\": \"1Mb/s\"}}\n1, fast", 2, "rate"),
        ] {
            let message = ScheduleFile::read(text).unwrap_err();
            assert!(
                message.starts_with(&format!("line {line}: ")) && message.contains(why),
                "{message}"
            );
        }
    }
}
