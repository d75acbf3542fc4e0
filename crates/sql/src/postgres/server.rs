//! The address of a server, parsed like libpq does (PostgreSQL documentation, "Connection URIs" and
//! "Parameter Key Words").

use std::path::Path;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode};

use super::judge::policy::JudgePolicy;
use super::tls::{Checks, Tls};
use crate::database::ConnectOptions;
use crate::{ConnectionUrl, DatabaseError, DatabaseErrorKind as Kind};

/// Supported URL parameters.
const PARAMETERS: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// A server with its credentials and policy.
#[derive(Clone)]
pub(super) struct PostgresServer {
    /// Address without secrets.
    pub(super) shown: String,
    /// Host name, IP address, or directory of a Unix socket.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) connect_timeout: Duration,
    /// Policy for queries and roles.
    pub(super) allowed: JudgePolicy,
}

impl PostgresServer {
    /// Parses an address. Reads only the TLS files that it names.
    ///
    /// # Errors
    /// Fails for an unknown parameter or an invalid value.
    pub(super) fn of(url: &ConnectionUrl, options: &ConnectOptions) -> Result<Self, DatabaseError> {
        // Unknown parameters are errors, because a misspelled `sslmode` would otherwise silently
        // disable TLS.
        for (name, _) in &url.parameters {
            check_parameter(name)?;
        }
        // As in libpq, parameters override the parts of the URL. `host` may be a socket directory,
        // which the host part of a URL cannot contain.
        let host = url.parameter("host").unwrap_or(&url.host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = match url.parameter("port") {
            Some(text) => number("port", text)?,
            None => url.port,
        };
        let (mode, checks) = ssl(url, options, host)?;
        let authorities = url
            .parameter("sslrootcert")
            .filter(|path| *path != "system");
        let identity = match (url.parameter("sslcert"), url.parameter("sslkey")) {
            // TLS files are ignored if TLS is disabled.
            _ if mode == SslMode::Disable => None,
            (None, None) => None,
            (Some(certificate), Some(key)) => Some([Path::new(certificate), Path::new(key)]),
            (Some(_), None) => {
                return Err(address_error(
                    "missing sslkey: the address has sslcert but no file of its key",
                ));
            }
            (None, Some(_)) => {
                return Err(address_error(
                    "missing sslcert: the address has sslkey but no file of its certificate",
                ));
            }
        };
        let tls =
            Tls::new(host, checks, authorities.map(Path::new), identity).map_err(address_error)?;
        let mut config = config(url)?;
        config.ssl_mode(mode);
        let connect_timeout = match url.parameter("connect_timeout") {
            // In libpq, 0 means no limit, so the default limit applies.
            Some(text) => Some(number("connect_timeout", text)?).filter(|seconds| *seconds > 0),
            None => None,
        };
        Ok(PostgresServer {
            shown: url.to_string(),
            host: host.to_owned(),
            port,
            config,
            tls,
            allowed: JudgePolicy::new(
                options.functions.clone(),
                options.powerful_roles,
                options.second_judge,
            ),
            connect_timeout: connect_timeout
                .map_or(options.connect_timeout, |s| Duration::from_secs(s.into())),
        })
    }
}

fn config(url: &ConnectionUrl) -> Result<Config, DatabaseError> {
    let mut config = Config::new();
    let user = url.parameter("user").unwrap_or(&url.user);
    if !user.is_empty() {
        config.user(user);
    }
    if let Some(password) = url.parameter("password").or(url.password.as_deref()) {
        config.password(password);
    }
    if let Some(options) = url.parameter("options") {
        config.options(options);
    }
    config
        .dbname(url.parameter("dbname").unwrap_or(&url.database))
        .application_name(url.parameter("application_name").unwrap_or("quillet"))
        .channel_binding(match url.parameter("channel_binding") {
            None | Some("prefer") => ChannelBinding::Prefer,
            Some("disable") => ChannelBinding::Disable,
            Some("require") => ChannelBinding::Require,
            Some(other) => return Err(value("channel_binding", other, "disable, prefer, require")),
        });
    Ok(config)
}

/// Returns whether to use TLS, and what to verify.
fn ssl(
    url: &ConnectionUrl,
    options: &ConnectOptions,
    host: &str,
) -> Result<(SslMode, Checks), DatabaseError> {
    let has_authority = url.parameter("sslrootcert").is_some();
    let (mode, checks) = match url.parameter("sslmode") {
        Some("disable") => (SslMode::Disable, Checks::Nothing),
        None | Some("allow" | "prefer") => (SslMode::Prefer, Checks::Nothing),
        // As in libpq, `require` verifies like `verify-ca` if a root certificate is given.
        Some("require") if !has_authority => (SslMode::Require, Checks::Nothing),
        Some("require" | "verify-ca") => (SslMode::Require, Checks::Authority),
        Some("verify-full") => (SslMode::Require, Checks::Host),
        Some(other) => {
            let modes = "disable, prefer, require, verify-ca, verify-full";
            return Err(value("sslmode", other, modes));
        }
    };
    // TLS is not available over Unix sockets.
    if options.ssl_disabled || host.starts_with('/') {
        Ok((SslMode::Disable, Checks::Nothing))
    } else {
        Ok((mode, checks))
    }
}

fn check_parameter(name: &str) -> Result<(), DatabaseError> {
    if PARAMETERS.contains(&name) {
        return Ok(());
    }
    let near = quillet_core::nearest(name, PARAMETERS.iter().copied());
    let fix = match near {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("known parameters are {}", PARAMETERS.join(", ")),
    };
    Err(address_error(format!(
        "unknown parameter {name:?} in the address; {fix}"
    )))
}

fn number(name: &str, text: &str) -> Result<u16, DatabaseError> {
    text.parse()
        .map_err(|_| value(name, text, "a whole number up to 65535"))
}

fn value(name: &str, text: &str, right: &str) -> DatabaseError {
    address_error(format!(
        "invalid {name}={text:?} in the address: must be {right}"
    ))
}

fn address_error(message: impl Into<String>) -> DatabaseError {
    DatabaseError::new(Kind::Unreachable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Result<PostgresServer, DatabaseError> {
        let url: ConnectionUrl = text.parse().unwrap();
        PostgresServer::of(&url, &ConnectOptions::default())
    }

    #[test]
    fn addresses_are_read_as_libpq_reads_them() {
        for (text, host, port, mode) in [
            ("postgresql://h/d", "h", 5432, SslMode::Prefer),
            ("postgresql://[::1]:77/d", "::1", 77, SslMode::Prefer),
            (
                "postgresql://u@h/d?sslmode=require",
                "h",
                5432,
                SslMode::Require,
            ),
            (
                "postgresql://h/d?sslmode=disable",
                "h",
                5432,
                SslMode::Disable,
            ),
            (
                "postgresql://u@x/d?host=/run/pg&port=9",
                "/run/pg",
                9,
                SslMode::Disable,
            ),
            (
                "postgresql://%2Frun%2Fpg/d",
                "/run/pg",
                5432,
                SslMode::Disable,
            ),
        ] {
            let server = server(text).unwrap();
            let found = (
                server.host.as_str(),
                server.port,
                server.config.get_ssl_mode(),
            );
            assert_eq!(found, (host, port, mode), "{text}");
        }
        let slow = server("postgresql://h/d?connect_timeout=3").unwrap();
        assert_eq!(slow.connect_timeout, Duration::from_secs(3));
    }

    #[test]
    fn wrong_parameters_are_named() {
        for (text, needed) in [
            ("postgresql://h/d?sslmod=require", "\"sslmode\""),
            ("postgresql://h/d?sslmode=yes", "verify-full"),
            ("postgresql://h/d?port=99999", "65535"),
            ("postgresql://h/d?connect_timeout=soon", "whole number"),
            ("postgresql://u:s3cret@h/d?zzz=1", "application_name"),
            (
                "postgresql://h/d?sslmode=verify-full&sslrootcert=/nowhere",
                "/nowhere",
            ),
        ] {
            let error = server(text).err().unwrap();
            assert!(error.message.contains(needed), "{text}: {error}");
            assert!(!error.message.contains("s3cret"), "{error}");
        }
    }
}
