//! Documents in an SQLite file, with their passages and vectors.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::chat::ModelError;
use quillet_core::knowledge::{DocumentInfo, DocumentInput, Embedder, Knowledge, Passage};
use quillet_core::store::{StoreError, StoreErrorKind};

use super::rows::{self, IndexedDocument, SearchQuery};
use super::vectors;
use crate::sqlite::Database;
use crate::tokenize;

/// Maximum number of passages in an answer.
const MAX_FOUND: usize = 1000;
/// Candidates in each ranking per passage of the answer.
const CANDIDATES: usize = 5;

/// Options for storing documents.
#[derive(Clone, Debug)]
pub struct KnowledgeOptions {
    /// Maximum length of a passage in characters; 1,000.
    pub passage_characters: usize,
    /// Overlap of consecutive passages in characters; 150, and at most half a passage.
    pub overlap_characters: usize,
    /// Maximum size of a document in bytes; 4 MiB.
    pub max_document_bytes: usize,
    /// Maximum number of files in an imported folder; 10,000.
    pub max_files: usize,
    /// Number of passages per embedding request; 64.
    pub embed_batch: usize,
}

impl Default for KnowledgeOptions {
    fn default() -> Self {
        KnowledgeOptions {
            passage_characters: 1_000,
            overlap_characters: 150,
            max_document_bytes: 4 << 20,
            max_files: 10_000,
            embed_batch: 64,
        }
    }
}

/// Documents in an SQLite file.
#[derive(Debug)]
pub struct SqliteKnowledge {
    pub(super) database: Database,
    pub(super) options: KnowledgeOptions,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
}

impl SqliteKnowledge {
    /// Opens or creates the file. `:memory:` creates a database that is deleted on drop. If an
    /// embedder is given, passages are also found by meaning. Documents that were stored without an
    /// embedder, or with another model, are found only by words until they are stored again.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(
        path: &Path,
        embedder: Option<Arc<dyn Embedder>>,
        options: KnowledgeOptions,
    ) -> Result<Self, StoreError> {
        Ok(SqliteKnowledge {
            database: Database::open(path, &rows::PART).await?,
            options,
            embedder,
        })
    }

    async fn find(
        &self,
        question: &str,
        collections: &[String],
        most: usize,
    ) -> Result<Vec<Passage>, StoreError> {
        let most = most.min(MAX_FOUND);
        let words = tokenize::query_words(question);
        if most == 0 || question.trim().is_empty() {
            return Ok(Vec::new());
        }
        let wanted = SearchQuery {
            query: rows::query(&words),
            collections: serde_json::json!(collections).to_string(),
            meaning: self.meaning(question).await,
            candidates: most.saturating_mul(CANDIDATES).max(50),
            most,
        };
        self.database
            .run(move |file| rows::find(file, &wanted))
            .await
    }

    /// Embeds a question. `None` if that is not possible, so the search uses words only.
    async fn meaning(&self, question: &str) -> Option<(String, Vec<f32>)> {
        let embedder = self.embedder.as_ref()?;
        let vectors = embedder.embed(&[question.to_owned()]).await;
        match vectors {
            Ok(vectors) => {
                let vector = vectors.first().map(|vector| vectors::unit(vector))?;
                Some((embedder.model().to_owned(), vector))
            }
            Err(error) => {
                tracing::warn!(%error, "searching by words only");
                None
            }
        }
    }

    async fn add(&self, document: &DocumentInput) -> Result<i64, StoreError> {
        self.check(document)?;
        let prepared = self.prepared(document).await?;
        let work = move |file: &rusqlite::Connection| rows::put(file, &prepared);
        self.database.change(work).await
    }

    fn check(&self, document: &DocumentInput) -> Result<(), StoreError> {
        let wrong = |reason: String| {
            let message = format!(
                "document {:?} of collection {:?}: {reason}",
                document.name, document.collection
            );
            Err(StoreError::new(StoreErrorKind::Refused, message))
        };
        if document.name.is_empty() || document.collection.is_empty() {
            return wrong("collection and name must not be empty".to_owned());
        }
        let (length, limit) = (document.text.len(), self.options.max_document_bytes);
        if length > limit {
            return wrong(format!(
                "its text has {length} bytes, and the limit is {limit} (max_document_bytes)"
            ));
        }
        Ok(())
    }

    async fn prepared(&self, document: &DocumentInput) -> Result<IndexedDocument, StoreError> {
        let (length, overlap) = (
            self.options.passage_characters,
            self.options.overlap_characters,
        );
        let document = document.clone();
        // A long text takes time, so it is split on a separate thread.
        let cutting =
            tokio::task::spawn_blocking(move || IndexedDocument::new(document, length, overlap));
        let mut prepared = cutting.await.map_err(|error| {
            let message = format!("cannot split a document into passages: {error}");
            StoreError::new(StoreErrorKind::Unavailable, message)
        })?;
        if let Some(embedder) = &self.embedder {
            self.embed(embedder, &mut prepared).await?;
        }
        Ok(prepared)
    }

    async fn embed(
        &self,
        embedder: &Arc<dyn Embedder>,
        prepared: &mut IndexedDocument,
    ) -> Result<(), StoreError> {
        let texts = prepared.texts();
        let mut packed = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.options.embed_batch.max(1)) {
            let vectors = embedder.embed(batch).await;
            let vectors = vectors.map_err(|error| failed(embedder.model(), &error))?;
            if vectors.len() != batch.len() {
                return Err(miscounted(embedder.model(), vectors.len(), batch.len()));
            }
            packed.extend(vectors.iter().map(|vector| vectors::packed(vector)));
        }
        prepared.vectors = Some((embedder.model().to_owned(), packed));
        Ok(())
    }
}

fn failed(model: &str, error: &ModelError) -> StoreError {
    let message = format!("embedding model {model}: {error}");
    StoreError::new(StoreErrorKind::Unavailable, message)
}

fn miscounted(model: &str, got: usize, asked: usize) -> StoreError {
    let message = format!("embedding model {model}: expected {asked} vectors, got {got}");
    StoreError::new(StoreErrorKind::Corrupt, message)
}

impl Knowledge for SqliteKnowledge {
    fn search<'a>(
        &'a self,
        question: &'a str,
        collections: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Passage>, StoreError>> {
        self.find(question, collections, most).boxed()
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
    ) -> BoxFuture<'a, Result<Vec<DocumentInfo>, StoreError>> {
        let collection = collection.to_owned();
        self.database
            .run(move |file| rows::list(file, &collection))
            .boxed()
    }

    fn read(
        &self,
        document: i64,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.database
            .run(move |file| rows::read(file, document, offset, limit))
            .boxed()
    }

    fn put<'a>(&'a self, document: &'a DocumentInput) -> BoxFuture<'a, Result<i64, StoreError>> {
        self.add(document).boxed()
    }

    fn remove<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (collection, name) = (collection.to_owned(), name.to_owned());
        self.database
            .change(move |file| rows::remove(file, &collection, &name))
            .boxed()
    }
}
