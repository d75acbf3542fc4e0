//! A journal of provider jobs, so that another process can continue. It is a file next to those of
//! the batch. Rows are recorded before they are submitted, with a tag that identifies them at the
//! provider.

use std::collections::BTreeSet;

use quillet_core::batch::{BatchOrder, Batches, FileChunk};
use quillet_core::budget::Reservation;
use quillet_core::store::StoreError;
use serde::{Deserialize, Serialize};

/// The number of bytes read from the file at a time.
const READ: usize = 1 << 20;

/// A line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum JobRecord {
    /// Rows are about to be submitted.
    Intended(ProviderJob),
    /// The provider accepted the rows under this id.
    Taken { mark: String, id: String },
    /// The rows were not submitted.
    Void { mark: String },
    /// All rows of the job have results.
    Done { mark: String },
    /// Every row of the input belongs to a job or has a result.
    Collected,
}

/// Rows that are submitted together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProviderJob {
    /// A tag that is unique to this job.
    pub(super) mark: String,
    /// The provider API and the model.
    pub(super) group: String,
    /// The numbers of the rows.
    pub(super) rows: Vec<u64>,
    /// The reservation in the daily budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<Reservation>,
    /// The provider's id, when known.
    #[serde(skip)]
    pub(super) id: Option<String>,
}

impl ProviderJob {
    /// Returns the id of a row, which also identifies the job.
    pub(super) fn row_id(&self, row: u64) -> String {
        row_id(&self.mark, row)
    }

    /// Returns the row number of an id if it belongs to this job.
    pub(super) fn row_of(&self, id: &str) -> Option<u64> {
        let row = id.rsplit_once('-')?.1.parse().ok()?;
        (self.row_id(row) == id).then_some(row)
    }
}

pub(super) fn row_id(mark: &str, row: u64) -> String {
    format!("{mark}-{row}")
}

/// The provider jobs of a batch.
#[derive(Debug)]
pub(super) struct Jobs<'a> {
    store: &'a dyn Batches,
    file: String,
    expires: u64,
    next: u64,
    /// Unfinished jobs.
    pub(super) open: Vec<ProviderJob>,
    /// Rows of jobs that are not void.
    handed: BTreeSet<u64>,
    /// Whether every row was assigned to a job.
    pub(super) collected: bool,
}

impl<'a> Jobs<'a> {
    /// Reads the journal.
    pub(super) async fn read(
        store: &'a dyn Batches,
        order: &BatchOrder,
    ) -> Result<Self, StoreError> {
        let mut jobs = Jobs {
            store,
            file: order.jobs(),
            expires: order.expires + order.keep,
            next: 1,
            open: Vec::new(),
            handed: BTreeSet::new(),
            collected: false,
        };
        let mut from = Some(1);
        while let Some(number) = from {
            let page = store.pieces(&jobs.file, number, READ).await?;
            from = page.next;
            for piece in page.pieces {
                jobs.next = piece.number + 1;
                // Skip records that this version of Quillet does not know.
                if let Ok(noted) = serde_json::from_slice(&piece.bytes) {
                    jobs.apply(noted);
                }
            }
        }
        Ok(jobs)
    }

    fn apply(&mut self, noted: JobRecord) {
        match noted {
            JobRecord::Intended(job) => {
                self.handed.extend(&job.rows);
                self.open.push(job);
            }
            JobRecord::Taken { mark, id } => {
                if let Some(job) = self.open.iter_mut().find(|job| job.mark == mark) {
                    job.id = Some(id);
                }
            }
            JobRecord::Void { mark } => {
                for job in self.open.extract_if(.., |job| job.mark == mark) {
                    for row in &job.rows {
                        self.handed.remove(row);
                    }
                }
                // Rows of a void job must be collected again.
                self.collected = false;
            }
            JobRecord::Done { mark } => self.open.retain(|job| job.mark != mark),
            JobRecord::Collected => self.collected = true,
        }
    }

    async fn append(&mut self, noted: JobRecord) -> Result<(), StoreError> {
        let mut bytes = serde_json::to_vec(&noted).unwrap_or_default();
        bytes.push(b'\n');
        let piece = FileChunk {
            number: self.next,
            bytes,
        };
        self.store
            .add_pieces(&self.file, &[piece], self.expires)
            .await?;
        self.next += 1;
        self.apply(noted);
        Ok(())
    }

    /// Returns whether a row belongs to a job.
    pub(super) fn has(&self, row: u64) -> bool {
        self.handed.contains(&row)
    }

    pub(super) async fn intended(&mut self, job: ProviderJob) -> Result<(), StoreError> {
        self.append(JobRecord::Intended(job)).await
    }

    pub(super) async fn taken(&mut self, mark: &str, id: &str) -> Result<(), StoreError> {
        let (mark, id) = (mark.to_owned(), id.to_owned());
        self.append(JobRecord::Taken { mark, id }).await
    }

    pub(super) async fn void(&mut self, mark: &str) -> Result<(), StoreError> {
        let mark = mark.to_owned();
        self.append(JobRecord::Void { mark }).await
    }

    pub(super) async fn done(&mut self, mark: &str) -> Result<(), StoreError> {
        let mark = mark.to_owned();
        self.append(JobRecord::Done { mark }).await
    }

    pub(super) async fn all_collected(&mut self) -> Result<(), StoreError> {
        self.append(JobRecord::Collected).await
    }
}
