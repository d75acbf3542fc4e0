//! Bearer tokens.

use std::hint::black_box;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use quillet_core::ErrorCode;
use quillet_host::agent::Who;
use secrecy::{ExposeSecret, SecretString};

use crate::config::ServerConfig;
use crate::error::{ApiError, problem};
use crate::rate::Client;

/// Who may call.
#[derive(Debug)]
pub(crate) struct Auth {
    tokens: Vec<SecretString>,
}

/// Who calls: the token's number, or nobody in particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// The token at this place in the configuration.
    Token(usize),
    /// No tokens are configured.
    Anyone,
}

impl Auth {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        Auth {
            tokens: config.tokens.clone(),
        }
    }

    /// Who a client is to the agents.
    pub(crate) fn who(&self, client: Client) -> Who {
        let token = match client.caller() {
            Caller::Token(number) => self.tokens.get(number),
            Caller::Anyone => None,
        };
        match (token, client.address()) {
            (Some(token), _) => Who::key(token.expose_secret()),
            (None, Some(address)) => Who::at(&address.to_string()),
            (None, None) => Who::at(""),
        }
    }

    /// Who sent these headers.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        if self.tokens.is_empty() {
            return Ok(Caller::Anyone);
        }
        let given = headers
            .get(AUTHORIZATION)
            .map_or(&b""[..], |value| value.as_bytes());
        let Some(given) = bearer(given) else {
            return Err(
                problem(ErrorCode::AuthMissing, "this service needs a token")
                    .hint("send the header Authorization: Bearer TOKEN"),
            );
        };
        // Every token is compared, so that the time says nothing about which one was close.
        let mut caller = None;
        for (number, token) in self.tokens.iter().enumerate() {
            if same(token.expose_secret().as_bytes(), given) {
                caller = Some(Caller::Token(number));
            }
        }
        caller.ok_or_else(|| {
            problem(
                ErrorCode::AuthRefused,
                "the token is not one of this service's",
            )
        })
    }
}

/// Checks that every token can be sent.
///
/// # Errors
/// The number, from 1, of the first that cannot.
pub(crate) fn check_tokens(tokens: &[SecretString]) -> Result<(), usize> {
    let sendable = |token: &SecretString| {
        let token = token.expose_secret();
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match tokens.iter().position(|token| !sendable(token)) {
        Some(place) => Err(place + 1),
        None => Ok(()),
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// Compares in a time that depends on the length alone.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differing = a
        .iter()
        .zip(b)
        .fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
    a.len() == b.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn one_of_the_tokens_is_enough_and_nothing_else_is() {
        let auth = Auth::new(&ServerConfig {
            tokens: vec!["first".into(), "second".into()],
            ..ServerConfig::default()
        });
        let check = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            auth.check(&headers).ok()
        };
        assert_eq!(check("Bearer second"), Some(Caller::Token(1)));
        assert_eq!(check("bearer  first "), Some(Caller::Token(0)));
        for refused in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer firs",
            "Bearer firstt",
            "Basic first",
        ] {
            assert_eq!(check(refused), None, "{refused:?}");
        }
        assert!(auth.check(&HeaderMap::new()).is_err());
    }
}
