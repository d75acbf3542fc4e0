//! Replays recorded table selections through the pipeline's parsing and repair.

use std::path::Path;

use foldhash::HashMap;
use quillet_core::chat::TokenCounter;
use serde::{Deserialize, Serialize};

use super::suite::{SearchScope, Suite, SuiteQuestion, read_json};
use crate::chain::{PreparedCatalogue, TableSelection, select_from_answer};
use crate::{ChainMode, SqlConfig, SqlError};

/// A recorded table selection for one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Selection {
    /// Id of the question in the question file.
    pub id: String,
    /// Table names as the model wrote them; `None` if only the query was recorded.
    #[serde(default)]
    pub tables: Option<Vec<String>>,
    /// The query as the model wrote it.
    #[serde(default)]
    pub sql: Option<String>,
}

/// A model's recorded selections for a question file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Recording {
    /// Name of the model.
    #[serde(default)]
    pub model: String,
    /// Recorded selections.
    pub selections: Vec<Selection>,
}

/// Result of replaying recorded selections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// Number of questions that have a recorded selection.
    pub questions: usize,
    /// Share of selections that contain all right tables without repair, from 0 to 1.
    pub complete: f64,
    /// Share of selections that contain all right tables with repair, from 0 to 1.
    pub complete_repaired: f64,
    /// Mean number of selected tables without repair.
    pub tables: f64,
    /// Mean number of selected tables with repair.
    pub tables_repaired: f64,
    /// Number of unusable selections.
    pub fallbacks: usize,
}

impl Recording {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// Fails if the file is missing, too large or invalid.
    pub fn open(path: &Path) -> Result<Self, SqlError> {
        read_json(path)
    }
}

/// Replays recorded selections, with and without repair. Repair adds the best-ranked
/// `config.repair_tables` tables. Each question uses only its own database, as when the selections
/// were recorded.
#[must_use]
pub fn replay(
    suite: &Suite,
    recording: &Recording,
    config: &SqlConfig,
    tokens: &dyn TokenCounter,
) -> ReplayReport {
    let by_id: HashMap<&str, &Selection> = recording
        .selections
        .iter()
        .map(|s| (s.id.as_str(), s))
        .collect();
    let bare = SqlConfig {
        repair_tables: 0,
        chain: ChainMode::Budget,
        ..config.clone()
    };
    let repairing = SqlConfig {
        chain: ChainMode::Budget,
        ..config.clone()
    };
    let mut sums = ReplayReport::default();
    for (catalogue, asked) in suite.scopes(SearchScope::Db) {
        let prepared = PreparedCatalogue::new(catalogue, &config.glossary, tokens);
        for question in asked.iter().map(|i| &suite.questions[*i]) {
            let Some(selection) = by_id.get(question.id.as_str()) else {
                continue;
            };
            let Some(tables) = &selection.tables else {
                continue;
            };
            let answer = serde_json::to_string(tables).unwrap_or_default();
            let ranked = prepared.index.rank(&question.question, config.candidates);
            let before = select_from_answer(Ok(&answer), &prepared, &ranked, &bare);
            let after = select_from_answer(Ok(&answer), &prepared, &ranked, &repairing);
            sums.add(&prepared, question, &before, &after);
        }
    }
    sums.means()
}

impl ReplayReport {
    fn add(
        &mut self,
        prepared: &PreparedCatalogue,
        question: &SuiteQuestion,
        before: &TableSelection,
        after: &TableSelection,
    ) {
        let complete = |choice: &TableSelection| {
            let named = |name: &String| {
                let mut tables = choice
                    .tables
                    .iter()
                    .filter_map(|i| prepared.catalogue.tables.get(*i));
                tables.any(|table| table.qualified() == *name)
            };
            f64::from(u8::from(question.gold.iter().all(named)))
        };
        self.questions += 1;
        self.fallbacks += usize::from(before.fallback.is_some());
        self.complete += complete(before);
        self.complete_repaired += complete(after);
        self.tables += before.tables.len() as f64;
        self.tables_repaired += after.tables.len() as f64;
    }

    fn means(self) -> Self {
        let count = self.questions.max(1) as f64;
        ReplayReport {
            complete: self.complete / count,
            complete_repaired: self.complete_repaired / count,
            tables: self.tables / count,
            tables_repaired: self.tables_repaired / count,
            ..self
        }
    }
}
