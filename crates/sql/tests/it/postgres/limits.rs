//! Tests that a query ends in time, in the client and on the server.

use std::time::Duration;

use quillet_sql::rows::TruncationReason;
use quillet_sql::{Cell, DatabaseErrorKind as Kind, QueryLimits};
use quillet_test_support::Postgres;
use tokio::runtime::Handle;

use super::{database, query, unjudged, value};

/// Counts for hours, with a comment to find the query by.
const ENDLESS: &str = "SELECT count(*) FROM (SELECT generate_series(1, 1000000000000)) AS endless";

fn limits(rows: usize, bytes: usize, timeout: Duration) -> QueryLimits {
    QueryLimits {
        rows,
        bytes,
        timeout,
    }
}

/// Waits until this number of test queries runs on the server.
async fn wait_for(server: &Postgres, count: &str) {
    let sql = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'quillet' AND state = 'active'";
    while server.look("postgres", sql) != count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_ends_in_the_server() {
    let server = Postgres::start();
    let database = database(&server.url());
    let hours = limits(10, 1_000, Duration::from_secs(36_000));
    let running = tokio::spawn(async move { database.query(ENDLESS, &hours).await });
    wait_for(&server, "1").await;
    running.abort();
    wait_for(&server, "0").await;
}

#[tokio::test]
async fn a_query_that_takes_too_long_ends_in_the_server() {
    let server = Postgres::start();
    let database = database(&server.url());
    let short = limits(10, 1_000, Duration::from_millis(300));
    let error = database.query(ENDLESS, &short).await.unwrap_err();
    assert_eq!(error.kind, Kind::Timeout, "{error}");
    wait_for(&server, "0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_does_not_wait_long_for_a_lock() {
    let server = Postgres::start();
    server.execute("CREATE TABLE t (a int)");
    std::thread::scope(|scope| {
        let holding = "BEGIN; LOCK TABLE t; SELECT pg_sleep(600)";
        let holder = scope.spawn(|| std::panic::catch_unwind(|| server.execute(holding)));
        let held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
        while server.look("postgres", held) == "0" {}
        let database = database(&server.url());
        let hour = limits(10, 1_000, Duration::from_secs(3_600));
        let asked = async { database.query("SELECT * FROM t", &hour).await };
        let error = tokio::task::block_in_place(|| Handle::current().block_on(asked));
        assert_eq!(error.unwrap_err().kind, Kind::Timeout);
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%'
             AND pid <> pg_backend_pid()",
        );
        holder.join().unwrap().unwrap_err();
    });
}

#[tokio::test]
async fn ten_million_rows_are_read_up_to_the_limit() {
    const FLOOD: &str = "SELECT g, repeat('x', 100) FROM generate_series(1, 10000000) g";
    let server = Postgres::start();
    let database = database(&server.url());
    let rows = database
        .query(FLOOD, &QueryLimits::default())
        .await
        .unwrap();
    assert_eq!(
        (rows.rows.len(), rows.truncated),
        (1_000, Some(TruncationReason::Rows))
    );
    let minute = Duration::from_secs(60);
    let few = limits(usize::MAX, 100_000, minute);
    let rows = database.query(FLOOD, &few).await.unwrap();
    assert_eq!(rows.truncated, Some(TruncationReason::Bytes));
    let text: usize = rows.rows.iter().map(|_| 100).sum();
    assert!(text <= 100_000 && text > 80_000, "{text}");
    wait_for(&server, "0").await;
}

#[tokio::test]
async fn exactly_as_many_rows_as_allowed_are_not_cut() {
    let server = Postgres::start();
    let database = database(&server.url());
    for (there, cut) in [(0, false), (9, false), (10, false), (11, true)] {
        let sql = format!("SELECT g FROM generate_series(1, {there}) g");
        let ten = limits(10, 1 << 20, Duration::from_secs(60));
        let rows = database.query(&sql, &ten).await.unwrap();
        assert_eq!(rows.rows.len(), there.min(10));
        assert_eq!(
            rows.truncated,
            cut.then_some(TruncationReason::Rows),
            "{there}"
        );
    }
}

#[tokio::test]
async fn a_value_that_is_too_large_is_cut_off_before_it_is_there() {
    let server = Postgres::start();
    let database = database(&server.url());
    let limits = limits(10, 1 << 20, Duration::from_secs(60));
    let sql = "SELECT repeat('x', 300000000)";
    let rows = database.query(sql, &limits).await.unwrap();
    assert_eq!(
        (rows.rows.len(), rows.truncated),
        (0, Some(TruncationReason::Bytes))
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find(|line| line.starts_with("VmHWM"));
        let kilobytes: String = peak.unwrap().chars().filter(char::is_ascii_digit).collect();
        let megabytes = kilobytes.parse::<u64>().unwrap() / 1024;
        assert!(megabytes < 250, "{megabytes} MB at most");
    }
}

#[tokio::test]
async fn many_nulls_count_as_well() {
    let server = Postgres::start();
    let database = database(&server.url());
    let nulls = vec!["NULL"; 1_000].join(",");
    let sql = format!("SELECT {nulls} FROM generate_series(1, 100000)");
    let limits = limits(usize::MAX, 1 << 20, Duration::from_secs(60));
    let rows = database.query(&sql, &limits).await.unwrap();
    assert_eq!(rows.truncated, Some(TruncationReason::Bytes));
    assert!(rows.rows.len() < 300, "{}", rows.rows.len());
}

#[tokio::test]
async fn a_server_that_goes_away_is_an_error_and_not_a_wait() {
    let mut server = Postgres::start();
    let database = database(&server.url());
    let hours = limits(10, 1_000, Duration::from_secs(36_000));
    let asked = database.clone();
    let running = tokio::spawn(async move { asked.query(ENDLESS, &hours).await });
    wait_for(&server, "1").await;
    server.stop();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    let error = database.check().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.message.contains("****"), "{error}");
}

#[tokio::test]
async fn nothing_of_a_query_reaches_the_next() {
    let server = Postgres::start();
    let url = server.url();
    query(&url, "SELECT set_config('work_mem', '77MB', false)")
        .await
        .unwrap();
    query(&url, "SELECT pg_advisory_lock(42)").await.unwrap();
    let rows = query(&url, "SELECT current_setting('work_mem')")
        .await
        .unwrap();
    assert_eq!(rows.rows[0][0], Cell::Text("4MB".to_owned()));
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    while server.look("postgres", locks) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The guard treats a backslash as an ordinary character. An old role setting would make it an
/// escape.
#[tokio::test]
async fn texts_end_where_the_guard_says_whatever_the_role_has_set() {
    let server = Postgres::start();
    let url = server.create_role("old");
    server.execute("ALTER ROLE old SET standard_conforming_strings = off");
    let found = value(&url, r"SELECT 'a\' || ', pg_sleep(1), '").await;
    assert_eq!(found, Cell::Text(r"a\, pg_sleep(1), ".into()));
}

/// When clients leave, all of their queries end, even a hundred of them.
#[tokio::test]
async fn a_hundred_queries_that_nobody_waits_for_leave_no_connection() {
    let server = Postgres::start();
    let database = unjudged(&server.url());
    for round in 0..100u64 {
        let limits = QueryLimits::default();
        let query = database.query("SELECT pg_sleep(600)", &limits);
        let patience = Duration::from_millis(round % 40);
        assert!(tokio::time::timeout(patience, query).await.is_err());
    }
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quillet'";
    while server.look("postgres", ours) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // This counts tasks other than this test.
    while Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
