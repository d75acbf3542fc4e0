//! Creates the server configuration from settings.

use std::net::{SocketAddr, ToSocketAddrs};

use quillet_host::definitions::PermissionSet;
use quillet_server::{NamedToken, Rate, ServerConfig};

use crate::error::Error;
use crate::settings::tokens::{Secret, TokenSetting, unsendable};
use crate::settings::{self, Settings};

/// Returns the server configuration.
///
/// # Errors
/// The listen address is invalid, or the secret of a token cannot be read.
pub fn server_config(settings: &Settings) -> Result<ServerConfig, Error> {
    let tokens = settings
        .texts(&settings::TOKENS)
        .iter()
        .map(|token| token.clone().into());
    Ok(ServerConfig {
        listen: address(settings)?,
        prefix: settings
            .text(&settings::PREFIX)
            .unwrap_or_default()
            .to_owned(),
        tokens: tokens.collect(),
        named_tokens: named_tokens(settings)?,
        open_health: settings.is_on(&settings::OPEN_HEALTH),
        open_metrics: settings.is_on(&settings::OPEN_METRICS),
        insecure: settings.is_on(&settings::INSECURE),
        hosts: settings.texts(&settings::HOSTS).to_vec(),
        origins: settings.texts(&settings::ORIGINS).to_vec(),
        inline_templates: settings.choice(&settings::INLINE_TEMPLATES),
        change_databases: settings.choice(&settings::CHANGE_DATABASES),
        unready_when_stale: settings.is_on(&settings::UNREADY_WHEN_STALE),
        access_log: settings.is_on(&settings::ACCESS_LOG),
        body_bytes: settings.size(&settings::BODY_BYTES),
        connections: settings.size(&settings::CONNECTIONS),
        rate: rate(settings),
        header_time: settings.milliseconds(&settings::HEADER_MS),
        body_time: settings.milliseconds(&settings::BODY_MS),
        idle_time: settings.milliseconds(&settings::IDLE_MS),
        write_time: settings.milliseconds(&settings::WRITE_MS),
        chat_time: settings.milliseconds(&settings::CHAT_MS),
        revision_time: settings.milliseconds(&settings::REVISION_MS),
        ping_time: settings.milliseconds(&settings::PING_MS),
        drain_time: settings.milliseconds(&settings::DRAIN_MS),
    })
}

/// Returns the named tokens with their secrets.
fn named_tokens(settings: &Settings) -> Result<Vec<NamedToken>, Error> {
    let origin = settings.origin(&settings::NAMED_TOKENS);
    let origin = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
    let tokens = settings.tokens(&settings::NAMED_TOKENS).iter();
    let named = tokens.map(|token| {
        let wrong =
            |why: String| Error::setting(format!("server.token.{}{origin} {why}", token.name));
        let secret = secret(token).map_err(wrong)?;
        // The configuration checks only secrets that it contains, not those of variables and files.
        if let Some(why) = unsendable(&secret) {
            return Err(wrong(format!("has a secret that {why}")));
        }
        Ok(NamedToken {
            name: token.name.clone(),
            secret: secret.into(),
            rights: PermissionSet::of(token.grants.clone()),
        })
    });
    named.collect()
}

fn secret(token: &TokenSetting) -> Result<String, String> {
    match &token.secret {
        Secret::Text(text) => Ok(text.clone()),
        Secret::Environment(name) => {
            std::env::var(name).map_err(|_| format!("names the variable {name}, which is not set"))
        }
        Secret::File(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| {
                format!(
                    "names the file {}, which cannot be read: {error}",
                    path.display()
                )
            })?;
            // Editors and `echo` end a file with a new line, which is not part of the secret.
            Ok(text.trim_end_matches(['\r', '\n']).to_owned())
        }
    }
}

/// Returns the rate limit. The burst is half a second's worth of requests, at least one.
fn rate(settings: &Settings) -> Option<Rate> {
    let per_second = u32::try_from(settings.integer(&settings::RATE_LIMIT)?).unwrap_or(u32::MAX);
    // Zero disables the limit.
    (per_second > 0).then(|| Rate {
        per_second: per_second.into(),
        burst: per_second.div_ceil(2),
    })
}

/// Returns the address to listen on; resolves names such as localhost.
fn address(settings: &Settings) -> Result<SocketAddr, Error> {
    let text = settings.text(&settings::LISTEN).unwrap_or_default();
    // A bare port or `:8080` means loopback only, so a short form never exposes the server.
    let whole = match text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    // A name may have several addresses; the server listens on the first one only.
    let found = whole
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next());
    found.ok_or_else(|| {
        let origin = settings
            .origin(&settings::LISTEN)
            .map_or_else(String::new, |origin| format!(" ({origin})"));
        Error::setting(format!(
            "server.listen{origin} must be ADDRESS:PORT, such as 127.0.0.1:8080, not {text:?}"
        ))
    })
}
