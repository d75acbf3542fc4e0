//! Runs files of script cases. The example `cases` and the tests share this code.

pub(crate) mod case;
mod check;
mod folder;
mod known;
mod model;
pub(crate) mod report;
mod run;

use std::path::Path;

use report::{Report, Verdict};

/// Runs the cases of a file that `wanted` selects.
///
/// # Errors
/// The file cannot be read or parsed.
pub(crate) fn run_file(
    path: &Path,
    wanted: impl Fn(&case::Case) -> bool,
) -> Result<Report, String> {
    let cases = case::load(path)?;
    run_cases(cases.into_iter().filter(|case| wanted(case)))
}

/// Runs cases from any source.
///
/// # Errors
/// The runtime cannot be created, or the list of known differences cannot be read.
pub(crate) fn run_cases(cases: impl Iterator<Item = case::Case>) -> Result<Report, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let verdict = |case: case::Case| {
        let (id, basis) = (case.id.clone(), case.basis.clone());
        // The test runs on a thread with the default stack size, because scripts must not depend on
        // a larger one.
        let task = runtime.spawn(async move { run::twice(&case).await });
        let differences = runtime.block_on(task);
        Verdict {
            id,
            basis,
            differences: differences.unwrap_or_else(|error| vec![error.to_string()]),
        }
    };
    let verdicts = cases.map(verdict).collect();
    Ok(Report::new(verdicts, known::differences()?))
}
