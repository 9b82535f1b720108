//! Replaces secrets in the words of a command line before anybody else can read them.

use evenkeel_secure::invitation::Invitation;

/// The option whose value is a secret, whatever it looks like.
const TOKEN_OPTION: &str = "--token";

/// Returns the words of a command line as [`redacted`] does, and without the value of `--token`.
pub(crate) fn redacted_words(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_token = false;
    let redact = |word: String| {
        let was_token = is_token;
        is_token = word == TOKEN_OPTION;
        if was_token {
            "TOKEN".into()
        } else {
            redacted(&word)
        }
    };
    words.map(redact).collect()
}

/// Returns the word with names in place of an invitation and of passwords.
///
/// An invitation lets anyone join, and a repeated command could not use it a second time. Nothing that follows the user of a
/// TURN server is kept, because a password may contain any character.
pub(crate) fn redacted(word: &str) -> String {
    let (option, value) = match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (&word[..=option.len()], value),
        _ => ("", word),
    };
    if option.strip_suffix('=') == Some(TOKEN_OPTION) {
        return format!("{option}TOKEN");
    }
    format!("{option}{}", redacted_value(value))
}

fn redacted_value(value: &str) -> String {
    if Invitation::is_meant_by(value) {
        return "INVITATION".into();
    }
    if let Some(rest) = value.strip_prefix("turn:") {
        let user = rest.split(':').next().filter(|user| *user != rest);
        return format!("turn:{}:PASSWORD@HOST", user.unwrap_or("USER"));
    }
    let Some((scheme, rest)) = value.split_once("://") else {
        return value.into();
    };
    let (user, rest) = match rest.split_once(':') {
        Some((user, rest)) if rest.contains('@') => {
            let (_, host) = rest.rsplit_once('@').unwrap_or_default();
            (format!("{user}:PASSWORD@"), host)
        }
        _ => (String::new(), rest),
    };
    // Servers take keys in the query.
    let (place, query) = rest
        .split_once('?')
        .map_or((rest, ""), |(place, _)| (place, "?QUERY"));
    format!("{scheme}://{user}{place}{query}")
}

/// Returns a text about a command line with the secrets of these words replaced.
pub(crate) fn without_secrets(text: &str, words: impl Iterator<Item = String>) -> String {
    words.fold(text.to_owned(), |text, word| {
        let (_, value) = word.split_once('=').unwrap_or(("", &word));
        let text = match redacted(&word) {
            safe if safe == word => text,
            safe => text.replace(&word, &safe),
        };
        match redacted_value(value) {
            safe if safe == value => text,
            safe => text.replace(value, &safe),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_token_is_replaced() {
        let words = [
            "send",
            "--token",
            "abc",
            "--token=abc",
            "--whip",
            "http://host",
        ];
        let redacted = redacted_words(words.into_iter().map(String::from));
        let expected = [
            "send",
            "--token",
            "TOKEN",
            "--token=TOKEN",
            "--whip",
            "http://host",
        ];
        assert_eq!(redacted, expected);
    }

    #[test]
    fn secrets_of_a_word_are_replaced() {
        for (word, expected) in [
            ("evenkeel:AQBzZWNyZXQ", "INVITATION"),
            (" evenkeel:AQBzZWNyZXQ", "INVITATION"),
            ("turn:me:secret@192.0.2.1", "turn:me:PASSWORD@HOST"),
            (
                "--ice-server=turn:me:a secret@b@192.0.2.1",
                "--ice-server=turn:me:PASSWORD@HOST",
            ),
            ("turn:me:secret", "turn:me:PASSWORD@HOST"),
            ("turn:secret@192.0.2.1", "turn:USER:PASSWORD@HOST"),
            ("rtsp://me:se:cr@et@cam/1", "rtsp://me:PASSWORD@cam/1"),
            ("rtsp://cam:554/1", "rtsp://cam:554/1"),
            (
                "--whip=https://host/a?key=x@y",
                "--whip=https://host/a?QUERY",
            ),
            (
                "https://me:se@host:1/a?key=x",
                "https://me:PASSWORD@host:1/a?QUERY",
            ),
            ("stun:192.0.2.1", "stun:192.0.2.1"),
            ("--rate=3M", "--rate=3M"),
            ("", ""),
        ] {
            assert_eq!(redacted(word), expected, "{word}");
        }
    }

    #[test]
    fn text_about_words_loses_their_secrets() {
        let words = ["call", "evenkeel:AQBz", "--ice-server=turn:me:secret@h"];
        let text = "unexpected 'evenkeel:AQBz' and turn:me:secret@h";
        let safe = without_secrets(text, words.map(str::to_owned).into_iter());
        assert_eq!(safe, "unexpected 'INVITATION' and turn:me:PASSWORD@HOST");
    }
}
