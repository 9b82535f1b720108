//! Finds the place of a key or value in an experiment file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key of the file, perhaps of one element of a list only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) key: &'static str,
    /// The list, and which of its elements from 0.
    pub(super) inside: Option<(&'static str, usize)>,
}

impl Place {
    /// The first such key.
    pub(super) fn of(key: &'static str) -> Self {
        Self { key, inside: None }
    }

    /// The key of an element.
    pub(super) fn inside(self, list: &'static str, index: usize) -> Self {
        Self {
            inside: Some((list, index)),
            ..self
        }
    }

    /// Where it is in the text: the key, or what it should be in, or the beginning.
    pub(super) fn find(self, text: &str) -> usize {
        let Ok(root) = DeTable::parse(text) else {
            return 0;
        };
        let root = root.get_ref();
        let Some((list, index)) = self.inside else {
            return entry(root, self.key).map_or(0, |(at, _)| at.start);
        };
        let Some((list, elements)) = entry(root, list) else {
            return 0;
        };
        let elements = elements.get_ref().as_array();
        let Some(element) = elements.and_then(|elements| elements.get(index)) else {
            return list.start;
        };
        let key = element.get_ref().as_table();
        let key = key.and_then(|table| entry(table, self.key));
        key.map_or(element.span().start, |(at, _)| at.start)
    }
}

/// A key of this table, else of one within it.
fn entry<'a, 'i>(
    table: &'a DeTable<'i>,
    key: &str,
) -> Option<(Range<usize>, &'a Spanned<DeValue<'i>>)> {
    let own = table.iter().find(|(name, _)| name.get_ref() == key);
    if let Some((name, value)) = own {
        return Some((name.span(), value));
    }
    table.iter().find_map(|(_, value)| within(value, key))
}

fn within<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    key: &str,
) -> Option<(Range<usize>, &'a Spanned<DeValue<'i>>)> {
    match value.get_ref() {
        DeValue::Table(table) => entry(table, key),
        DeValue::Array(array) => array.iter().find_map(|value| within(value, key)),
        _ => None,
    }
}

/// The innermost key that this part of the text is, or is in the value of; none if it is no part.
pub(super) fn key_of(text: &str, part: &Range<usize>) -> Option<String> {
    if part.is_empty() {
        return None;
    }
    let root = DeTable::parse(text).ok()?;
    innermost(root.get_ref(), part)
}

fn innermost(table: &DeTable<'_>, part: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let mut around = [name.span(), value.span()].into_iter();
        let is_here = around.any(|span| span.start <= part.start && part.end <= span.end);
        let key = || is_here.then(|| name.get_ref().to_string());
        below(value, part).or_else(key)
    })
}

fn below(value: &Spanned<DeValue<'_>>, part: &Range<usize>) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => innermost(table, part),
        DeValue::Array(array) => array.iter().find_map(|value| below(value, part)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"notes = "max = 5"
[scenario.kind]
max_p = 0.1
case = [
  { rate = 1, queue = { max = 5 } },
  { rate = 2, queue = { max = 6 } },
]
[[panel]]
x = "a"
[[panel]]
x = "b"
"#;

    fn line(at: usize) -> usize {
        1 + TEXT[..at].matches('\n').count()
    }

    #[test]
    fn a_key_is_found_in_the_element_that_is_meant() {
        let find = |place: Place| line(place.find(TEXT));
        assert_eq!(find(Place::of("max")), 5);
        assert_eq!(find(Place::of("max").inside("case", 0)), 5);
        assert_eq!(find(Place::of("max").inside("case", 1)), 6);
        assert_eq!(find(Place::of("x").inside("panel", 1)), 11);
    }

    #[test]
    fn a_key_that_is_missing_is_looked_for_where_it_should_be() {
        let find = |place: Place| line(place.find(TEXT));
        assert_eq!(find(Place::of("rtt").inside("case", 1)), 6);
        assert_eq!(find(Place::of("rtt").inside("case", 2)), 4);
        assert_eq!(find(Place::of("rtt").inside("group", 0)), 1);
        assert_eq!(find(Place::of("rtt")), 1);
        assert_eq!(Place::of("max").find("max = "), 0);
    }

    #[test]
    fn the_innermost_key_is_told() {
        let key = |part: &str| {
            let at = TEXT.find(part).unwrap();
            key_of(TEXT, &(at..at + part.len()))
        };
        assert_eq!(key("6").as_deref(), Some("max"));
        assert_eq!(key("{ max = 6 }").as_deref(), Some("queue"));
        assert_eq!(key("{ rate = 2").as_deref(), Some("case"));
        assert_eq!(key("0.1").as_deref(), Some("max_p"));
        assert_eq!(key("max_p").as_deref(), Some("max_p"));
        assert_eq!(key(TEXT), None);
        assert_eq!(key_of("a = ", &(0..1)), None);
    }
}
