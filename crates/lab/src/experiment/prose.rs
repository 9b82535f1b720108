//! Text that quotes what the run measured, so that it cannot outlive its measurement.

use serde::Deserialize;

/// `{metric}` in it stands for the value of that metric, and `{metric ±}` for its value with its confidence
/// interval; `{{` and `}}` stand for braces.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Prose(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Said(String),
    Quoted(Quote),
}

/// A metric in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Its name.
    pub metric: String,
    /// It is told how sure the value is.
    pub with_interval: bool,
}

impl Prose {
    /// The metrics that it quotes.
    pub fn quoted(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Said(_) => None,
            Piece::Quoted(quote) => Some(quote.metric.as_str()),
        })
    }

    /// The text with what stands for each quote in its place.
    pub fn fill_in(&self, value: impl Fn(&Quote) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Said(text) => text.clone(),
            Piece::Quoted(quote) => value(quote),
        });
        pieces.collect()
    }
}

impl TryFrom<String> for Prose {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "a text quotes metrics as {metric} or {metric ±}, and has no other braces but {{ and }}";
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (said, behind) = rest.split_at(at);
            pieces.push(Piece::Said(said.to_owned()));
            let (brace, behind) = behind.split_at(1);
            if let Some(behind) = behind.strip_prefix(brace) {
                pieces.push(Piece::Said(brace.to_owned()));
                rest = behind;
                continue;
            }
            let quote = behind.split_once('}').filter(|_| brace == "{");
            let (quote, behind) = quote.ok_or(WRONG)?;
            let metric = quote.strip_suffix(" ±").unwrap_or(quote);
            if metric.contains(['{', ' ']) {
                return Err(WRONG);
            }
            pieces.push(Piece::Quoted(Quote {
                metric: metric.to_owned(),
                with_interval: metric != quote,
            }));
            rest = behind;
        }
        pieces.push(Piece::Said(rest.to_owned()));
        Ok(Self(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Result<Prose, &'static str> {
        Prose::try_from(text.to_owned())
    }

    #[test]
    fn a_text_quotes_metrics_and_has_braces_where_they_are_doubled() {
        let prose = prose("{a} of {b ±}, {{c={{d}}}}.").unwrap();
        assert_eq!(prose.quoted().collect::<Vec<_>>(), ["a", "b"]);
        let fill_in = prose.fill_in(|quote| format!("{} {}", quote.metric, quote.with_interval));
        assert_eq!(fill_in, "a false of b true, {c={d}}.");
    }

    #[test]
    fn a_brace_that_is_not_closed_and_a_quote_of_several_words_are_refused() {
        for wrong in ["{a", "a}", "{a}}", "{a {b}", "{a = b}", "{a b ±}"] {
            assert!(prose(wrong).is_err(), "{wrong}");
        }
        assert_eq!(prose("no braces").unwrap().quoted().count(), 0);
    }
}
