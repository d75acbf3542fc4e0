//! A connection as it is put in, as it rests, and as it is shown.

use serde::{Deserialize, Serialize};

use crate::{ConnectionUrl, Dialect, SqlError};

/// A connection as it is put in and as it rests in the store (JSON, camelCase).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// Address, with its password.
    pub url: String,
    /// Whether to do without TLS.
    #[serde(default)]
    pub ssl_disabled: bool,
    /// A tunnel to the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<SshConfig>,
    /// What it holds, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words of its users and what they stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glossary: Vec<(String, Vec<String>)>,
    /// When it was put in first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<jiff::Timestamp>,
    /// When it was put in last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<jiff::Timestamp>,
}

/// A tunnel over SSH.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SshConfig {
    /// Host of the SSH server.
    pub host: String,
    /// Its port; 22 where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// User there.
    pub username: String,
    /// File of the private key; else what `ssh` itself takes, such as its agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_file: Option<String>,
    /// File of the hosts that are known; else that of `ssh` itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_hosts_file: Option<String>,
}

impl Definition {
    /// A connection to an address, with nothing else set.
    #[must_use]
    pub fn of(url: impl Into<String>) -> Self {
        Definition {
            url: url.into(),
            ..Definition::default()
        }
    }

    /// Reads a definition as it rests.
    ///
    /// # Errors
    /// It is not JSON of this form.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, SqlError> {
        serde_json::from_str(text).map_err(|error| SqlError::Invalid {
            code: "sql.invalid.definition",
            message: format!(
                "the connection {name:?} cannot be read: {}",
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
    pub db_type: Option<Dialect>,
    /// Whether it does without TLS.
    pub ssl_disabled: bool,
    /// Its tunnel.
    pub ssh_config: Option<SshConfig>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
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
    pub(super) fn of(name: &str, definition: &Definition) -> Self {
        let parsed = definition.url.parse::<ConnectionUrl>();
        let url = parsed.as_ref().ok();
        Connection {
            name: name.to_owned(),
            url: url.map(ToString::to_string).unwrap_or_default(),
            db_type: url.map(|url| url.dialect),
            ssl_disabled: definition.ssl_disabled,
            ssh_config: definition.ssh_config.clone(),
            description: definition.description.clone(),
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
