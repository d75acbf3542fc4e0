//! Settings of questions to databases.

use std::time::Duration;

use crate::database::{ConnectOptions, QueryLimits};
use crate::rank::Glossary;
use crate::values::ValuesConfig;

/// Which chain writes the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainMode {
    /// A token budget decides which stages run, and every fallback is bounded by it.
    #[default]
    Budget,
    /// The chain as table-chat has it: the number of tables decides, and fallbacks take all of
    /// them.
    Seed,
}

impl ChainMode {
    /// Its name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChainMode::Budget => "budget",
            ChainMode::Seed => "seed",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<ChainMode> {
        [ChainMode::Budget, ChainMode::Seed]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// Everything that can be set.
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
    /// How many times an error of the guard or the database goes back to the model.
    pub repairs: u32,
    /// Earlier questions of the same talk that the model is shown with the next one.
    pub previous: usize,
    /// The LIMIT that the model is asked to write. Default 100, as table-chat.
    pub default_limit: u64,
    /// Functions that queries may call besides those of the dialect's list.
    pub functions: Vec<String>,
    /// Bounds on one query.
    pub limits: QueryLimits,
    /// Bounds on one export.
    pub export_limits: QueryLimits,
    /// Most rows of one result of a tool. Default 100, as table-chat.
    pub tool_rows: usize,
    /// Most characters of one result of a tool, rows or tables. Default 10,000, as table-chat.
    pub tool_characters: usize,
    /// Connections to one database that are open at a time; more queries wait for their turn, as
    /// long as they may run. Each process has its own.
    pub connections: usize,
    /// How connections are made.
    pub connect: ConnectOptions,
    /// How long a catalogue is trusted before its fingerprint is asked for again. Queries never
    /// wait for that, and questions only where nobody asked one for this long.
    pub catalogue_age: Duration,
    /// Words of the users and what they stand for.
    pub glossary: Glossary,
    /// Most accepted pairs of a question and a query that a model is shown as examples; 0 for none.
    pub examples: usize,
    /// Most tokens of these.
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
