//! Creates the batch service from settings.

use quillet_core::batch::{BatchOptions, BatchService};

use crate::components;
use crate::error::Error;
use crate::settings::{self, Settings};

/// Opens the batch service at the configured store.
///
/// # Errors
/// The store cannot be opened.
pub async fn open(settings: &Settings) -> Result<BatchService, Error> {
    let fallback = settings.text(&settings::STORE_URL).unwrap_or("memory:");
    let address = settings.text(&settings::BATCH_STORE).unwrap_or(fallback);
    open_at(settings, address).await
}

/// Opens the batch service at an address.
///
/// # Errors
/// As for [`open`].
pub async fn open_at(settings: &Settings, address: &str) -> Result<BatchService, Error> {
    let store = quillet_store::open_batches(address, &components::store_options(settings)).await?;
    Ok(BatchService {
        store,
        options: options(settings),
    })
}

/// Returns the options of batches: limits, leases and concurrency.
#[must_use]
pub fn options(settings: &Settings) -> BatchOptions {
    let number = |setting| settings.integer(setting).unwrap_or_default();
    BatchOptions {
        work: settings.is_on(&settings::BATCH_WORK),
        concurrency: settings.size(&settings::BATCH_CONCURRENCY),
        lease: settings.milliseconds(&settings::BATCH_LEASE_MS),
        retries: u32::try_from(number(&settings::BATCH_RETRIES)).unwrap_or(u32::MAX),
        rows: number(&settings::BATCH_ROWS),
        file_bytes: number(&settings::BATCH_FILE_BYTES),
        line_bytes: settings.size(&settings::BATCH_LINE_BYTES),
        keep: settings.milliseconds(&settings::BATCH_KEEP_MS),
    }
}
