//! A question of a paper, with an answer that quotes what the run measured.

use serde::Deserialize;

/// A question and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// As the paper puts it, in our words.
    pub asked: String,
    /// What was found. `{metric}` stands for the value of that metric, so that no answer can outlive
    /// its measurement.
    pub answer: String,
}

impl Question {
    /// Every name in braces must be closed.
    pub(super) fn verify(&self) -> Result<(), &'static str> {
        let pieces = self.answer.split('{').enumerate();
        let mut closings = pieces.map(|(index, piece)| (index, piece.matches('}').count()));
        if closings.all(|(index, count)| count == usize::from(index > 0)) {
            Ok(())
        } else {
            Err("an answer quotes metrics as {metric}, and has no other braces")
        }
    }

    /// The metrics that the answer quotes.
    pub fn quoted(&self) -> impl Iterator<Item = &str> {
        let named = self.answer.split('{').skip(1);
        named.filter_map(|piece| piece.split_once('}').map(|(name, _)| name))
    }

    /// The answer with each metric's value in its place.
    pub fn answered(&self, value: impl Fn(&str) -> String) -> String {
        let mut pieces = self.answer.split('{');
        let mut told = pieces.next().unwrap_or_default().to_owned();
        for (name, rest) in pieces.filter_map(|piece| piece.split_once('}')) {
            told += &value(name);
            told += rest;
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(answer: &str) -> Question {
        Question {
            asked: "?".to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn an_answer_quotes_metrics() {
        let question = question("{a} of {b}.");
        assert_eq!(question.verify(), Ok(()));
        assert_eq!(question.quoted().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(question.answered(str::to_uppercase), "A of B.");
    }

    #[test]
    fn a_brace_that_is_not_closed_is_refused() {
        for wrong in ["{a", "a}", "{a}}", "{a {b}"] {
            assert!(question(wrong).verify().is_err(), "{wrong}");
        }
        assert_eq!(question("no braces").verify(), Ok(()));
    }
}
