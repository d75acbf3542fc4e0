//! Values that columns are known to have: "paid orders" is `status = 'PAID'` only to those who know
//! how the table spells it.
//!
//! Two sources: labels of enums and lists of CHECK constraints, which stand in the catalogue
//! ([`Column::values`](crate::catalogue::Column::values)); and, where that is wanted, a bounded
//! [`sample`] of the rows of short text columns ([`rule`]). A question that names a value
//! ([`known`]) has it shown to the model as the database writes it, and its table ranked higher.

pub(crate) mod checks;
pub(crate) mod known;
pub(crate) mod rule;
pub(crate) mod sample;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use known::ValueIndex;

/// Of which databases values are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Of those whose connection says so, and of files that were named for this process only.
    #[default]
    Auto,
    /// Of all but those whose connection says no.
    On,
    /// Of none, whatever a connection says.
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

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Sampling> {
        [Sampling::Auto, Sampling::On, Sampling::Off]
            .into_iter()
            .find(|sampling| sampling.name() == name)
    }

    /// Whether values are sampled of a connection that says so, says no, or says nothing.
    #[must_use]
    pub fn takes(self, said: Option<bool>) -> bool {
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
