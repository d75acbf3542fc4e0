//! Shared parts of settings: durations in milliseconds, and the error for an invalid setting.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

pub(crate) fn millis<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
    u64::deserialize(reader).map(Duration::from_millis)
}

pub(crate) fn some_millis<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Duration>, D::Error> {
    millis(reader).map(Some)
}

/// Error for an invalid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct ConfigError {
    /// The name of the setting, such as `tools.modules.translator.base_url`.
    pub setting: String,
    /// The problem and its fix.
    pub message: String,
}

impl ConfigError {
    pub(crate) fn new(setting: impl Into<String>, message: &impl ToString) -> Self {
        ConfigError {
            setting: setting.into(),
            message: message.to_string(),
        }
    }
}
