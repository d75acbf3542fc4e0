//! Prints the recall of the ranking for every question file in a folder, next to the figures of the
//! prototype:
//!
//!     cargo run --release -p quillet-sql --example recall -- ../shared/nl2sql

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quillet_core::chat::Bytes4;
use quillet_sql::eval::{RankingReport, Recording, Suite, measure, replay};
use quillet_sql::{SqlConfig, SqlError};

/// Files with the prototype's recall at 10 and at 20, in percent.
const BARS: [(&str, f64, f64); 5] = [
    ("spider_union", 91.7, 94.1),
    ("spider_syn", 50.3, 58.6),
    ("fiben", 41.5, 64.6),
    ("snails_small", 95.2, 98.0),
    ("zh_mall", 93.5, 98.0),
];

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: recall FOLDER");
        return ExitCode::from(2);
    };
    match run(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), SqlError> {
    println!(
        "                                recall in %                     all tables    first half of    second half   tokens    build    p50    p99"
    );
    println!(
        "set           questions  tables  @5    @10 (bar)    @20 (bar)    @10 / @20     databases       of databases  saved     ms       ms     ms"
    );
    let mut means = [0.0; 4];
    for (name, bar10, bar20) in BARS {
        let suite = Suite::open(&folder.join(format!("{name}.json")))?;
        let whole = measured(&suite);
        let halves = [true, false]
            .map(|first| measured(&suite.only(|database| is_first(database) == first)));
        println!("{}", line(name, &whole, &halves, [bar10, bar20]));
        for (mean, value) in
            means
                .iter_mut()
                .zip([recall(&whole, 10), bar10, recall(&whole, 20), bar20])
        {
            *mean += value / 5.0;
        }
    }
    println!(
        "mean                                 {:5.1} ({:4.1})  {:5.1} ({:4.1})",
        means[0], means[1], means[2], means[3]
    );
    let suite = Suite::open(&folder.join("spider_union.json"))?;
    let recording = Recording::open(&folder.join("recorded_spider_dts.json"))?;
    let replayed = replay(&suite, &recording, &SqlConfig::default(), &Bytes4);
    println!(
        "recorded choices of {}: {} questions, complete {:.1} % with {:.2} tables, after repair {:.1} % with {:.2} tables",
        recording.model,
        replayed.questions,
        100.0 * replayed.complete,
        replayed.tables,
        100.0 * replayed.complete_repaired,
        replayed.tables_repaired,
    );
    Ok(())
}

fn measured(suite: &Suite) -> RankingReport {
    measure(suite, &SqlConfig::default(), &Bytes4, &|_, _, _| {})
}

/// Splits databases into two halves by a hash of their names (FNV-1a). The constants of the ranking
/// were tuned on the first half.
fn is_first(database: &str) -> bool {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    database.bytes().fold(0xcbf2_9ce4_8422_2325, step) >> 33 & 1 == 0
}

fn recall(measured: &RankingReport, k: usize) -> f64 {
    let at = measured.order.at.iter().find(|at| at.k == k);
    at.map_or(0.0, |at| 100.0 * at.recall)
}

fn complete(measured: &RankingReport, k: usize) -> f64 {
    let at = measured.order.at.iter().find(|at| at.k == k);
    at.map_or(0.0, |at| 100.0 * at.complete)
}

fn line(name: &str, whole: &RankingReport, halves: &[RankingReport; 2], bars: [f64; 2]) -> String {
    let half = |half: &RankingReport| match half.questions {
        0 => "     -     ".to_owned(),
        _ => format!("{:5.1}/{:5.1}", recall(half, 10), recall(half, 20)),
    };
    format!(
        "{name:13} {:9}  {:6}  {:4.1}  {:4.1} ({:4.1})  {:4.1} ({:4.1})  {:4.1} / {:4.1}   {}     {}   {:4.1} %  {:6.0}  {:5.2}  {:5.2}",
        whole.questions,
        whole.tables,
        recall(whole, 5),
        recall(whole, 10),
        bars[0],
        recall(whole, 20),
        bars[1],
        complete(whole, 10),
        complete(whole, 20),
        half(&halves[0]),
        half(&halves[1]),
        100.0 * (1.0 - whole.tokens.chain / whole.tokens.full.max(1.0)),
        whole.timings.build_ms,
        whole.timings.p50_ms,
        whole.timings.p99_ms,
    )
}
