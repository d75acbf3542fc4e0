//! The SQLite database that files are loaded into.

use std::path::{Path, PathBuf};

use quillet_core::ErrorCode;
use rusqlite::{Connection, OpenFlags};

use super::job::{LoadJob, read_error, write_error};
use super::names::{self, UsedNames};
use super::{FileError, FileForm, csv, json, parquet};

/// Creates the database of these files.
///
/// # Errors
/// Same as [`super::load`].
pub(super) fn load(job: &mut LoadJob, database: &Path, files: &[PathBuf]) -> Result<(), FileError> {
    let sizes = files.iter().map(|path| size(path));
    let sizes: Vec<u64> = sizes.collect::<Result<_, _>>()?;
    // Each file is read twice, so the progress also counts its bytes twice.
    job.total = sizes.iter().map(|size| size * 2).sum();
    if let Some(path) = files.first().filter(|_| job.total / 2 > job.options.bytes) {
        return Err(job.too_many_bytes(path));
    }
    let mut connection = opened(database).map_err(|error| write_error(database, &error))?;
    let transaction = connection
        .transaction()
        .map_err(|error| write_error(database, &error))?;
    let mut taken = UsedNames::default();
    for (path, size) in files.iter().zip(sizes) {
        let table = names::table(path, &mut taken);
        match FileForm::of(path) {
            Some(FileForm::Csv) => csv::load(path, &table, None, job, &transaction)?,
            Some(FileForm::Tsv) => csv::load(path, &table, Some(b'\t'), job, &transaction)?,
            Some(FileForm::JsonLines) => json::load(path, &table, job, &transaction)?,
            Some(FileForm::Parquet) => parquet::load(path, &table, job, &transaction)?,
            None => {
                let endings: Vec<_> = FileForm::endings().collect();
                let message = format!(
                    "unknown file extension: must be one of .{}",
                    endings.join(", .")
                );
                return Err(FileError::new(ErrorCode::FileForm, path, message));
            }
        }
        job.before += size * 2;
    }
    transaction
        .commit()
        .map_err(|error| write_error(database, &error))
}

fn size(path: &Path) -> Result<u64, FileError> {
    let found = std::fs::metadata(path).map_err(|error| read_error(path, &error))?;
    if found.is_file() {
        Ok(found.len())
    } else {
        Err(
            FileError::new(ErrorCode::FileRead, path, "is not a regular file")
                .help("the file is read twice; write the output of a pipe to a file first"),
        )
    }
}

/// Creates a file without a journal, which is not needed: no other process opens the file, and an
/// incomplete file is removed.
fn opened(database: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.execute_batch(
        "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA cache_size = -8192; PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(connection)
}
