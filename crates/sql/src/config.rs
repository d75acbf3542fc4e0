//! Settings of the text-to-SQL pipeline.

use std::time::Duration;

use crate::database::{ConnectOptions, QueryLimits};
use crate::rank::Glossary;
use crate::values::ValuesConfig;

/// Variant of the text-to-SQL pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainMode {
    /// A token budget decides which stages run and limits every fallback.
    #[default]
    Budget,
    /// The pipeline of table-chat. The number of tables decides which stages run, and fallbacks
    /// show all tables.
    Seed,
}

impl ChainMode {
    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChainMode::Budget => "budget",
            ChainMode::Seed => "seed",
        }
    }

    /// Returns the mode with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ChainMode> {
        [ChainMode::Budget, ChainMode::Seed]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// All settings of text-to-SQL.
#[derive(Clone, Debug)]
pub struct SqlConfig {
    /// Variant of the pipeline.
    pub chain: ChainMode,
    /// Model that selects tables and writes queries; the default model if `None`.
    pub model: Option<String>,
    /// Number of tables up to which [`ChainMode::Seed`] skips phase 1. Default 3, as in table-chat
    /// (`TABLE_SELECTION_THRESHOLD`).
    pub table_selection_threshold: usize,
    /// Maximum number of tables that phase 1 may select (table-chat's `MAX_SELECTED_TABLES`).
    /// Default 10.
    pub max_selected_tables: usize,
    /// Maximum number of tokens in the answer of phase 1 (table-chat's `PHASE1_MAX_TOKENS`).
    /// Default 256.
    pub phase1_max_tokens: u64,
    /// Temperature of phase 1 (table-chat's `PHASE1_TEMPERATURE`). Default 0.1.
    pub phase1_temperature: f64,
    /// Maximum number of tokens in the answer of phase 2. Default 4,096, as in table-chat.
    pub phase2_max_tokens: u64,
    /// Temperature of phase 2. Default 0.1, as in table-chat.
    pub phase2_temperature: f64,
    /// If the whole schema has at most this number of tokens, phase 1 is skipped.
    pub full_schema_tokens: u64,
    /// Maximum number of tokens in the table list of phase 1. A longer list is reduced to the
    /// best-ranked tables.
    pub list_tokens: u64,
    /// Maximum number of tokens in the schema of phase 2. This also limits a fallback to all
    /// tables.
    pub schema_tokens: u64,
    /// Number of best-ranked tables that phase 1 selects from.
    pub candidates: usize,
    /// Maximum number of tables to embed. Databases with more tables are ranked only by words, even
    /// if an embedder is configured.
    pub embedded_tables: usize,
    /// Number of best-ranked tables added to the selection of phase 1.
    pub repair_tables: usize,
    /// Maximum number of repairs. Each repair sends an error from the guard or the database back to
    /// the model.
    pub repairs: u32,
    /// Number of earlier questions of the conversation that the model is shown.
    pub previous: usize,
    /// LIMIT that the prompt requests. Default 100, as in table-chat.
    pub default_limit: u64,
    /// Functions that queries may call in addition to the built-in list.
    pub functions: Vec<String>,
    /// Limits on one query.
    pub limits: QueryLimits,
    /// Limits on one export.
    pub export_limits: QueryLimits,
    /// Maximum number of rows in one tool result. Default 100, as in table-chat.
    pub tool_rows: usize,
    /// Maximum number of characters in one tool result. Default 10,000, as in table-chat.
    pub tool_characters: usize,
    /// Maximum number of open connections to one database in this process. Further queries wait, up
    /// to their timeout.
    pub connections: usize,
    /// Options for new connections.
    pub connect: ConnectOptions,
    /// Time after which a catalogue's fingerprint is compared again. Queries never wait for the
    /// comparison. A question waits for the comparison only if the catalogue was not used for this
    /// long.
    pub catalogue_age: Duration,
    /// Glossary that maps the users' words to their meanings.
    pub glossary: Glossary,
    /// Maximum number of examples (accepted questions and their queries) in a prompt; 0 disables
    /// examples.
    pub examples: usize,
    /// Maximum number of tokens for all examples.
    pub examples_tokens: u64,
    /// Settings for sampling column values and showing them to the model.
    pub values: ValuesConfig,
}

impl Default for SqlConfig {
    fn default() -> Self {
        SqlConfig {
            chain: ChainMode::Budget,
            model: None,
            table_selection_threshold: 3,
            max_selected_tables: 10,
            phase1_max_tokens: 256,
            phase1_temperature: 0.1,
            phase2_max_tokens: 4_096,
            phase2_temperature: 0.1,
            full_schema_tokens: 3_000,
            list_tokens: 4_000,
            schema_tokens: 12_000,
            candidates: 50,
            embedded_tables: 2_000,
            repair_tables: 3,
            repairs: 1,
            previous: 5,
            default_limit: 100,
            functions: Vec::new(),
            limits: QueryLimits::default(),
            export_limits: QueryLimits {
                rows: 100_000,
                bytes: 256 << 20,
                timeout: Duration::from_secs(300),
            },
            tool_rows: 100,
            tool_characters: 10_000,
            connections: 16,
            connect: ConnectOptions::default(),
            catalogue_age: Duration::from_secs(60),
            glossary: Glossary::default(),
            examples: 3,
            examples_tokens: 1_000,
            values: ValuesConfig::default(),
        }
    }
}
