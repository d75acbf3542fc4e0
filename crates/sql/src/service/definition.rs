//! Connection definitions: stored with secrets, displayed without.

use std::fmt;

use quillet_core::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::{ConnectionUrl, SqlDialect, SqlError};

/// Definition of a connection in requests and in the store (JSON, camelCase).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionDefinition {
    /// URL, including the password.
    pub url: String,
    /// Disables TLS.
    #[serde(default)]
    pub ssl_disabled: bool,
    /// SSH tunnel to the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<SshConfig>,
    /// Description of the data, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Glossary of users' words and their meanings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glossary: Vec<(String, Vec<String>)>,
    /// Whether column values may be sampled and shown to models. If `None`, the settings decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<bool>,
    /// Time of creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<jiff::Timestamp>,
    /// Time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<jiff::Timestamp>,
}

/// Settings of an SSH tunnel.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SshConfig {
    /// Whether the tunnel is used. Forms send all fields even if the tunnel is not used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Host of the SSH server.
    #[serde(default)]
    pub host: String,
    /// Port of the SSH server; 22 if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// User on the SSH server.
    #[serde(default)]
    pub username: String,
    /// Authentication method; if `None`, all given credentials are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_type: Option<SshAuth>,
    /// Password of the SSH user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Private key as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// Passphrase of the private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_passphrase: Option<String>,
    /// Path of the private key. If `None`, `ssh` uses its default credentials, such as the SSH
    /// agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_file: Option<String>,
    /// Path of the known hosts file. If `None`, `ssh` uses its default file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_hosts_file: Option<String>,
}

fn yes() -> bool {
    true
}

/// SSH authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SshAuth {
    /// Password.
    Password,
    /// Key: from text, from a file, or from the agent of `ssh`.
    Key,
}

impl SshConfig {
    /// Returns the settings without secrets.
    #[must_use]
    pub fn shown(&self) -> Self {
        SshConfig {
            password: None,
            private_key: None,
            key_passphrase: None,
            ..self.clone()
        }
    }
}

/// Omits secrets.
impl fmt::Debug for SshConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port.unwrap_or(22);
        write!(f, "SshConfig({}@{}:{port})", self.username, self.host)
    }
}

impl ConnectionDefinition {
    /// Creates a definition in which only the URL is set.
    #[must_use]
    pub fn of(url: impl Into<String>) -> Self {
        ConnectionDefinition {
            url: url.into(),
            ..ConnectionDefinition::default()
        }
    }

    /// Returns the definition without secrets. The password in the URL is masked, and the tunnel's
    /// secrets are removed. An invalid URL becomes empty.
    #[must_use]
    pub fn masked(&self) -> Self {
        let url = self.url.parse::<ConnectionUrl>();
        ConnectionDefinition {
            url: url.map(|url| url.to_string()).unwrap_or_default(),
            ssh_config: self.ssh_config.as_ref().map(SshConfig::shown),
            ..self.clone()
        }
    }

    /// Parses a stored definition.
    ///
    /// # Errors
    /// Fails if the JSON is invalid.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, SqlError> {
        serde_json::from_str(text).map_err(|error| SqlError::Invalid {
            code: ErrorCode::SqlInvalidDefinition,
            message: format!(
                "invalid connection {name:?}: {}",
                quillet_core::json::reason(&error)
            ),
        })
    }
}

/// A connection for display, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Name of the connection.
    pub name: String,
    /// URL with the password masked; empty if the URL is invalid.
    pub url: String,
    /// SQL dialect; `None` if the URL is invalid.
    pub db_type: Option<SqlDialect>,
    /// Whether TLS is disabled.
    pub ssl_disabled: bool,
    /// SSH tunnel.
    pub ssh_config: Option<SshConfig>,
    /// Description of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether column values may be sampled, if the definition sets this option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<bool>,
    /// Time of creation.
    pub created_at: Option<jiff::Timestamp>,
    /// Time of the last change.
    pub updated_at: Option<jiff::Timestamp>,
    /// Reason why the connection is unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Connection {
    /// Returns the displayed form of a definition.
    pub(super) fn of(name: &str, definition: &ConnectionDefinition) -> Self {
        let parsed = definition.url.parse::<ConnectionUrl>();
        let url = parsed.as_ref().ok();
        Connection {
            name: name.to_owned(),
            url: url.map(ToString::to_string).unwrap_or_default(),
            db_type: url.map(|url| url.dialect),
            ssl_disabled: definition.ssl_disabled,
            ssh_config: definition.ssh_config.as_ref().map(SshConfig::shown),
            description: definition.description.clone(),
            values: definition.values,
            created_at: definition.created_at,
            updated_at: definition.updated_at,
            problem: parsed.err().map(|error| error.message),
        }
    }

    /// Returns the displayed form of a connection whose definition is invalid.
    pub(super) fn broken(name: &str, problem: String) -> Self {
        Connection {
            name: name.to_owned(),
            problem: Some(problem),
            ..Connection::default()
        }
    }
}
