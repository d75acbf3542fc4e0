//! Authentication with tokens, and their permissions.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quillet_core::ErrorCode;
use quillet_host::agent::Principal;
use quillet_host::definitions::PermissionSet;
use secrecy::{ExposeSecret, SecretString};

use crate::caller::Caller;
use crate::config::{NamedToken, ServerConfig};
use crate::error::{ApiError, problem};
use crate::rate::RateKey;

/// The caller's name and permissions if no tokens are configured.
static ANYONE: LazyLock<(Arc<str>, Arc<PermissionSet>)> =
    LazyLock::new(|| ("anonymous".into(), Arc::new(PermissionSet::all())));

/// The configured tokens.
#[derive(Debug)]
pub(crate) struct Auth {
    tokens: Vec<TokenEntry>,
}

/// A token.
#[derive(Debug)]
struct TokenEntry {
    secret: SecretString,
    owner: (Arc<str>, Arc<PermissionSet>),
}

/// The credentials of a request.
#[derive(Debug)]
enum Credentials<'a> {
    /// A token of Bearer authentication.
    Bearer(&'a [u8]),
    /// `NAME:TOKEN` of Basic authentication, which Langfuse's clients use for their key pair.
    Basic(Vec<u8>),
}

impl Auth {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        let all = all(config).map(|token| TokenEntry {
            secret: token.secret,
            owner: (token.name.into(), Arc::new(token.rights)),
        });
        Auth {
            tokens: all.collect(),
        }
    }

    /// Returns the name and the permissions of a client.
    pub(crate) fn owner(&self, client: RateKey) -> &(Arc<str>, Arc<PermissionSet>) {
        self.token(client).map_or(&ANYONE, |token| &token.owner)
    }

    /// Returns the permissions and the principal of each token, in index order.
    pub(crate) fn rights(&self) -> impl Iterator<Item = (&Arc<PermissionSet>, Principal)> {
        self.tokens
            .iter()
            .map(|token| (&token.owner.1, Principal::key(token.secret.expose_secret())))
    }

    /// Returns the name of each token, and its permissions as the settings write them.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        let tokens = self.tokens.iter();
        tokens.map(|token| (&*token.owner.0, token.owner.1.described()))
    }

    /// Returns the principal of a client for agents.
    pub(crate) fn principal(&self, client: RateKey) -> Principal {
        match (self.token(client), client.address()) {
            (Some(token), _) => {
                Principal::key(token.secret.expose_secret()).with_name(&token.owner.0)
            }
            (None, Some(address)) => Principal::from_address(&address.to_string()),
            (None, None) => Principal::from_address(""),
        }
    }

    /// Returns the client with this scope if its token is still configured.
    pub(crate) fn client_of(&self, scope: &str) -> Option<RateKey> {
        let here = Ipv4Addr::LOCALHOST.into();
        // Without tokens all callers share one scope, regardless of their address.
        if self.tokens.is_empty() {
            let anyone = RateKey::new(Caller::Anyone, here);
            return (self.principal(anyone).scope() == scope).then_some(anyone);
        }
        let of = |token: &TokenEntry| Principal::key(token.secret.expose_secret()).scope() == scope;
        let number = self.tokens.iter().position(of)?;
        Some(RateKey::new(Caller::Token(number), here))
    }

    fn token(&self, client: RateKey) -> Option<&TokenEntry> {
        match client.caller() {
            Caller::Token(number) => self.tokens.get(number),
            Caller::Anyone => None,
        }
    }

    /// Authenticates the headers of a request.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        if self.tokens.is_empty() {
            return Ok(Caller::Anyone);
        }
        let given = headers
            .get(AUTHORIZATION)
            .map_or(&b""[..], |value| value.as_bytes());
        let Some(shown) = Credentials::read(given) else {
            return Err(
                problem(ErrorCode::AuthMissing, "this server requires a token")
                    .with_hint("send the header Authorization: Bearer TOKEN"),
            );
        };
        // Compare the secret with all tokens, so that timing does not reveal which one nearly
        // matched.
        let mut caller = None;
        for (number, token) in self.tokens.iter().enumerate() {
            if shown.is(token) {
                caller = Some(Caller::Token(number));
            }
        }
        caller.ok_or_else(|| problem(ErrorCode::AuthRefused, "invalid token"))
    }
}

impl<'a> Credentials<'a> {
    fn read(header: &'a [u8]) -> Option<Self> {
        if let Some(token) = strip_scheme(header, b"bearer ") {
            return Some(Credentials::Bearer(token));
        }
        let pair = STANDARD.decode(strip_scheme(header, b"basic ")?).ok()?;
        pair.contains(&b':').then_some(Credentials::Basic(pair))
    }

    fn is(&self, token: &TokenEntry) -> bool {
        let secret = token.secret.expose_secret().as_bytes();
        match self {
            Credentials::Bearer(given) => equals_constant_time(secret, given),
            Credentials::Basic(pair) => {
                // Only the secret may contain colons.
                let mut parts = pair.splitn(2, |byte| *byte == b':');
                let name = equals_constant_time(
                    token.owner.0.as_bytes(),
                    parts.next().unwrap_or_default(),
                );
                // `&` instead of `&&`: both comparisons always run, so that timing does not reveal
                // which one failed.
                equals_constant_time(secret, parts.next().unwrap_or_default()) & name
            }
        }
    }
}

/// Returns all tokens of a configuration with their names.
fn all(config: &ServerConfig) -> impl Iterator<Item = NamedToken> {
    let unnamed = config.tokens.iter().enumerate();
    let unnamed = unnamed.map(|(place, secret)| NamedToken {
        name: format!("token-{}", place + 1),
        secret: secret.clone(),
        rights: PermissionSet::all(),
    });
    unnamed.chain(config.named_tokens.iter().cloned())
}

/// Checks that every token can be sent and is unique.
///
/// # Errors
/// Returns the name of the first invalid token and the reason.
pub(crate) fn check(config: &ServerConfig) -> Result<(), (String, &'static str)> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let (mut names, mut secrets) = (BTreeSet::new(), BTreeSet::new());
    for (place, NamedToken { name, secret, .. }) in all(config).enumerate() {
        let is_named = place >= config.tokens.len();
        let secret = secret.expose_secret().to_owned();
        let why = if !plain(&name) || name.contains(':') {
            "has an invalid name: it must not be empty or contain a colon, a space or a non-ASCII character"
        } else if !plain(&secret) {
            "is empty or contains characters that a header cannot carry"
        } else if !names.insert(name.clone()) {
            "is configured twice: give each token its own name"
        } else if !secrets.insert(secret) && is_named {
            "has the same secret as another token: give each token its own"
        } else {
            continue;
        };
        return Err((name, why));
    }
    Ok(())
}

/// Returns the text after an authentication scheme, which is case-insensitive.
fn strip_scheme<'a>(header: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = header.split_at_checked(scheme.len())?;
    found
        .eq_ignore_ascii_case(scheme)
        .then(|| rest.trim_ascii())
}

/// Compares two values of equal length in constant time.
fn equals_constant_time(a: &[u8], b: &[u8]) -> bool {
    // `black_box` keeps the compiler from ending the loop at the first difference.
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

    fn named(name: &str, secret: &str) -> NamedToken {
        NamedToken {
            name: name.into(),
            secret: secret.into(),
            rights: PermissionSet::of(Vec::new()),
        }
    }

    #[test]
    fn one_of_the_tokens_is_enough_and_nothing_else_is() {
        let auth = Auth::new(&ServerConfig {
            tokens: vec!["first".into(), "second".into()],
            named_tokens: vec![named("ci", "a:b"), named("pk-lf-1", "sk-lf-1")],
            ..ServerConfig::default()
        });
        let check = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            auth.check(&headers).ok()
        };
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for (value, number) in [
            ("Bearer second".to_owned(), 1),
            ("bearer  first ".to_owned(), 0),
            ("Bearer a:b".to_owned(), 2),
            (basic("ci:a:b"), 2),
            (basic("pk-lf-1:sk-lf-1"), 3),
            (basic("token-2:second"), 1),
            (basic("token-2:second").replace("Basic", "bASIC "), 1),
        ] {
            assert_eq!(check(&value), Some(Caller::Token(number)), "{value:?}");
        }
        for refused in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer firs",
            "Bearer firstt",
            "Basic first",
            "Basic Zmlyc3Q=",
            &basic("ci:sk-lf-1"),
            &basic("sk-lf-1:pk-lf-1"),
            &basic("pk-lf-1:"),
            &basic(":sk-lf-1"),
            &basic("ci"),
            "Digest ci",
        ] {
            assert_eq!(check(refused), None, "{refused:?}");
        }
        assert!(auth.check(&HeaderMap::new()).is_err());
    }

    #[test]
    fn tokens_can_be_sent_and_told_apart() {
        let check = |tokens: &[&str], named_tokens: Vec<NamedToken>| {
            let config = ServerConfig {
                tokens: tokens.iter().map(|token| (*token).into()).collect(),
                named_tokens,
                ..ServerConfig::default()
            };
            check(&config).map_err(|(name, _)| name)
        };
        assert_eq!(check(&["a", "b"], vec![named("ci", "c:d")]), Ok(()));
        assert_eq!(check(&["a", "a"], vec![]), Ok(()));
        for (tokens, named_tokens, wrong) in [
            (&["a", ""][..], vec![], "token-2"),
            (&["a b"], vec![], "token-1"),
            (&[], vec![named("ci", "")], "ci"),
            (&[], vec![named("ci", "ü")], "ci"),
            (&[], vec![named("", "x")], ""),
            (&[], vec![named("c:i", "x")], "c:i"),
            (&[], vec![named("ci", "x"), named("ci", "y")], "ci"),
            (&["x"], vec![named("ci", "x")], "ci"),
            (&["x"], vec![named("token-1", "y")], "token-1"),
        ] {
            assert_eq!(check(tokens, named_tokens), Err(wrong.to_owned()));
        }
    }
}
