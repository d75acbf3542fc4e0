//! Samples column values in the background, after questions that use them. Each sample passes the
//! guard and runs read-only like every query, one query at a time and within the limits of the
//! settings.
//!
//! A sample expires with its age or with its catalogue, and another replica may have stored a newer
//! one. Values that cannot be read, due to missing privileges or a timeout, are omitted. Sampling
//! never fails a question or delays it noticeably.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::clock;
use tokio::sync::OwnedMutexGuard;
use tracing::{debug, info, warn};

use super::Databases;
use super::judges::Gate;
use super::parts::ServiceParts;
use super::run::RunOptions;
use super::slot::ConnectionSlot;
use crate::chain::PreparedCatalogue;
use crate::database::QueryLimits;
use crate::guard::GuardMode;
use crate::values::rule::{self, SampleRequest};
use crate::values::sample::{self, Tally};
use crate::values::{SampledColumn, ValueIndex, ValueSamples};
use crate::{DatabaseErrorKind, SqlError};
use quillet_core::lock::lock;

/// Maximum time that the first question waits for the values of a small database. Without this, a
/// process that answers a single question would never have any.
const FIRST_SAMPLE_WAIT: Duration = Duration::from_millis(300);

impl Databases {
    /// Samples column values now and returns the number of sampled columns. Returns 0 if sampling
    /// is disabled by [`Sampling`](crate::values::Sampling).
    ///
    /// # Errors
    /// Fails if the connection does not exist or the database is unavailable.
    pub async fn sample(&self, name: &str) -> Result<usize, SqlError> {
        let slot = self.slot(name).await?;
        let prepared = self.read(&slot, false, &super::ignore_progress).await?;
        if slot.has_values {
            // Each connection has one sampler, so a manual sample waits for a background sample
            // instead of doubling the load.
            let guard = slot.sampler.clone().lock_owned().await;
            sample(&slot, &prepared, &self.inner.parts, guard).await?;
        }
        let prepared = self.read(&slot, false, &super::ignore_progress).await?;
        Ok(prepared.values().sampled_columns())
    }

    /// Starts sampling in the background if the known values are too old or belong to another
    /// catalogue. Returns whether it started.
    pub(super) fn sample_in_background(
        &self,
        slot: &Arc<ConnectionSlot>,
        prepared: &Arc<PreparedCatalogue>,
    ) -> bool {
        if !slot.has_values || is_fresh(&prepared.values(), prepared, &self.inner.parts) {
            return false;
        }
        // Another task is already sampling, and this caller can use its result.
        let Ok(guard) = slot.sampler.clone().try_lock_owned() else {
            return false;
        };
        let (slot, prepared) = (slot.clone(), prepared.clone());
        let parts = self.inner.parts.clone();
        lock(&self.inner.reading).spawn(async move {
            // Another replica may have sampled in the meantime.
            if let Some(kept) = slot.load_values(&parts).await {
                prepared.set_values(&kept);
                if is_fresh(&prepared.values(), &prepared, &parts) {
                    return;
                }
            }
            if let Err(error) = sample(&slot, &prepared, &parts, guard).await {
                warn!(database = %slot.name, %error, "cannot sample values of columns");
            }
        });
        true
    }

    /// Like [`Self::sample_in_background`], but waits a moment if no values are known yet.
    pub(super) async fn sample_first(
        &self,
        slot: &Arc<ConnectionSlot>,
        prepared: &Arc<PreparedCatalogue>,
    ) {
        let is_first = prepared.values().read_at == 0;
        if self.sample_in_background(slot, prepared) && is_first {
            // The sampling task holds the lock, so acquiring it means that sampling has finished.
            let _ = tokio::time::timeout(FIRST_SAMPLE_WAIT, slot.sampler.lock()).await;
        }
    }
}

fn is_fresh(known: &ValueIndex, prepared: &PreparedCatalogue, parts: &ServiceParts) -> bool {
    let age = u64::try_from(parts.config.values.age.as_millis()).unwrap_or(u64::MAX);
    let is_young = clock::millis().saturating_sub(known.read_at) < age;
    is_young && known.fingerprint == prepared.catalogue.fingerprint
}

/// Samples values and stores them.
///
/// # Errors
/// Fails if the database is unreachable; the known values are retained.
async fn sample(
    slot: &Arc<ConnectionSlot>,
    prepared: &Arc<PreparedCatalogue>,
    parts: &ServiceParts,
    _guard: OwnedMutexGuard<()>,
) -> Result<(), SqlError> {
    let config = &parts.config.values;
    let catalogue = &prepared.catalogue;
    let (wanted, omitted) = rule::select_columns(catalogue, config);
    let begun = Instant::now();
    let mut columns = Vec::new();
    let mut tables = 0;
    for wanted in &wanted {
        // The time budget covers all tables, so a slow table leaves less time for the tables after
        // it.
        let left = config.time.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        tables += 1;
        let table = TableSample {
            slot,
            prepared,
            parts,
            time: left.min(config.table_time),
        };
        columns.extend(table.read(wanted).await?);
    }
    if omitted > 0 || tables < wanted.len() {
        info!(
            database = %slot.name, omitted, tables = wanted.len() - tables,
            "some columns were not sampled (sql.values_columns, sql.values_ms)"
        );
    }
    let sampled = ValueSamples {
        fingerprint: catalogue.fingerprint.clone(),
        read_at: clock::millis(),
        columns,
    };
    prepared.set_values(&sampled);
    slot.store_values(sampled, parts).await;
    Ok(())
}

/// Sample of one table.
struct TableSample<'a> {
    slot: &'a Arc<ConnectionSlot>,
    prepared: &'a Arc<PreparedCatalogue>,
    parts: &'a ServiceParts,
    time: Duration,
}

impl TableSample<'_> {
    /// Reads the values of the columns. If they cannot be read together, reads each column alone
    /// and omits those that fail.
    ///
    /// # Errors
    /// Fails if the database is unreachable.
    async fn read(&self, wanted: &SampleRequest) -> Result<Vec<SampledColumn>, SqlError> {
        match self.columns(wanted).await {
            Ok(columns) => return Ok(columns),
            Err(error) if is_unreachable(&error) => return Err(error),
            Err(error) => self.log_omitted(wanted, &error),
        }
        let mut columns = Vec::new();
        if wanted.columns.len() > 1 {
            for column in &wanted.columns {
                let alone = SampleRequest {
                    table: wanted.table,
                    columns: vec![*column],
                };
                match self.columns(&alone).await {
                    Ok(read) => columns.extend(read),
                    Err(error) if is_unreachable(&error) => return Err(error),
                    Err(error) => self.log_omitted(&alone, &error),
                }
            }
        }
        Ok(columns)
    }

    fn log_omitted(&self, wanted: &SampleRequest, error: &SqlError) {
        let table = self.prepared.catalogue.tables.get(wanted.table);
        let table = table.map(crate::catalogue::DatabaseTable::qualified);
        debug!(database = %self.slot.name, table, %error, "cannot sample values of the table");
    }

    async fn columns(&self, wanted: &SampleRequest) -> Result<Vec<SampledColumn>, SqlError> {
        let config = &self.parts.config.values;
        let Some(table) = self.prepared.catalogue.tables.get(wanted.table) else {
            return Ok(Vec::new());
        };
        let mut tally = self.tally(table, wanted, false).await?;
        // Fewer rows than requested means that the whole table was read, including the newest rows.
        if tally.rows >= sample::rows_per_query(config)
            && let Ok(newest) = self.tally(table, wanted, true).await
        {
            tally.merge(newest);
        }
        Ok(tally.read(table, &wanted.columns, config.distinct))
    }

    async fn tally(
        &self,
        table: &crate::catalogue::DatabaseTable,
        wanted: &SampleRequest,
        newest: bool,
    ) -> Result<Tally, SqlError> {
        let config = &self.parts.config.values;
        let mut tally = Tally::new(wanted.columns.len(), config);
        let dialect = self.prepared.catalogue.dialect;
        let Some(sql) = sample::query(table, &wanted.columns, dialect, config, newest) else {
            return Ok(tally);
        };
        let options = RunOptions {
            mode: GuardMode::Select,
            limits: Some(QueryLimits {
                rows: sample::rows_per_query(config),
                bytes: config.bytes,
                timeout: self.time,
            }),
            ..RunOptions::default()
        };
        let gate = Gate {
            parts: self.parts,
            slot: self.slot,
            prepared: Some(self.prepared),
            options: &options,
        };
        gate.run_into(gate.approve(&sql).await?, &mut tally).await?;
        Ok(tally)
    }
}

fn is_unreachable(error: &SqlError) -> bool {
    match error {
        SqlError::Database(error) => error.kind == DatabaseErrorKind::Unreachable,
        _ => false,
    }
}
