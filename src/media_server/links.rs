//! The servers that a media server names for ways through NATs, in headers `Link` (RFC 9725 §4.6, RFC 8288).

use evenkeel_secure::endpoint::Account;

/// The most servers that are used. Each is asked for addresses.
const MAX_SERVERS: usize = 8;

/// A STUN or TURN server of an answer.
pub(crate) struct IceServerLink {
    /// The URL, without the account.
    pub(crate) url: String,
    pub(crate) account: Option<Account>,
}

/// Returns the servers of these headers. Other links are skipped, and so is what is no link.
pub(super) fn ice_servers<'a>(headers: impl Iterator<Item = &'a str>) -> Vec<IceServerLink> {
    let links = headers.flat_map(|header| Links { rest: header });
    links.flatten().take(MAX_SERVERS).collect()
}

/// The links of a header, each with `None` where it is of another relation.
struct Links<'a> {
    rest: &'a str,
}

impl Iterator for Links<'_> {
    type Item = Option<IceServerLink>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, link) = self.rest.split_once('<')?;
        let (url, rest) = link.split_once('>')?;
        self.rest = rest;
        let (mut relation, mut user, mut password) = (None, None, None);
        while let Some(parameter) = self.rest.trim_start().strip_prefix(';') {
            let (name, value, rest) = read_parameter(parameter);
            self.rest = rest;
            match name.to_ascii_lowercase().as_str() {
                "rel" => relation = Some(value),
                "username" => user = Some(value),
                "credential" => password = Some(value),
                _ => {}
            }
        }
        let account = user.zip(password);
        let is_server = relation.is_some_and(|relation| relation == "ice-server");
        Some(is_server.then(|| IceServerLink {
            url: url.to_owned(),
            account: account.map(|(user, password)| Account { user, password }),
        }))
    }
}

/// Reads `NAME=VALUE`, `NAME="VALUE"` or `NAME`. Returns name, value and what follows.
fn read_parameter(text: &str) -> (&str, String, &str) {
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.trim();
    let Some(value) = rest.strip_prefix('=') else {
        return (name, String::new(), rest);
    };
    let Some(quoted) = value.trim_start().strip_prefix('"') else {
        let end = value.find([';', ',']).unwrap_or(value.len());
        return (name, value[..end].trim().to_owned(), &value[end..]);
    };
    let mut letters = quoted.char_indices();
    let mut read = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (name, read, &quoted[at + 1..]),
            '\\' => read.extend(letters.next().map(|(_, letter)| letter)),
            letter => read.push(letter),
        }
    }
    (name, read, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn servers_of_an_answer_are_read() {
        let headers = [
            r#"<stun:stun.example.net>; rel="ice-server""#,
            r#"<https://example.net/x>; rel=next, <turn:turn.example.net?transport=udp>; rel="ice-server"; username="17:a;b"; credential="p\"\\q,"; credential-type="password""#,
            r"<turn:192.0.2.1:443?transport=tcp>;REL=ice-server;username=me;credential=it",
            "stun:without.brackets",
        ];
        let found = ice_servers(headers.into_iter());
        let found: Vec<_> = found
            .iter()
            .map(|link| {
                let account = link.account.as_ref();
                let account = account.map(|it| (it.user.as_str(), it.password.as_str()));
                (link.url.as_str(), account)
            })
            .collect();
        let expected = [
            ("stun:stun.example.net", None),
            (
                "turn:turn.example.net?transport=udp",
                Some(("17:a;b", r#"p"\q,"#)),
            ),
            ("turn:192.0.2.1:443?transport=tcp", Some(("me", "it"))),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_header_gives_few_servers(header in r#"([<>;,="\\a]|rel=ice-server|<stun:h>){0,60}"#) {
            prop_assert!(ice_servers([header.as_str()].into_iter()).len() <= MAX_SERVERS);
        }
    }
}
