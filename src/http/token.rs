//! The secret by which a page, or a room for browsers, knows those whom its user let in.

use std::io;

use axum::http::{HeaderMap, HeaderValue, Uri, header};

use super::response::single_header;

/// A secret of 128 bits.
pub(crate) struct Token {
    secret: String,
    /// The name of the cookie. Cookies of a host are one for all its ports, on each of which a page may run.
    cookie: String,
}

impl Token {
    /// Draws a token for the server at this port. Fails if the system has no random numbers.
    pub(crate) fn draw(port: u16) -> io::Result<Self> {
        let secret = Self::draw_secret()?;
        let cookie = format!("evenkeel-{port}");
        Ok(Self { secret, cookie })
    }

    /// Draws 128 bits, in hexadecimal digits.
    pub(crate) fn draw_secret() -> io::Result<String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the secret, for an address that the program prints.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns true if a request has the token as a bearer (RFC 6750 §2.1).
    pub(crate) fn is_in_authorization(&self, headers: &HeaderMap) -> bool {
        let value = single_header(headers, &header::AUTHORIZATION).unwrap_or_default();
        let (scheme, secret) = value.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer")
            && is_equal(secret.trim().as_bytes(), self.secret.as_bytes())
    }

    /// Returns the query of the page's address.
    pub(crate) fn query(&self) -> String {
        format!("?token={}", self.secret)
    }

    /// Returns the header by which a browser sends the token with all that the page loads, and with nothing that
    /// another site asks for.
    pub(crate) fn set_cookie(&self) -> HeaderValue {
        let Self { secret, cookie } = self;
        let value = format!("{cookie}={secret}; Path=/; HttpOnly; SameSite=Strict");
        HeaderValue::from_str(&value).expect("letters, digits and separators")
    }

    /// Returns true if the address has the token.
    pub(crate) fn is_in_query(&self, uri: &Uri) -> bool {
        let mut pairs = uri.query().unwrap_or_default().split('&');
        pairs.any(|pair| self.is_pair(pair, "token"))
    }

    /// Returns true if a cookie has the token.
    pub(crate) fn is_in_cookie(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::COOKIE).iter();
        let mut pairs = lines.flat_map(|line| line.to_str().unwrap_or_default().split(';'));
        pairs.any(|pair| self.is_pair(pair.trim(), &self.cookie))
    }

    fn is_pair(&self, pair: &str, name: &str) -> bool {
        let given = pair.split_once('=').filter(|(given, _)| *given == name);
        given.is_some_and(|(_, value)| is_equal(value.as_bytes(), self.secret.as_bytes()))
    }
}

/// Compares in a time that does not tell where a guess is wrong.
fn is_equal(guess: &[u8], secret: &[u8]) -> bool {
    let pairs = guess.iter().zip(secret);
    guess.len() == secret.len() && pairs.fold(0, |wrong, (a, b)| wrong | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_found_in_query_or_cookie_alone() {
        let token = Token::draw(8_080).expect("random numbers");
        let secret = token.secret.clone();
        assert_eq!(secret.len(), 32);
        assert_ne!(secret, Token::draw(8_080).expect("random numbers").secret);
        for (query, expected) in [
            (format!("/?token={secret}"), true),
            (format!("/sent.mjpg?123&token={secret}"), true),
            (format!("/?token={secret}0"), false),
            (format!("/?token={}", &secret[1..]), false),
            (format!("/?other={secret}"), false),
            ("/?token=".to_owned(), false),
            (format!("/{secret}"), false),
        ] {
            let uri = query.parse().expect("a path");
            assert_eq!(token.is_in_query(&uri), expected, "{query}");
        }
        for (cookie, expected) in [
            (format!("a=b; evenkeel-8080={secret}"), true),
            (format!("evenkeel-8081={secret}"), false),
            ("evenkeel-8080=".to_owned(), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().expect("a cookie"));
            assert_eq!(token.is_in_cookie(&headers), expected, "{cookie}");
        }
    }
}
