//! Definitions of connections: stored with secrets, shown without.

use std::fmt;

use quillet_core::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::{ConnectionUrl, SqlDialect, SqlError};

/// A connection as it is put in and as it is stored (JSON, camelCase).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionDefinition {
    /// Address, with its password.
    pub url: String,
    /// Disables TLS.
    #[serde(default)]
    pub ssl_disabled: bool,
    /// A tunnel to the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<SshConfig>,
    /// Description of the data, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words of its users and what they stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glossary: Vec<(String, Vec<String>)>,
    /// Whether values of its columns may be sampled and shown to models; as the settings say
    /// where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<bool>,
    /// When it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<jiff::Timestamp>,
    /// When it was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<jiff::Timestamp>,
}

/// A tunnel over SSH.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SshConfig {
    /// Whether it is used; a form sends all members also where it is not.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Host of the SSH server.
    #[serde(default)]
    pub host: String,
    /// Its port; 22 where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// User there.
    #[serde(default)]
    pub username: String,
    /// How the user logs in; where `None`, with whatever is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_type: Option<SshAuth>,
    /// The user's password there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The text of the private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// What opens the private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_passphrase: Option<String>,
    /// File of the private key; else what `ssh` itself takes, such as its agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_file: Option<String>,
    /// File of the hosts that are known; else that of `ssh` itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_hosts_file: Option<String>,
}

fn yes() -> bool {
    true
}

/// The authentication of a user over SSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SshAuth {
    /// With a password.
    Password,
    /// With a key: the text, the file, or what `ssh`'s agent has.
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

/// Without secrets.
impl fmt::Debug for SshConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port.unwrap_or(22);
        write!(f, "SshConfig({}@{}:{port})", self.username, self.host)
    }
}

impl ConnectionDefinition {
    /// A connection to an address, with nothing else set.
    #[must_use]
    pub fn of(url: impl Into<String>) -> Self {
        ConnectionDefinition {
            url: url.into(),
            ..ConnectionDefinition::default()
        }
    }

    /// Returns the definition without secrets: the password in the URL is masked, secrets of the
    /// tunnel are removed. An invalid URL becomes empty.
    #[must_use]
    pub fn masked(&self) -> Self {
        let url = self.url.parse::<ConnectionUrl>();
        ConnectionDefinition {
            url: url.map(|url| url.to_string()).unwrap_or_default(),
            ssh_config: self.ssh_config.as_ref().map(SshConfig::shown),
            ..self.clone()
        }
    }

    /// Reads a stored definition.
    ///
    /// # Errors
    /// It is not JSON of this form.
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

/// A connection as it is shown: without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Its name.
    pub name: String,
    /// Address, the password masked; empty where it cannot be read.
    pub url: String,
    /// Whose SQL it speaks; `None` where its address cannot be read.
    pub db_type: Option<SqlDialect>,
    /// Whether it does without TLS.
    pub ssl_disabled: bool,
    /// Its tunnel.
    pub ssh_config: Option<SshConfig>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether values of its columns may be sampled, where its definition says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<bool>,
    /// When it was put in first.
    pub created_at: Option<jiff::Timestamp>,
    /// When it was put in last.
    pub updated_at: Option<jiff::Timestamp>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Connection {
    /// What a definition looks like without its secrets.
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

    /// A connection that is there and cannot be read.
    pub(super) fn broken(name: &str, problem: String) -> Self {
        Connection {
            name: name.to_owned(),
            problem: Some(problem),
            ..Connection::default()
        }
    }
}
