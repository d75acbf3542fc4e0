//! The service for named databases: connections in the store, catalogues and history in the
//! archive, and the pipeline from question to rows.

mod accepted;
mod connections;
mod definition;
mod judges;
mod names;
mod parts;
mod run;
mod sampling;
mod slot;
mod stream_result;
mod streamed;
#[cfg(test)]
mod timing_tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use quillet_core::archive::{QueryPage, QueryRecord};
use quillet_core::clock;
use quillet_core::store::Changes;
use tokio::task::JoinSet;
use tracing::warn;

use crate::chain::{Example, GeneratedQuery, PreparedCatalogue, QueryChain};
use crate::database::ProgressFn;
use crate::eval::{ExecutionOutcome, execution};
use crate::stream::RowSink;
use crate::{Catalogue, DatabaseError, DatabaseErrorKind, RowSet, SqlConfig, SqlError};

use judges::Gate;
use quillet_core::lock::lock;
use slot::ConnectionSlot;

pub use connections::{PutResult, RemoveResult};
pub use definition::{Connection, ConnectionDefinition, SshAuth, SshConfig};
pub use parts::ServiceParts;
pub use run::{QueryRun, RunOptions};
pub use stream_result::StreamResult;

/// A set of named databases. Cloning is cheap, and clones share one service.
#[derive(Clone, Debug)]
pub struct Databases {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parts: Arc<ServiceParts>,
    /// Temporary connections: name and definition.
    temporary: Mutex<BTreeMap<String, Arc<str>>>,
    slots: Mutex<HashMap<String, Arc<ConnectionSlot>>>,
    /// Background tasks that read catalogues. Dropping the service aborts them.
    reading: Mutex<JoinSet<()>>,
}

/// Maximum time that a query waits for the first read of a catalogue. Without a catalogue, its
/// check gives less helpful errors.
const FIRST_CATALOGUE_WAIT: Duration = Duration::from_secs(3);

fn ignore_progress(_: u64, _: u64, _: &str) {}

impl Databases {
    /// Creates the service from its dependencies.
    #[must_use]
    pub fn new(parts: ServiceParts) -> Self {
        Databases {
            inner: Arc::new(Inner {
                parts: Arc::new(parts),
                temporary: Mutex::default(),
                slots: Mutex::new(HashMap::new()),
                reading: Mutex::default(),
            }),
        }
    }

    /// Returns the text-to-SQL settings.
    #[must_use]
    pub fn config(&self) -> &SqlConfig {
        &self.inner.parts.config
    }

    /// Returns whether a model is configured.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.inner.parts.model.is_some()
    }

    /// Returns a stream of changes to the store, including connections.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.inner.parts.store.changes()
    }

    /// Returns the catalogue of a database. The stored catalogue is returned if its fingerprint is
    /// current and `refresh` is not set.
    ///
    /// # Errors
    /// Fails if the connection is unknown, or if the database is unavailable and no catalogue is
    /// stored.
    pub async fn catalogue(
        &self,
        name: &str,
        refresh: bool,
        progress: ProgressFn<'_>,
    ) -> Result<Arc<Catalogue>, SqlError> {
        let slot = self.slot(name).await?;
        let prepared = self.read(&slot, refresh, progress).await?;
        Ok(prepared.catalogue.clone())
    }

    /// Returns the catalogue, including its index and token counts.
    ///
    /// # Errors
    /// Same as [`Databases::catalogue`].
    pub async fn prepared(
        &self,
        name: &str,
        refresh: bool,
        progress: ProgressFn<'_>,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let slot = self.slot(name).await?;
        let prepared = self.read(&slot, refresh, progress).await?;
        self.sample_first(&slot, &prepared).await;
        Ok(prepared)
    }

    async fn read(
        &self,
        slot: &ConnectionSlot,
        refresh: bool,
        progress: ProgressFn<'_>,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let parts = &self.inner.parts;
        if refresh {
            slot.refreshed(parts, progress).await
        } else {
            slot.prepared(parts, parts.config.catalogue_age, progress)
                .await
        }
    }

    /// Generates the query for a question without running it.
    ///
    /// # Errors
    /// Fails if the question is empty or the model does not return an acceptable query, and like
    /// [`Databases::catalogue`].
    pub async fn generate(&self, name: &str, question: &str) -> Result<GeneratedQuery, SqlError> {
        self.generate_with(name, question, &RunOptions::default())
            .await
    }

    /// Generates a query like [`Databases::generate`], but with options. Limits are ignored,
    /// because the query does not run.
    ///
    /// # Errors
    /// Same as [`Databases::generate`].
    pub async fn generate_with(
        &self,
        name: &str,
        question: &str,
        options: &RunOptions,
    ) -> Result<GeneratedQuery, SqlError> {
        let asking = self.question_context(name, question).await?;
        // The query does not run, so only the guard decides whether the model must repair it.
        let judge = judges::GuardJudge(asking.gate(self, options));
        let chain = asking.chain(&self.inner.parts, options)?;
        let (generated, ()) = chain.run(question, &judge).await?;
        Ok(generated)
    }

    /// Repairs a generated query that failed later, without running the repaired query.
    ///
    /// # Errors
    /// Same as [`Databases::generate`].
    pub async fn repair_query(
        &self,
        name: &str,
        question: &str,
        before: &GeneratedQuery,
        error: &SqlError,
        options: &RunOptions,
    ) -> Result<GeneratedQuery, SqlError> {
        let asking = self.question_context(name, question).await?;
        let judge = judges::GuardJudge(asking.gate(self, options));
        let parts = self.inner.parts.as_ref();
        let chain = asking.chain(parts, options)?;
        let (generated, ()) = chain.repair_query(question, before, error, &judge).await?;
        Ok(generated)
    }

    /// Generates a query and runs it. Errors from the database are repaired like errors from the
    /// guard.
    ///
    /// # Errors
    /// Same as [`Databases::generate`] and [`Databases::run`].
    pub async fn ask(
        &self,
        name: &str,
        question: &str,
        options: &RunOptions,
    ) -> Result<(GeneratedQuery, QueryRun), SqlError> {
        let asking = self.question_context(name, question).await?;
        let judge = judges::ExecutionJudge(asking.gate(self, options));
        let chain = asking.chain(&self.inner.parts, options)?;
        let (generated, ran) = chain.run(question, &judge).await?;
        let options = RunOptions {
            question: Some(question.to_owned()),
            ..options.clone()
        };
        self.record(name, &StreamResult::of(&ran), &options).await;
        Ok((generated, ran))
    }

    /// Checks and runs a query, and records it in the history.
    ///
    /// # Errors
    /// Fails if the guard or the database rejects the query.
    pub async fn run(
        &self,
        name: &str,
        sql: &str,
        options: &RunOptions,
    ) -> Result<QueryRun, SqlError> {
        let mut rows = RowSet::default();
        let streamed = self.run_into(name, sql, options, &mut rows).await?;
        Ok(streamed.into_query_run(rows))
    }

    /// Checks and runs a query, and streams its rows into a sink. If the query fails, the sink may
    /// have received some rows.
    ///
    /// # Errors
    /// Same as [`Databases::run`].
    pub async fn run_into(
        &self,
        name: &str,
        sql: &str,
        options: &RunOptions,
        sink: &mut dyn RowSink,
    ) -> Result<StreamResult, SqlError> {
        let slot = self.slot(name).await?;
        let parts = self.inner.parts.as_ref();
        let prepared = self.catalogue_for_check(&slot).await?;
        let gate = Gate {
            parts,
            slot: &slot,
            prepared: prepared.as_ref(),
            options,
        };
        let ran = gate.run_into(gate.approve(sql).await?, sink).await?;
        self.record(name, &ran, options).await;
        Ok(ran)
    }

    /// Runs a reference query and another query, both subject to the guard, and compares their
    /// rows. Neither query is recorded.
    ///
    /// # Errors
    /// Fails if the reference query fails, or if the connection is unusable (see
    /// [`Databases::run`]).
    pub async fn compare(
        &self,
        name: &str,
        gold: &str,
        query: &str,
    ) -> Result<ExecutionOutcome, SqlError> {
        let (slot, options) = (self.slot(name).await?, RunOptions::default());
        let prepared = self.prepared(name, false, &ignore_progress).await?;
        let gate = Gate {
            parts: &self.inner.parts,
            slot: &slot,
            prepared: Some(&prepared),
            options: &options,
        };
        let gold = gate.approve(gold).await?.sql;
        let query = match gate.approve(query).await {
            Ok(approved) => approved.sql,
            Err(refused) => {
                return Ok(ExecutionOutcome::Failed(DatabaseError::new(
                    DatabaseErrorKind::ReadOnly,
                    refused.to_string(),
                )));
            }
        };
        let limits = &self.config().limits;
        Ok(execution(slot.database.as_ref(), &gold, &query, limits).await?)
    }

    /// Returns history records before the record `before`, newest first; `limit` is from 1 to 100.
    ///
    /// # Errors
    /// Fails if the connection does not exist, the limit is out of range, or the archive is
    /// unavailable.
    pub async fn history(
        &self,
        name: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<QueryPage, SqlError> {
        self.definition_text(name).await?;
        names::check_limit(limit)?;
        let archive = &self.inner.parts.archive;
        let page = archive.history(name, before, limit).await?;
        self.with_acceptance(name, page).await
    }

    /// Returns history records whose query or question contains all these words.
    ///
    /// # Errors
    /// Same as [`Databases::history`].
    pub async fn search_history(
        &self,
        name: &str,
        words: &str,
        limit: usize,
    ) -> Result<QueryPage, SqlError> {
        self.definition_text(name).await?;
        names::check_limit(limit)?;
        let page = self.inner.parts.archive.search(name, words, limit).await?;
        self.with_acceptance(name, page).await
    }

    async fn slot(&self, name: &str) -> Result<Arc<ConnectionSlot>, SqlError> {
        let text = self.definition_text(name).await?;
        self.slot_of(name, text)
    }

    /// Returns the open connection for a definition. A changed definition opens a new one.
    fn slot_of(&self, name: &str, text: Arc<str>) -> Result<Arc<ConnectionSlot>, SqlError> {
        let mut slots = lock(&self.inner.slots);
        // Definitions are compared as stored text. A changed password or tunnel thus opens a new
        // connection, and the old one closes after its last query.
        if let Some(slot) = slots.get(name).filter(|slot| slot.text == text) {
            return Ok(slot.clone());
        }
        let slot = Arc::new(ConnectionSlot::open(name, text, &self.inner.parts)?);
        slots.insert(name.to_owned(), slot.clone());
        Ok(slot)
    }

    /// Returns the catalogue for checking a query. Waits only if no catalogue exists yet, and only
    /// for a short time.
    async fn catalogue_for_check(
        &self,
        slot: &Arc<ConnectionSlot>,
    ) -> Result<Option<Arc<PreparedCatalogue>>, SqlError> {
        let parts = self.inner.parts.as_ref();
        if let Some(prepared) = slot.cached_catalogue(parts).await {
            if slot.is_older(parts.config.catalogue_age) {
                self.read_in_background(slot);
            }
            return Ok(Some(prepared));
        }
        let reading = slot.prepared(parts, parts.config.catalogue_age, &ignore_progress);
        if let Ok(prepared) = tokio::time::timeout(FIRST_CATALOGUE_WAIT, reading).await {
            return Ok(Some(prepared?));
        }
        // The timeout dropped the read in progress, so it starts again in the background for the
        // next query.
        self.read_in_background(slot);
        Ok(None)
    }

    /// Compares the catalogue's fingerprint in the background, and reads the catalogue again if it
    /// has changed.
    fn read_in_background(&self, slot: &Arc<ConnectionSlot>) {
        if !slot.try_begin_comparison() {
            return;
        }
        // The reference is weak, because the service owns the task; a strong one would form a cycle
        // and leak both.
        let (service, slot) = (Arc::downgrade(&self.inner), slot.clone());
        let parts = self.inner.parts.clone();
        let mut reading = lock(&self.inner.reading);
        // Finished tasks are removed here. Otherwise, finished tasks would stay in the set until
        // the service is dropped.
        while reading.try_join_next().is_some() {}
        reading.spawn(async move {
            let read = slot
                .prepared(&parts, Duration::ZERO, &ignore_progress)
                .await;
            // The comparison ends before the result is used, so that a failed comparison does not
            // block the next one.
            slot.end_comparison();
            match (read, service.upgrade()) {
                (Ok(prepared), Some(inner)) => {
                    Databases { inner }.sample_in_background(&slot, &prepared);
                }
                (Ok(_), None) => {}
                (Err(error), _) => {
                    warn!(database = %slot.name, %error, "cannot read the catalogue");
                }
            }
        });
    }

    /// Embeds the tables, once for each catalogue. Questions do not wait for it.
    fn embed_in_background(&self, name: &str, prepared: &Arc<PreparedCatalogue>) {
        let parts = &self.inner.parts;
        // Embedding many tables costs time and money once, and comparing many vectors slows down
        // every question.
        let few = prepared.catalogue.tables.len() <= parts.config.embedded_tables;
        let Some(embedder) = parts.embedder.clone().filter(|_| few) else {
            return;
        };
        if !prepared.try_begin_embedding() {
            return;
        }
        let (name, prepared) = (name.to_owned(), prepared.clone());
        lock(&self.inner.reading).spawn(async move {
            if let Err(error) = prepared.embed(embedder.as_ref()).await {
                warn!(database = %name, %error, "cannot embed tables; ranking them by words only");
            }
        });
    }

    async fn question_context(
        &self,
        name: &str,
        question: &str,
    ) -> Result<QuestionContext, SqlError> {
        let slot = self.slot(name).await?;
        let parts = &self.inner.parts;
        if parts.model.is_none() {
            return Err(SqlError::NoModel);
        }
        let prepared = slot
            .prepared(parts, parts.config.catalogue_age, &ignore_progress)
            .await?;
        // The comparison starts early, before a question would have to wait for it.
        if slot.is_older(parts.config.catalogue_age / 2) {
            self.read_in_background(&slot);
        }
        self.embed_in_background(&slot.name, &prepared);
        self.sample_first(&slot, &prepared).await;
        let mut asking = QuestionContext {
            slot,
            prepared,
            examples: Vec::new(),
        };
        asking.examples = self.examples(question, &asking).await;
        Ok(asking)
    }

    /// Rows are returned even if the record cannot be stored.
    async fn record(&self, name: &str, ran: &StreamResult, options: &RunOptions) {
        let record = QueryRecord {
            id: 0,
            database: name.to_owned(),
            sql: ran.sql.clone(),
            question: options.question.clone(),
            row_count: ran.row_count,
            execution_ms: ran.execution_ms,
            executed_at: clock::millis(),
            accepted: false,
        };
        let archive = &self.inner.parts.archive;
        let kept = match archive.record(&record).await {
            Ok(id) if options.accepted && record.question.is_some() => {
                archive.accept(&QueryRecord { id, ..record }).await
            }
            kept => kept.map(drop),
        };
        if let Err(error) = kept {
            warn!(database = %name, %error, "cannot record the query in the history");
        }
    }
}

/// Context of one question.
struct QuestionContext {
    slot: Arc<ConnectionSlot>,
    prepared: Arc<PreparedCatalogue>,
    examples: Vec<Example>,
}

impl QuestionContext {
    fn gate<'a>(&'a self, databases: &'a Databases, options: &'a RunOptions) -> Gate<'a> {
        Gate {
            parts: &databases.inner.parts,
            slot: &self.slot,
            prepared: Some(&self.prepared),
            options,
        }
    }

    /// Returns the pipeline for the question.
    fn chain<'a>(
        &'a self,
        parts: &'a ServiceParts,
        options: &'a RunOptions,
    ) -> Result<QueryChain<'a>, SqlError> {
        let Some(model) = &parts.model else {
            return Err(SqlError::NoModel);
        };
        Ok(QueryChain {
            model: model.as_ref(),
            prompts: parts.prompts.as_ref(),
            tokens: parts.tokens.as_ref(),
            embedder: parts.embedder.as_deref(),
            config: &parts.config,
            prepared: &self.prepared,
            name: &self.slot.name,
            examples: &self.examples,
            description: self
                .slot
                .definition
                .description
                .as_deref()
                .unwrap_or_default(),
            previous: &options.previous,
        })
    }
}
