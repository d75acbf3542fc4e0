//! Table selection: decides whether phase 1 is needed, and applies its answer.

use super::prepared::PreparedCatalogue;
use super::select::{fallback, read_selection};
use super::{Fallback, SelectedTable};
use crate::rank::RankedTable;
use crate::{ChainMode, SqlConfig};

/// Plan for phase 1 of a question: whether a model selects tables, and from which candidates.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectionPlan {
    /// Show all tables without calling a model.
    All,
    /// The catalogue has no tables. This counts as a fallback.
    Nothing,
    /// Phase 1 selects among these tables.
    Choose(Vec<usize>),
}

/// The selected tables and how each was selected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableSelection {
    /// Indexes into the catalogue, in the order of the prompt.
    pub tables: Vec<usize>,
    /// Source of each selection.
    pub chosen_by: Vec<&'static str>,
    /// Reason why the answer of phase 1 was unusable.
    pub fallback: Option<Fallback>,
    /// Number of selected tables that did not fit into the token budget.
    pub omitted: usize,
}

/// Plans the selection for a question, given the tables that best match the question.
///
/// In [`ChainMode::Seed`], phase 1 is skipped for up to `table_selection_threshold` tables;
/// otherwise, the list in phase 1 contains all tables. In [`ChainMode::Budget`], phase 1 is also
/// skipped if the whole schema is small, and a list that is too long is reduced to the best-ranked
/// tables.
#[must_use]
pub fn plan(
    prepared: &PreparedCatalogue,
    ranked: &[RankedTable],
    config: &SqlConfig,
) -> SelectionPlan {
    let count = prepared.catalogue.tables.len();
    if count == 0 {
        return SelectionPlan::Nothing;
    }
    // Phase 1 costs a model call. Showing a small schema directly is cheaper and loses no table.
    let small =
        config.chain == ChainMode::Budget && prepared.full_tokens() <= config.full_schema_tokens;
    if count <= config.table_selection_threshold || small {
        return SelectionPlan::All;
    }
    let all: Vec<usize> = (0..count).collect();
    if config.chain == ChainMode::Seed || prepared.list_tokens() <= config.list_tokens {
        return SelectionPlan::Choose(all);
    }
    let best: Vec<usize> = ranked
        .iter()
        .take(config.candidates)
        .map(|r| r.table)
        .collect();
    // If no table matches the question's words, list the largest tables that fit.
    let candidates = if best.is_empty() {
        by_size(prepared)
    } else {
        best
    };
    SelectionPlan::Choose(prepared.listing(&candidates, config.list_tokens))
}

/// Returns all tables, largest row count first; ties keep their order.
fn by_size(prepared: &PreparedCatalogue) -> Vec<usize> {
    let tables = &prepared.catalogue.tables;
    let mut all: Vec<usize> = (0..tables.len()).collect();
    all.sort_by_key(|i| std::cmp::Reverse(tables.get(*i).and_then(|table| table.row_count)));
    all
}

/// Returns the selection for a plan without phase 1.
#[must_use]
pub fn select_without_model(
    plan: &SelectionPlan,
    prepared: &PreparedCatalogue,
    config: &SqlConfig,
) -> TableSelection {
    let all: Vec<usize> = (0..prepared.catalogue.tables.len()).collect();
    let empty = || fallback("no_tables", "the database has no tables");
    within_budget(
        TableSelection {
            chosen_by: vec!["all"; all.len()],
            tables: all,
            fallback: matches!(plan, SelectionPlan::Nothing).then(empty),
            omitted: 0,
        },
        prepared,
        config,
    )
}

/// Returns the selection from an answer of phase 1, or the reason why the answer is unusable.
#[must_use]
pub fn select_from_answer(
    answer: Result<&str, Fallback>,
    prepared: &PreparedCatalogue,
    ranked: &[RankedTable],
    config: &SqlConfig,
) -> TableSelection {
    let read = answer
        .and_then(|text| read_selection(text, &prepared.catalogue, config.max_selected_tables));
    let choice = match read {
        Ok(tables) => with_ranked_tables(tables, ranked, config),
        Err(fallback) => fallback_selection(fallback, prepared, ranked, config),
    };
    within_budget(choice, prepared, config)
}

/// Adds the best-ranked tables that the model left out. One or two more tables halve the number of
/// questions that silently lose a table. [`ChainMode::Seed`] adds none.
fn with_ranked_tables(
    tables: Vec<usize>,
    ranked: &[RankedTable],
    config: &SqlConfig,
) -> TableSelection {
    let mut choice = TableSelection {
        chosen_by: vec!["model"; tables.len()],
        tables,
        ..TableSelection::default()
    };
    if config.chain == ChainMode::Budget {
        for ranked in ranked.iter().take(config.repair_tables) {
            if !choice.tables.contains(&ranked.table) {
                choice.tables.push(ranked.table);
                choice.chosen_by.push("rank");
            }
        }
    }
    choice
}

/// Returns all tables in [`ChainMode::Seed`], or the best-ranked ones that fit in
/// [`ChainMode::Budget`].
fn fallback_selection(
    fallback: Fallback,
    prepared: &PreparedCatalogue,
    ranked: &[RankedTable],
    config: &SqlConfig,
) -> TableSelection {
    let count = prepared.catalogue.tables.len();
    let mut tables: Vec<usize> = match config.chain {
        ChainMode::Seed => (0..count).collect(),
        ChainMode::Budget => ranked.iter().map(|r| r.table).collect(),
    };
    let by_rank = tables.len();
    let mut is_in = vec![false; count];
    for table in &tables {
        is_in
            .get_mut(*table)
            .into_iter()
            .for_each(|is_in| *is_in = true);
    }
    // Tables without a rank follow by size, the best remaining estimate of relevance.
    tables.extend(
        by_size(prepared)
            .into_iter()
            .filter(|i| !is_in.get(*i).copied().unwrap_or(true)),
    );
    let chosen_by = (0..tables.len()).map(|i| match config.chain {
        ChainMode::Budget if i < by_rank => "rank",
        _ => "all",
    });
    TableSelection {
        chosen_by: chosen_by.collect(),
        tables,
        fallback: Some(fallback),
        omitted: 0,
    }
}

/// Drops tables that do not fit the budget. [`ChainMode::Seed`] has no budget.
fn within_budget(
    choice: TableSelection,
    prepared: &PreparedCatalogue,
    config: &SqlConfig,
) -> TableSelection {
    if config.chain == ChainMode::Seed {
        return choice;
    }
    let kept = prepared.fitting(&choice.tables, config.schema_tokens);
    let by = |table: &usize| {
        let at = choice.tables.iter().position(|other| other == table);
        at.and_then(|at| choice.chosen_by.get(at).copied())
            .unwrap_or("all")
    };
    TableSelection {
        chosen_by: kept.iter().map(by).collect(),
        omitted: choice.tables.len() - kept.len(),
        tables: kept,
        fallback: choice.fallback,
    }
}

impl TableSelection {
    /// Returns the tables for the reply, and for each table the words that matched.
    #[must_use]
    pub fn report(
        &self,
        prepared: &PreparedCatalogue,
        ranked: &[RankedTable],
    ) -> Vec<SelectedTable> {
        let chosen = self.tables.iter().zip(&self.chosen_by);
        let shown = chosen.filter_map(|(i, chosen_by)| {
            let table = prepared.catalogue.tables.get(*i)?;
            let found = ranked.iter().find(|ranked| ranked.table == *i);
            Some(SelectedTable {
                name: table.qualified(),
                chosen_by,
                why: found.map(|ranked| ranked.why.clone()).unwrap_or_default(),
            })
        });
        shown.collect()
    }
}
