//! Which of the names that exist was meant by one that does not.

/// The name that differs least, if it is like it at all; of equals the first.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.into_iter().map(|name| (distance(wanted, name), name));
    let (changes, name) = distances.min_by_key(|(changes, _)| *changes)?;
    // More than half of it changed is another word.
    (2 * changes <= wanted.chars().count()).then_some(name)
}

/// How many letters must be put in, taken out or replaced (Levenshtein, 1965).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_that_of_the_fewest_changes() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("fig6", "fig06"), 1);
    }

    #[test]
    fn only_what_is_alike_is_suggested() {
        let names = ["sigcomm-fig06", "sigcomm-fig09", "thesis-fig5-3"];
        assert_eq!(nearest("sigcomm-fig6", names), Some("sigcomm-fig06"));
        assert_eq!(nearest("thesis-5-3", names), Some("thesis-fig5-3"));
        assert_eq!(nearest("vod", names), None);
        assert_eq!(nearest("vod", []), None);
    }
}
