//! Known column values. A model can translate "paid orders" to `status = 'PAID'` only if it knows
//! how the table spells the value.
//!
//! Values have two sources. Enum labels and lists in CHECK constraints are part of the catalogue
//! ([`TableColumn::values`](crate::catalogue::TableColumn::values)). If sampling is enabled, a
//! bounded [`sample`] of the rows adds values of short text columns ([`rule`]). If a question
//! mentions a value ([`known`]), the model sees it in the database's spelling, and its table ranks
//! higher.

pub(crate) mod checks;
pub(crate) mod known;
pub(crate) mod rule;
pub(crate) mod sample;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use known::ValueIndex;

/// Which databases are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Connections that enable it, and temporary connections to files.
    #[default]
    Auto,
    /// All connections except those that disable it.
    On,
    /// No connections.
    Off,
}

impl Sampling {
    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Sampling::Auto => "auto",
            Sampling::On => "on",
            Sampling::Off => "off",
        }
    }

    /// Returns the mode with this name.
    ///
    /// ```
    /// use quillet_sql::values::Sampling;
    ///
    /// assert_eq!(Sampling::from_name("auto"), Some(Sampling::Auto));
    /// assert_eq!(Sampling::from_name("sometimes"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Sampling> {
        [Sampling::Auto, Sampling::On, Sampling::Off]
            .into_iter()
            .find(|sampling| sampling.name() == name)
    }

    /// Returns whether a connection is sampled, given its own setting.
    ///
    /// ```
    /// use quillet_sql::values::Sampling;
    ///
    /// assert!(Sampling::On.is_enabled_for(None));
    /// assert!(!Sampling::Auto.is_enabled_for(None));
    /// assert!(!Sampling::Off.is_enabled_for(Some(true)));
    /// ```
    #[must_use]
    pub fn is_enabled_for(self, said: Option<bool>) -> bool {
        match self {
            Sampling::Auto => said == Some(true),
            Sampling::On => said != Some(false),
            Sampling::Off => false,
        }
    }
}

/// Limits on sampling, and on the values shown to a model.
#[derive(Clone, Debug)]
pub struct ValuesConfig {
    /// Databases to sample.
    pub sampling: Sampling,
    /// Maximum number of columns to sample in one database.
    pub columns: usize,
    /// Maximum number of rows to read from one table.
    pub rows: usize,
    /// Maximum number of values to store for one column. The most frequent values are stored.
    pub distinct: usize,
    /// Maximum number of characters in a value. Longer values are not stored, because they are
    /// unlikely to be categories.
    pub characters: usize,
    /// Maximum number of bytes to read from one table.
    pub bytes: usize,
    /// Time limit for sampling one table.
    pub table_time: Duration,
    /// Time limit for sampling one database.
    pub time: Duration,
    /// Maximum age of a sample.
    pub age: Duration,
    /// Maximum number of tokens for values in a prompt.
    pub tokens: u64,
}

impl Default for ValuesConfig {
    fn default() -> Self {
        ValuesConfig {
            sampling: Sampling::Auto,
            columns: 500,
            rows: 5_000,
            distinct: 50,
            characters: 40,
            bytes: 4 << 20,
            table_time: Duration::from_secs(2),
            time: Duration::from_secs(30),
            age: Duration::from_secs(3_600),
            tokens: 1_000,
        }
    }
}

/// Sampled values of one database, as stored in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueSamples {
    /// Fingerprint of the catalogue whose columns were sampled.
    pub fingerprint: String,
    /// Time of the sample, in milliseconds since 1970-01-01 UTC.
    pub read_at: u64,
    /// Columns whose values are known.
    pub columns: Vec<SampledColumn>,
}

/// Sampled values of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SampledColumn {
    /// Schema of the table.
    pub schema: String,
    /// Name of the table.
    pub table: String,
    /// Name of the column.
    pub name: String,
    /// Sampled values, most frequent first.
    pub values: Vec<String>,
    /// Whether the column has only a few values that occur often, as a status column does.
    pub is_choice: bool,
}
