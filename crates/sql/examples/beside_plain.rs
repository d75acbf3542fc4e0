//! Compares the ranking with BM25F alone for every question file in some folders, in one run:
//!
//!     cargo run --release -p quillet-sql --example beside_plain -- FOLDER...
//!
//! The file format is described in `docs/sql/README.md`, "How good it is".

use std::path::PathBuf;
use std::process::ExitCode;

use quillet_core::chat::Bytes4;
use quillet_sql::eval::{Order, Suite, measure};
use quillet_sql::{SqlConfig, SqlError};

fn main() -> ExitCode {
    let folders: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        eprintln!("usage: beside_plain FOLDER...");
        return ExitCode::from(2);
    }
    match folders.iter().try_for_each(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &PathBuf) -> Result<(), SqlError> {
    println!(
        "                                   BM25F alone              ranking               difference  ms a question"
    );
    println!(
        "set               questions tables    @5    @10   MRR         @5    @10   MRR       @10         p50    p99"
    );
    let mut means = [0.0; 6];
    let files = files(folder);
    for file in &files {
        let suite = Suite::open(file)?;
        let measured = measure(&suite, &SqlConfig::default(), &Bytes4, &|_, _, _| {});
        let [plain, ranked] = [figures(&measured.plain), figures(&measured.order)];
        println!(
            "{:17} {:9} {:6} {} {:+8.1}    {:8.2} {:6.2}",
            suite.name,
            measured.questions,
            measured.tables,
            line(plain, ranked),
            ranked[1] - plain[1],
            measured.timings.p50_ms,
            measured.timings.p99_ms,
        );
        for (mean, figure) in means.iter_mut().zip(plain.into_iter().chain(ranked)) {
            *mean += figure / files.len() as f64;
        }
    }
    let [a, b, c, d, e, f] = means;
    println!(
        "mean                               {} {:+8.1}\n",
        line([a, b, c], [d, e, f]),
        e - b
    );
    Ok(())
}

fn line(plain: [f64; 3], ranked: [f64; 3]) -> String {
    let part = |[five, ten, first]: [f64; 3]| format!("{five:5.1}  {ten:5.1}  {first:5.1}");
    format!("{}      {}", part(plain), part(ranked))
}

/// Recall at 5 and at 10, and the mean reciprocal rank, in percent.
fn figures(order: &Order) -> [f64; 3] {
    let recall = |k: usize| {
        let at = order.at.iter().find(|at| at.k == k);
        at.map_or(0.0, |at| 100.0 * at.recall)
    };
    [recall(5), recall(10), 100.0 * order.first]
}

fn files(folder: &PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .filter(|path| {
            !path
                .file_stem()
                .is_some_and(|stem| stem.to_string_lossy().starts_with("recorded"))
        })
        .collect();
    files.sort();
    files
}
