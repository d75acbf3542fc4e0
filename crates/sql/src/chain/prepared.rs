//! A catalogue prepared for questions: its rank index and the token cost of each table.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use quillet_core::chat::{ModelError, TokenCounter};
use quillet_core::knowledge::Embedder;
use quillet_core::lock::{read, write};

use super::context::{short_line, table_text};
use crate::Catalogue;
use crate::rank::{DEPTH, Glossary, RankIndex, RankedTable};
use crate::values::{ValueIndex, ValueSamples};

/// A catalogue, and the data that is computed once from it and shared by all questions.
#[derive(Debug)]
pub struct PreparedCatalogue {
    /// The catalogue.
    pub catalogue: Arc<Catalogue>,
    /// Rank index of the catalogue's tables.
    pub index: RankIndex,
    /// Tokens of each table's line in the table list.
    line_tokens: Vec<u32>,
    /// Tokens of each table's schema text.
    schema_tokens: Vec<u32>,
    /// Embeddings of the tables, once an embedder has computed them.
    vectors: OnceLock<Vec<Vec<f32>>>,
    /// Whether a task has started to compute the embeddings.
    embedding: AtomicBool,
    /// Known column values, replaced by each new sample.
    known: RwLock<Arc<ValueIndex>>,
}

impl PreparedCatalogue {
    /// Prepares a catalogue. The call takes about a second for 10,000 tables, so make it on a
    /// blocking thread.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>, glossary: &Glossary, tokens: &dyn TokenCounter) -> Self {
        // The newline that joins two texts counts as one.
        let count = |text: String| u32::try_from(tokens.count_text(&text) + 1).unwrap_or(u32::MAX);
        let tables = catalogue.tables.iter();
        let line_tokens = tables
            .clone()
            .map(|table| count(short_line(table)))
            .collect();
        let schema = |table| count(table_text(table, catalogue.dialect, &|_| None));
        let schema_tokens = tables.map(schema).collect();
        PreparedCatalogue {
            index: RankIndex::build(catalogue.clone(), glossary),
            line_tokens,
            schema_tokens,
            vectors: OnceLock::new(),
            // The flag is separate from the vectors, so that a second question does not start
            // embedding while the first still does.
            embedding: AtomicBool::new(false),
            known: RwLock::new(Arc::new(ValueIndex::of(
                &catalogue,
                &ValueSamples::default(),
            ))),
            catalogue,
        }
    }

    /// Replaces the known values with a new sample.
    pub fn set_values(&self, sampled: &ValueSamples) {
        let known = Arc::new(ValueIndex::of(&self.catalogue, sampled));
        *write(&self.known) = known;
    }

    /// Returns the known column values.
    #[must_use]
    pub fn values(&self) -> Arc<ValueIndex> {
        read(&self.known).clone()
    }

    /// Returns `true` to the first caller only, which then embeds the tables.
    pub(crate) fn try_begin_embedding(&self) -> bool {
        !self.embedding.swap(true, Ordering::Relaxed)
    }

    /// Computes the embeddings of all tables, which [`PreparedCatalogue::rank`] uses from then on.
    ///
    /// # Errors
    /// Returns the embedder's error.
    pub async fn embed(&self, embedder: &dyn Embedder) -> Result<(), ModelError> {
        let vectors = embedder.embed(&self.index.texts()).await?;
        // If another task has already set the vectors, they are equal.
        let _ = self.vectors.set(vectors);
        Ok(())
    }

    /// Returns whether the embeddings of the tables are computed.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.vectors.get().is_some()
    }

    /// Returns the best `most` tables for a question, ranked by words and, if `vector` is given, by
    /// embedding similarity.
    #[must_use]
    pub fn rank(&self, question: &str, vector: Option<&[f32]>, most: usize) -> Vec<RankedTable> {
        match (vector, self.vectors.get()) {
            (Some(vector), Some(tables)) => {
                let by_words = self.rank_among(question, DEPTH, &|_| true);
                self.index.blend_with(by_words, vector, tables, most)
            }
            _ => self.rank_among(question, most, &|_| true),
        }
    }

    /// Returns the best `most` tables among those accepted by `fits`, ranked by words. `fits`
    /// receives an index into the catalogue. The known values of a table are matched like the words
    /// of its names.
    #[must_use]
    pub fn rank_among(
        &self,
        question: &str,
        most: usize,
        fits: &dyn Fn(usize) -> bool,
    ) -> Vec<RankedTable> {
        let named = self.values().mentioned(question).named;
        self.index.rank_knowing(question, &named, most, fits)
    }

    /// Returns the number of tokens in the list of all tables.
    #[must_use]
    pub fn list_tokens(&self) -> u64 {
        self.line_tokens
            .iter()
            .map(|tokens| u64::from(*tokens))
            .sum()
    }

    /// Returns the number of tokens in the schema of all tables.
    #[must_use]
    pub fn full_tokens(&self) -> u64 {
        self.schema_tokens
            .iter()
            .map(|tokens| u64::from(*tokens))
            .sum()
    }

    /// Returns the number of tokens in a table's line of the list; 0 for an unknown table.
    #[must_use]
    pub fn line_tokens(&self, table: usize) -> u64 {
        self.line_tokens.get(table).copied().map_or(0, u64::from)
    }

    /// Returns the number of tokens in a table's schema; 0 for an unknown table.
    #[must_use]
    pub fn table_tokens(&self, table: usize) -> u64 {
        self.schema_tokens.get(table).copied().map_or(0, u64::from)
    }

    /// Returns the tables whose schemas together fit into a token budget, in the given order. The
    /// first table is always included, even if it is too large, because a query needs at least one
    /// table.
    #[must_use]
    pub fn fitting(&self, tables: &[usize], budget: u64) -> Vec<usize> {
        let mut left = budget;
        let mut kept = Vec::new();
        for table in tables {
            let tokens = self.table_tokens(*table);
            if tokens > left && !kept.is_empty() {
                continue;
            }
            left = left.saturating_sub(tokens);
            kept.push(*table);
        }
        kept
    }

    /// Returns the first of these tables whose lines in the list fit into a token budget.
    pub(super) fn listing(&self, tables: &[usize], budget: u64) -> Vec<usize> {
        let mut left = budget;
        let fits = |table: &&usize| {
            let tokens = self.line_tokens.get(**table).copied().map_or(0, u64::from);
            let fits = tokens <= left;
            left = left.saturating_sub(tokens);
            fits
        };
        tables.iter().take_while(fits).copied().collect()
    }
}
