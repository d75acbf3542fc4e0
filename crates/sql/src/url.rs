//! Connection URLs: `postgresql://user:password@host:5432/name`, `mysql://…`, `sqlite:path`. The
//! password is never shown.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::SqlDialect;

/// A parsed connection URL.
///
/// ```
/// use quillet_sql::ConnectionUrl;
///
/// let url: ConnectionUrl = "postgresql://ada:secret@localhost/shop".parse()?;
/// assert_eq!(url.port, 5432);
/// assert_eq!(url.database, "shop");
/// assert_eq!(url.to_string(), "postgresql://ada:****@localhost:5432/shop");
/// # Ok::<(), quillet_sql::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionUrl {
    /// SQL dialect.
    pub dialect: SqlDialect,
    /// Host name; empty for a file.
    pub host: String,
    /// Port; 0 for a file.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password, decoded.
    pub password: Option<String>,
    /// Database name on the server.
    pub database: String,
    /// Path of a SQLite database.
    pub path: Option<PathBuf>,
    /// Parameters after `?`, in order.
    pub parameters: Vec<(String, String)>,
    text: String,
}

/// Error for an invalid URL. The error never contains the password.
///
/// ```
/// use quillet_sql::ConnectionUrl;
///
/// let error = "oracle://localhost/shop".parse::<ConnectionUrl>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown database type"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UrlError {
    /// The problem, including an example of a valid URL.
    pub message: String,
}

fn url_error(message: impl Into<String>) -> UrlError {
    UrlError {
        message: message.into(),
    }
}

impl std::str::FromStr for ConnectionUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let scheme = text.split(':').next().unwrap_or_default();
        let Some(dialect) = SqlDialect::from_name(scheme).filter(|_| text.contains(':')) else {
            return Err(url_error(format!(
                "unknown database type {scheme:?}: write postgresql://user@host/name, mysql://user@host/name or sqlite:path/to/file.db"
            )));
        };
        match dialect {
            SqlDialect::Sqlite => sqlite(text),
            _ => server(text, dialect),
        }
    }
}

fn sqlite(text: &str) -> Result<ConnectionUrl, UrlError> {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    // Both `sqlite:shop.db` and `sqlite:///tmp/shop.db` are common. The rest is a path, not a URL,
    // so it is not percent-decoded.
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    if rest.is_empty() {
        return Err(url_error(
            "missing file in the address: write sqlite:path/to/file.db",
        ));
    }
    Ok(ConnectionUrl {
        dialect: SqlDialect::Sqlite,
        host: String::new(),
        port: 0,
        user: String::new(),
        password: None,
        database: String::new(),
        path: Some(PathBuf::from(rest)),
        parameters: Vec::new(),
        text: text.to_owned(),
    })
}

fn server(text: &str, dialect: SqlDialect) -> Result<ConnectionUrl, UrlError> {
    let parsed =
        url::Url::parse(text).map_err(|error| url_error(format!("invalid address: {error}")))?;
    let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let database = decoded(parsed.path().trim_start_matches('/'));
    if database.is_empty() {
        return Err(url_error(format!(
            "missing database name in the address: write {}://user@host/name",
            parsed.scheme()
        )));
    }
    let port = match dialect {
        SqlDialect::MySql => 3306,
        _ => 5432,
    };
    Ok(ConnectionUrl {
        dialect,
        host: parsed
            .host_str()
            .map_or_else(|| "localhost".to_owned(), decoded),
        port: parsed.port().unwrap_or(port),
        user: decoded(parsed.username()),
        password: parsed.password().map(decoded),
        database,
        path: None,
        parameters: parsed.query_pairs().into_owned().collect(),
        text: text.to_owned(),
    })
}

impl ConnectionUrl {
    /// Returns the URL as it was written, including its password. Use the result only for storage.
    #[must_use]
    pub fn secret_text(&self) -> &str {
        &self.text
    }

    /// Replaces the password. URLs of files stay unchanged.
    ///
    /// ```
    /// use quillet_sql::ConnectionUrl;
    ///
    /// let url: ConnectionUrl = "mysql://ada@localhost/shop".parse()?;
    /// let url = url.with_password("secret");
    /// assert_eq!(url.password.as_deref(), Some("secret"));
    /// assert_eq!(url.secret_text(), "mysql://ada:secret@localhost/shop");
    /// # Ok::<(), quillet_sql::UrlError>(())
    /// ```
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        let Ok(mut text) = url::Url::parse(&self.text) else {
            return self;
        };
        // The password is encoded here, because the library treats a percent sign as the start of
        // an escape.
        let encoded = utf8_percent_encode(password, NON_ALPHANUMERIC).to_string();
        if self.path.is_some() || text.set_password(Some(&encoded)).is_err() {
            return self;
        }
        ConnectionUrl {
            password: Some(password.to_owned()),
            text: text.into(),
            ..self
        }
    }

    /// Returns the URL of the same database at another host and port, for a tunnel.
    #[must_use]
    pub(crate) fn with_address(&self, host: &str, port: u16) -> Self {
        ConnectionUrl {
            host: host.to_owned(),
            port,
            ..self.clone()
        }
    }

    /// Returns the value of a parameter after `?`.
    ///
    /// ```
    /// use quillet_sql::ConnectionUrl;
    ///
    /// let url: ConnectionUrl = "postgresql://ada@localhost/shop?sslmode=require".parse()?;
    /// assert_eq!(url.parameter("sslmode"), Some("require"));
    /// assert_eq!(url.parameter("timeout"), None);
    /// # Ok::<(), quillet_sql::UrlError>(())
    /// ```
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut found = self.parameters.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// Formats the URL with `****` as the password (the mask of table-chat, which its clients expect).
/// Parameters that may contain a secret are masked too.
impl fmt::Display for ConnectionUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            return write!(f, "sqlite:{}", path.display());
        }
        write!(f, "{}://{}", self.dialect, self.user)?;
        if self.password.is_some() {
            f.write_str(":****")?;
        }
        if !self.user.is_empty() || self.password.is_some() {
            f.write_str("@")?;
        }
        write!(f, "{}:{}/{}", self.host, self.port, self.database)?;
        for (i, (name, value)) in self.parameters.iter().enumerate() {
            // The check uses parts of names, because drivers differ (`sslpassword`, `ssl-key`).
            // Masking a harmless value does no harm, but showing a secret does.
            let secret = ["pass", "secret", "key", "token"];
            let lower = name.to_lowercase();
            let hidden = secret.iter().any(|word| lower.contains(word));
            let value = if hidden { "****" } else { value.as_str() };
            write!(f, "{}{name}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for ConnectionUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hide_their_passwords() {
        for (text, shown) in [
            (
                "postgresql://ann:s3cret@db:5433/shop",
                "postgresql://ann:****@db:5433/shop",
            ),
            ("postgres://db/shop", "postgresql://db:5432/shop"),
            (
                "mysql://a%40b:p%2Fw@h/d?ssl-mode=off&password=x",
                "mysql://a@b:****@h:3306/d?ssl-mode=off&password=****",
            ),
            ("sqlite:shop.db", "sqlite:shop.db"),
            ("sqlite:///tmp/shop.db", "sqlite:/tmp/shop.db"),
        ] {
            let url: ConnectionUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("s3cret"));
        }
    }

    #[test]
    fn a_password_is_put_in_and_reads_back() {
        for (text, password) in [
            ("postgresql://ann@db:5433/shop?a=b", "p@ss/w:ord %41 中"),
            ("mysql://ann:old@db/shop", "new"),
        ] {
            let url: ConnectionUrl = text.parse().unwrap();
            let url = url.with_password(password);
            assert_eq!(url.password.as_deref(), Some(password));
            let again: ConnectionUrl = url.secret_text().parse().unwrap();
            assert_eq!(again, url);
        }
        let file: ConnectionUrl = "sqlite:shop.db".parse().unwrap();
        assert_eq!(file.clone().with_password("x"), file);
    }

    #[test]
    fn wrong_addresses_say_how_right_ones_look() {
        for text in [
            "",
            "shop",
            "oracle://x/y",
            "postgresql://host",
            "sqlite:",
            "mysql://h:port/x",
        ] {
            let error = text.parse::<ConnectionUrl>().unwrap_err();
            assert!(error.message.len() > 20, "{text}: {error}");
        }
    }
}
