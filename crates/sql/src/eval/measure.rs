//! Measures how often the right tables are ranked best, and how many tokens that saves.

use std::time::{Duration, Instant};

use foldhash::HashSet;
use quillet_core::chat::TokenCounter;
use serde::Serialize;

use super::order::{DEPTHS, Order};
use super::plain::Bm25Index;
use super::suite::{Suite, SuiteQuestion};
use crate::SqlConfig;
use crate::chain::{PreparedCatalogue, SelectionPlan, plan, select_from_answer};
use crate::database::ProgressFn;
use crate::rank::RankedTable;

const DEEPEST: usize = DEPTHS[DEPTHS.len() - 1];

/// Mean prompt tokens per question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeanTokens {
    /// Tokens of the schema of all tables.
    pub full: f64,
    /// Tokens of the table list in phase 1 plus tokens of the schema in phase 2. The calculation
    /// assumes that the model selects exactly the right tables, and that repair adds its tables.
    /// Questions for which the pipeline shows the whole schema count with that schema.
    pub chain: f64,
}

/// Ranking times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Time to build all indexes in milliseconds, excluding the counting of tokens.
    pub build_ms: f64,
    /// Median ranking time of a question, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the ranking times, in milliseconds.
    pub p99_ms: f64,
}

/// Result of measuring the ranking of one suite file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RankingReport {
    /// Name of the suite.
    pub name: String,
    /// Number of questions.
    pub questions: usize,
    /// Total number of tables in all catalogues.
    pub tables: usize,
    /// Quality of the ranking.
    #[serde(flatten)]
    pub order: Order,
    /// Quality of ranking only by BM25F, as a baseline.
    pub plain: Order,
    /// Prompt tokens.
    pub tokens: MeanTokens,
    /// Ranking times.
    pub timings: Timings,
}

/// Ranks the tables for every question of a suite. The result is deterministic except for the
/// times.
#[must_use]
pub fn measure(
    suite: &Suite,
    config: &SqlConfig,
    tokens: &dyn TokenCounter,
    progress: ProgressFn,
) -> RankingReport {
    let mut sums = MeasuredTotals::default();
    for (catalogue, asked) in suite.scopes(suite.scope) {
        sums.tables += catalogue.tables.len();
        let start = Instant::now();
        drop(crate::rank::RankIndex::build(
            catalogue.clone(),
            &config.glossary,
        ));
        sums.build += start.elapsed();
        let prepared = PreparedCatalogue::new(catalogue, &config.glossary, tokens);
        let plain = Bm25Index::new(&prepared.catalogue.tables);
        for i in asked {
            progress(
                sums.times.len() as u64,
                suite.questions.len() as u64,
                &suite.name,
            );
            sums.add(&prepared, &plain, &suite.questions[i], config);
        }
    }
    sums.means(&suite.name)
}

#[derive(Default)]
struct MeasuredTotals {
    tables: usize,
    build: Duration,
    times: Vec<Duration>,
    order: Order,
    plain: Order,
    tokens: MeanTokens,
}

impl MeasuredTotals {
    fn add(
        &mut self,
        prepared: &PreparedCatalogue,
        plain: &Bm25Index,
        asked: &SuiteQuestion,
        config: &SqlConfig,
    ) {
        let start = Instant::now();
        let ranked = prepared.index.rank(&asked.question, DEEPEST);
        self.times.push(start.elapsed());
        let tables = prepared.catalogue.tables.iter().enumerate();
        let gold = tables.filter(|(_, table)| asked.gold.contains(&table.qualified()));
        let gold: HashSet<usize> = gold.map(|(i, _)| i).collect();
        let order: Vec<usize> = ranked.iter().map(|ranked| ranked.table).collect();
        self.order.add(&order, &gold);
        self.plain.add(&plain.rank(&asked.question, DEEPEST), &gold);
        self.tokens.full += prepared.full_tokens() as f64;
        self.tokens.chain += shown_tokens(prepared, &ranked, asked, config) as f64;
    }

    fn means(mut self, name: &str) -> RankingReport {
        let count = self.times.len().max(1) as f64;
        self.times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let within = |share: usize| {
            let time = self.times.get(self.times.len() * share / 100);
            time.copied().map_or(0.0, ms)
        };
        RankingReport {
            name: name.to_owned(),
            questions: self.times.len(),
            tables: self.tables,
            order: self.order.mean(self.times.len()),
            plain: self.plain.mean(self.times.len()),
            tokens: MeanTokens {
                full: self.tokens.full / count,
                chain: self.tokens.chain / count,
            },
            timings: Timings {
                build_ms: ms(self.build),
                p50_ms: within(50),
                p99_ms: within(99),
            },
        }
    }
}

/// Returns the tokens of the tables that the pipeline shows if the model selects the right ones.
fn shown_tokens(
    prepared: &PreparedCatalogue,
    ranked: &[RankedTable],
    asked: &SuiteQuestion,
    config: &SqlConfig,
) -> u64 {
    let SelectionPlan::Choose(listed) = plan(prepared, ranked, config) else {
        return prepared.full_tokens();
    };
    let list: u64 = listed
        .iter()
        .map(|table| prepared.line_tokens(*table))
        .sum();
    let answer = serde_json::to_string(&asked.gold).unwrap_or_default();
    let choice = select_from_answer(Ok(&answer), prepared, ranked, config);
    let schema = choice
        .tables
        .iter()
        .map(|table| prepared.table_tokens(*table));
    list + schema.sum::<u64>()
}
