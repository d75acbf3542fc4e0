//! How often the right tables are among the best by rank, and what that saves.

use std::time::{Duration, Instant};

use foldhash::HashSet;
use quillet_core::chat::TokenCounter;
use serde::Serialize;

use super::suite::{Asked, Suite};
use crate::SqlConfig;
use crate::chain::{Plan, Prepared, chosen, plan};
use crate::database::Progress;
use crate::rank::Ranked;

/// How many of the best tables are looked at.
pub const DEPTHS: [usize; 5] = [5, 10, 15, 20, 50];

/// What the best `k` tables hold, in shares from 0 to 1, as means over the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct At {
    /// How many of the best tables.
    pub k: usize,
    /// Share of the right tables that are among them.
    pub recall: f64,
    /// Share of the questions all of whose tables are among them.
    pub complete: f64,
    /// Share of them that are right.
    pub precision: f64,
}

/// Tokens of prompts, as means over the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// The schema of all tables.
    pub full: f64,
    /// The list of phase 1 and the schema of phase 2 where the model chooses the right tables
    /// and repair adds its own; the whole schema where that is what the chain shows.
    pub chain: f64,
}

/// How long it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Milliseconds to build all indexes, tokens not counted.
    pub build_ms: f64,
    /// Milliseconds within which half of the questions are ranked.
    pub p50_ms: f64,
    /// Milliseconds within which 99 of 100 questions are ranked.
    pub p99_ms: f64,
}

/// What came of measuring a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// The file's name.
    pub name: String,
    /// Questions that were asked.
    pub questions: usize,
    /// Tables of all catalogues.
    pub tables: usize,
    /// One for each of [`DEPTHS`].
    pub at: Vec<At>,
    /// Tokens.
    pub tokens: Tokens,
    /// Times.
    pub timings: Timings,
}

/// Ranks the tables for every question of a suite. Deterministic but for the times.
#[must_use]
pub fn measure(
    suite: &Suite,
    config: &SqlConfig,
    tokens: &dyn TokenCounter,
    progress: Progress,
) -> Measured {
    let mut sums = Sums::default();
    for (catalogue, asked) in suite.scopes(suite.scope) {
        sums.tables += catalogue.tables.len();
        let start = Instant::now();
        drop(crate::rank::Index::build(
            catalogue.clone(),
            &config.glossary,
        ));
        sums.build += start.elapsed();
        let prepared = Prepared::new(catalogue, &config.glossary, tokens);
        for i in asked {
            progress(
                sums.times.len() as u64,
                suite.questions.len() as u64,
                &suite.name,
            );
            sums.add(&prepared, &suite.questions[i], config);
        }
    }
    sums.means(&suite.name)
}

#[derive(Default)]
struct Sums {
    tables: usize,
    build: Duration,
    times: Vec<Duration>,
    at: [At; DEPTHS.len()],
    tokens: Tokens,
}

impl Sums {
    fn add(&mut self, prepared: &Prepared, asked: &Asked, config: &SqlConfig) {
        let start = Instant::now();
        let ranked = prepared
            .index
            .rank(&asked.question, DEPTHS[DEPTHS.len() - 1]);
        self.times.push(start.elapsed());
        let gold: HashSet<&str> = asked.gold.iter().map(String::as_str).collect();
        let right = |ranked: &Ranked| {
            let table = prepared.catalogue.tables.get(ranked.table);
            table.is_some_and(|table| gold.contains(table.qualified().as_str()))
        };
        for (sum, k) in self.at.iter_mut().zip(DEPTHS) {
            let shown = ranked.len().min(k);
            let found = ranked.iter().take(k).filter(|ranked| right(ranked)).count();
            sum.recall += found as f64 / gold.len().max(1) as f64;
            sum.complete += f64::from(u8::from(found == gold.len()));
            sum.precision += found as f64 / shown.max(1) as f64;
        }
        self.tokens.full += prepared.full_tokens() as f64;
        self.tokens.chain += shown_tokens(prepared, &ranked, asked, config) as f64;
    }

    fn means(mut self, name: &str) -> Measured {
        let count = self.times.len().max(1) as f64;
        self.times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let within = |share: usize| {
            let time = self.times.get(self.times.len() * share / 100);
            time.copied().map_or(0.0, ms)
        };
        let mean = |(sum, k): (&At, usize)| At {
            k,
            recall: sum.recall / count,
            complete: sum.complete / count,
            precision: sum.precision / count,
        };
        Measured {
            name: name.to_owned(),
            questions: self.times.len(),
            tables: self.tables,
            at: self.at.iter().zip(DEPTHS).map(mean).collect(),
            tokens: Tokens {
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

/// Tokens of tables that the chain shows where the model's choice is right.
fn shown_tokens(prepared: &Prepared, ranked: &[Ranked], asked: &Asked, config: &SqlConfig) -> u64 {
    let Plan::Choose(listed) = plan(prepared, ranked, config) else {
        return prepared.full_tokens();
    };
    let list: u64 = listed
        .iter()
        .map(|table| prepared.line_tokens(*table))
        .sum();
    let answer = serde_json::to_string(&asked.gold).unwrap_or_default();
    let choice = chosen(Ok(&answer), prepared, ranked, config);
    let schema = choice
        .tables
        .iter()
        .map(|table| prepared.table_tokens(*table));
    list + schema.sum::<u64>()
}
