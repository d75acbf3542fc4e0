//! Measures the cost of PostgreSQL's server-side check: the median of 300 runs of each query with
//! and without the check, alternating, over one connection.
//!
//! `cargo run --release -p quillet-sql --example judge_figures`

use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::{Database, QueryLimits, connect};
use quillet_test_support::Postgres;

const RUNS: usize = 300;

const QUERIES: [&str; 3] = [
    "SELECT 1",
    "SELECT name, count(*) AS n, max(a) FROM t WHERE a > 3 AND name LIKE 'n%' \
     GROUP BY name ORDER BY n LIMIT 5",
    "SELECT name FROM v LIMIT 5",
];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = Postgres::start();
    let url = server.create_role("reader");
    server.execute(
        "CREATE TABLE t (a int, name text);
         INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, 100) g;
         CREATE VIEW v AS SELECT a, upper(name) AS name FROM t;
         GRANT SELECT ON t, v TO reader",
    );
    let judged = database(&url, SecondJudge::default());
    let unjudged = database(&url, SecondJudge::Off);
    for sql in QUERIES {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            with.push(time(&*judged, sql).await);
            without.push(time(&*unjudged, sql).await);
        }
        let (with, without) = (median(with), median(without));
        println!("{with:.2?} with, {without:.2?} without: {sql}");
    }
}

fn database(url: &str, second_judge: SecondJudge) -> Arc<dyn Database> {
    let options = ConnectOptions {
        second_judge,
        ..ConnectOptions::default()
    };
    let url = url.parse().expect("an address");
    connect(&url, &options).expect("it can be connected to")
}

async fn time(database: &dyn Database, sql: &str) -> Duration {
    let begun = Instant::now();
    let rows = database.query(sql, &QueryLimits::default()).await;
    rows.expect("it runs");
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
