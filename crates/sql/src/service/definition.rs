//! A connection as it is put in, as it rests, and as it is shown.

use serde::{Deserialize, Serialize};

use crate::Dialect;

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
}

/// A connection as it is shown: without secrets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Its name.
    pub name: String,
    /// Address, the password masked.
    pub url: String,
    /// Whose SQL it speaks.
    pub db_type: Dialect,
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
}
