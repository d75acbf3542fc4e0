//! Settings of text-to-SQL.

use std::time::Duration;

use crate::database::{ConnectOptions, QueryLimits};
use crate::rank::Glossary;
use crate::values::ValuesConfig;

/// The text-to-SQL pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainMode {
    /// A token budget decides which stages run, and every fallback is bounded by it.
    #[default]
    Budget,
    /// The pipeline of table-chat: the number of tables decides, and fallbacks show all of them.
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
    /// Which chain writes the query.
    pub chain: ChainMode,
    /// The model that chooses tables and writes queries; the model's own default where `None`.
    pub model: Option<String>,
    /// Up to this many tables phase 1 is skipped, in [`ChainMode::Seed`]. Default 3, table-chat's
    /// `TABLE_SELECTION_THRESHOLD`.
    pub table_selection_threshold: usize,
    /// Most tables that phase 1 may choose (table-chat's `MAX_SELECTED_TABLES`). Default 10.
    pub max_selected_tables: usize,
    /// Most tokens of phase 1's answer (table-chat's `PHASE1_MAX_TOKENS`). Default 256.
    pub phase1_max_tokens: u64,
    /// Temperature of phase 1 (table-chat's `PHASE1_TEMPERATURE`). Default 0.1.
    pub phase1_temperature: f64,
    /// Most tokens of phase 2's answer. Default 4,096, as table-chat.
    pub phase2_max_tokens: u64,
    /// Temperature of phase 2. Default 0.1, as table-chat.
    pub phase2_temperature: f64,
    /// Schemas whose whole text has at most this many tokens skip phase 1.
    pub full_schema_tokens: u64,
    /// Lists of tables above this many tokens are cut to the best by rank before phase 1.
    pub list_tokens: u64,
    /// Most tokens of schema text in phase 2; a fallback to all tables stops here.
    pub schema_tokens: u64,
    /// Tables that ranking leaves for phase 1.
    pub candidates: usize,
    /// Databases with more tables than this are ranked by words alone, even where there is an
    /// embedder.
    pub embedded_tables: usize,
    /// Best tables by rank that are added to phase 1's choice.
    pub repair_tables: usize,
    /// Maximum number of repairs: errors of the guard or the database that are sent back to the
    /// model.
    pub repairs: u32,
    /// Number of earlier questions of the conversation that the model is shown.
    pub previous: usize,
    /// The LIMIT that the prompt requests. Default 100, as table-chat.
    pub default_limit: u64,
    /// Functions that queries may call in addition to the built-in list.
    pub functions: Vec<String>,
    /// Bounds on one query.
    pub limits: QueryLimits,
    /// Bounds on one export.
    pub export_limits: QueryLimits,
    /// Most rows of one result of a tool. Default 100, as table-chat.
    pub tool_rows: usize,
    /// Most characters of one result of a tool, rows or tables. Default 10,000, as table-chat.
    pub tool_characters: usize,
    /// Maximum number of open connections to one database in this process; further queries wait,
    /// within their timeout.
    pub connections: usize,
    /// How connections are made.
    pub connect: ConnectOptions,
    /// How long a catalogue is used before its fingerprint is compared again. Queries never wait
    /// for the comparison; questions wait only if none was asked for this long.
    pub catalogue_age: Duration,
    /// Glossary: words of the users and their meanings.
    pub glossary: Glossary,
    /// Maximum number of accepted question/query pairs in a prompt; 0 for none.
    pub examples: usize,
    /// Maximum number of tokens of these pairs.
    pub examples_tokens: u64,
    /// Values of columns that are sampled and shown.
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
