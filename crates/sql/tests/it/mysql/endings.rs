//! Tests that the server stops working on a query when the client stops reading.

use std::time::{Duration, Instant};

use quillet_sql::guard::{self, Policy};
use quillet_sql::{DatabaseErrorKind, QueryLimits, SqlDialect};
use quillet_test_support::MariaDb;

use super::{limits, open, rows};

const ENDLESS: &[&str] = &[
    "SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c",
    "SELECT a.seq FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "SELECT SLEEP(1000)",
    "SELECT BENCHMARK(1000000000000, SHA2('x', 512))",
];

/// Waits until only the observing connection is left.
async fn wait_until_nobody_is_there(server: &MariaDb) {
    let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                  WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' AND USER <> 'system user'";
    let start = Instant::now();
    while server.look("test", others) != "0" {
        let list = server.look("test", "SHOW FULL PROCESSLIST");
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "still there:\n{list}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn wait_until_it_runs(server: &MariaDb, sql: &str) {
    let running = "SELECT INFO FROM information_schema.PROCESSLIST WHERE COMMAND = 'Execute'";
    while !server.look("test", running).contains(sql) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_future_ends_the_query_in_the_server() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let limits = QueryLimits {
        rows: usize::MAX,
        bytes: usize::MAX >> 8,
        ..limits()
    };
    for sql in ENDLESS {
        {
            let query = database.query(sql, &limits);
            let running = wait_until_it_runs(&server, sql);
            tokio::pin!(query, running);
            tokio::select! {
                result = &mut query => panic!("{sql} ended: {result:?}"),
                () = &mut running => {}
            }
        }
        wait_until_nobody_is_there(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_queries_that_nobody_waits_for_leave_no_connection() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let limits = limits();
    for round in 0..100u64 {
        let query = database.query("SELECT SLEEP(600)", &limits);
        let patience = Duration::from_millis(round % 40);
        assert!(tokio::time::timeout(patience, query).await.is_err());
    }
    wait_until_nobody_is_there(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_too_long_is_ended_in_the_server() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let limits = QueryLimits {
        rows: 1_000_000_000,
        bytes: usize::MAX >> 8,
        timeout: Duration::from_millis(300),
    };
    for sql in ENDLESS {
        let error = database.query(sql, &limits).await.unwrap_err();
        assert_eq!(error.kind, DatabaseErrorKind::Timeout, "{sql}: {error}");
        wait_until_nobody_is_there(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_cut_is_ended_in_the_server() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let sql = "SELECT a.seq FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c \
               LIMIT 999999999999";
    let found = rows(&*database, sql).await;
    assert_eq!(found.rows.len(), 1000);
    wait_until_nobody_is_there(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogues_are_ended_as_well() {
    let server = MariaDb::start();
    let database = open(&server.url());
    for _ in 0..20 {
        let progress = |_, _, _: &str| {};
        let reading = database.catalogue(&progress);
        let _ = tokio::time::timeout(Duration::from_millis(3), reading).await;
    }
    wait_until_nobody_is_there(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_an_error() {
    let mut server = MariaDb::start();
    let database = open(&server.url());
    let bounds = limits();
    let query = database.query("SELECT SLEEP(1000)", &bounds);
    let (stopped, found) = {
        let stopping = async {
            wait_until_it_runs(&server, "SLEEP").await;
        };
        tokio::pin!(query);
        tokio::select! {
            result = &mut query => panic!("it ended: {result:?}"),
            () = stopping => {}
        }
        server.stop();
        ((), query.await)
    };
    let () = stopped;
    assert_eq!(found.unwrap_err().kind, DatabaseErrorKind::Unreachable);
    let error = database.query("SELECT 1", &bounds).await.unwrap_err();
    assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
}

#[tokio::test]
async fn nothing_of_one_query_reaches_the_next() {
    let server =
        MariaDb::start_with(&["sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT"]);
    let database = open(&server.url());
    rows(&*database, "SELECT @x := 5, GET_LOCK('mine', 0)").await;
    let found = rows(&*database, "SELECT @x, IS_FREE_LOCK('mine')").await;
    assert_eq!(format!("{:?}", found.rows), "[[Null, Int(1)]]");
    // Quotes and backslashes mean the same as for the guard, regardless of the server's mode.
    let found = rows(&*database, r#"SELECT "it\"s", 'a\'b', 1 || 0"#).await;
    assert_eq!(
        format!("{:?}", found.rows),
        r#"[[Text("it\"s"), Text("a'b"), Int(1)]]"#
    );
}

/// MariaDB cannot stop functions that compute new geometries, so the guard must reject them.
#[tokio::test(flavor = "multi_thread")]
async fn no_function_that_makes_geometries_outlives_its_time() {
    const LINE: &str =
        "ST_GEOMFROMTEXT(CONCAT('LINESTRING(0 0',REPEAT(',1 1,0 0,7 3,2 9',10000),')'))";
    const ENDLESS: [&str; 5] = [
        "ST_BUFFER(g, 1)",
        "ST_UNION(g, g)",
        "ST_INTERSECTION(g, g)",
        "ST_DIFFERENCE(g, g)",
        "ST_SYMDIFFERENCE(g, g)",
    ];
    const ENDING: [&str; 3] = ["ST_CONVEXHULL(g)", "ST_ENVELOPE(g)", "ST_LENGTH(g)"];
    let server = MariaDb::start();
    let database = open(&server.url());
    let second = QueryLimits {
        timeout: Duration::from_secs(1),
        ..limits()
    };
    let passes = |call: &str| {
        let sql = format!(
            "SELECT {} IS NULL",
            call.replace("(g", &format!("({LINE}"))
                .replace(" g", &format!(" {LINE}"))
        );
        let checked = guard::check(&sql, SqlDialect::MySql, None, &Policy::default());
        checked.map(|approved| approved.sql)
    };
    for call in ENDLESS {
        assert_eq!(
            passes(call).unwrap_err().code,
            "sql.guard.function",
            "{call}"
        );
    }
    for call in ENDING {
        let sql = passes(call).unwrap_or_else(|error| panic!("{call}: {error}"));
        let _ = database.query(&sql, &second).await;
        wait_until_nobody_is_there(&server).await;
    }
}
