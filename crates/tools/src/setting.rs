//! What every settings section needs: durations in milliseconds, and the error of a wrong setting.

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

/// The error of a wrong configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct ConfigError {
    /// The setting, such as `tools.modules.translator.base_url`.
    pub setting: String,
    /// What is wrong and how to fix it.
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
