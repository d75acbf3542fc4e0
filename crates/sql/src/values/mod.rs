//! Known values of columns: "paid orders" is `status = 'PAID'` only to a model that knows how the
//! table spells it.
//!
//! Two sources: labels of enums and lists of CHECK constraints, which are part of the catalogue
//! ([`TableColumn::values`](crate::catalogue::TableColumn::values)), and, if enabled, a bounded
//! [`sample`] of the rows of short text columns ([`rule`]). If a question names a value
//! ([`known`]), the model sees it as the database writes it, and its table ranks higher.

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
    /// Its name in settings.
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

/// Bounds on what is sampled, and on what of it a model is shown.
#[derive(Clone, Debug)]
pub struct ValuesConfig {
    /// Of which databases.
    pub sampling: Sampling,
    /// Most columns of one database.
    pub columns: usize,
    /// Most rows of one table that are read.
    pub rows: usize,
    /// Most values of one column that are kept, the commonest.
    pub distinct: usize,
    /// Most characters of a value; longer ones are no names for anything.
    pub characters: usize,
    /// Most bytes that one table's rows may take.
    pub bytes: usize,
    /// Time for one table.
    pub table_time: Duration,
    /// Time for one database.
    pub time: Duration,
    /// How old a sample may be before it is taken again.
    pub age: Duration,
    /// Most tokens of values in a prompt.
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

/// Values of one database as they were sampled: what is stored in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueSamples {
    /// Of the catalogue that said which columns there are.
    pub fingerprint: String,
    /// When they were read, in milliseconds since 1970-01-01 UTC.
    pub read_at: u64,
    /// The columns of which something is known.
    pub columns: Vec<SampledColumn>,
}

/// Values of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SampledColumn {
    /// Schema of its table.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Some of its values, the commonest first.
    pub values: Vec<String>,
    /// Whether they are few and come again and again, as those of a status do.
    pub is_choice: bool,
}
