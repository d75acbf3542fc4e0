//! Tests streaming in every database: rows come in batches, at the speed of the sink.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_sql::database::ConnectOptions;
use quillet_sql::rows::TruncationReason;
use quillet_sql::stream::{BATCH_BYTES, BATCH_ROWS, RowSink, SinkClosed, StreamEnd};
use quillet_sql::{Cell, ColumnInfo, Database, DatabaseErrorKind, QueryLimits, connect};
use quillet_test_support::{MariaDb, Postgres};
use tokio::sync::Semaphore;

use crate::sqlite::folder::Folder;

/// A sink that records statistics.
#[derive(Default)]
struct Noting {
    columns: Vec<Vec<ColumnInfo>>,
    /// Number of rows in each batch.
    batches: Vec<usize>,
    /// Sum of the first column.
    sum: i64,
    /// Number of batches to accept.
    most: Option<usize>,
    /// One permit for each batch, if the sink is slow.
    pace: Option<Arc<Semaphore>>,
}

impl RowSink for Noting {
    fn columns<'a>(
        &'a mut self,
        columns: Vec<ColumnInfo>,
    ) -> BoxFuture<'a, Result<(), SinkClosed>> {
        assert!(self.batches.is_empty(), "columns come before rows");
        self.columns.push(columns);
        Box::pin(std::future::ready(Ok(())))
    }

    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        Box::pin(async move {
            if let Some(pace) = &self.pace {
                pace.acquire().await.unwrap().forget();
            }
            self.batches.push(rows.len());
            for row in &rows {
                let Cell::Int(number) = row[0] else {
                    panic!("{row:?}");
                };
                self.sum += number;
            }
            if self.most == Some(self.batches.len()) {
                Err(SinkClosed)
            } else {
                Ok(())
            }
        })
    }
}

/// A database of each kind, with a query that counts from 1.
struct Three {
    folder: Folder,
    postgres: Postgres,
    mariadb: MariaDb,
}

impl Three {
    fn start() -> Self {
        let numbers = "CREATE TABLE t (i integer);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
            INSERT INTO t SELECT i FROM n";
        Three {
            folder: Folder::with(numbers),
            postgres: Postgres::start(),
            mariadb: MariaDb::start(),
        }
    }

    fn all(&self) -> [(Arc<dyn Database>, &'static str); 3] {
        let options = ConnectOptions {
            // The tests run as the owners of the servers.
            powerful_roles: true,
            ..ConnectOptions::default()
        };
        let open = |url: String| connect(&url.parse().unwrap(), &options).unwrap();
        [
            (self.folder.database(), "SELECT i FROM t"),
            (
                open(self.postgres.url()),
                "SELECT i FROM generate_series(1, 50000) i",
            ),
            (open(self.mariadb.url()), "SELECT seq FROM seq_1_to_50000"),
        ]
    }
}

fn limits(rows: usize) -> QueryLimits {
    QueryLimits {
        rows,
        bytes: 1 << 30,
        timeout: Duration::from_secs(60),
    }
}

#[tokio::test]
async fn rows_come_in_bounded_batches_and_are_those_of_the_collected_query() {
    let three = Three::start();
    for (database, sql) in three.all() {
        let mut sink = Noting::default();
        let ended = database.query_into(sql, &limits(60_000), &mut sink).await;
        assert_eq!(ended, Ok(StreamEnd::Whole), "{database:?}");
        assert_eq!(sink.columns.len(), 1, "{database:?}");
        assert!(sink.batches.len() >= 50_000 / BATCH_ROWS, "{database:?}");
        assert!(sink.batches.iter().all(|rows| *rows <= BATCH_ROWS));
        assert_eq!(sink.sum, 50_000 * 50_001 / 2, "{database:?}");
        let rows = database.query(sql, &limits(60_000)).await.unwrap();
        assert_eq!(rows.columns, sink.columns[0], "{database:?}");
        let sum = |sum, row: &Vec<Cell>| match row[0] {
            Cell::Int(number) => sum + number,
            _ => panic!("{row:?}"),
        };
        assert_eq!(rows.rows.iter().fold(0, sum), sink.sum, "{database:?}");
    }
}

#[tokio::test]
async fn limits_cut_what_is_streamed() {
    let three = Three::start();
    for (database, sql) in three.all() {
        for (rows, ended) in [
            (49_999, StreamEnd::Cut(TruncationReason::Rows)),
            (50_000, StreamEnd::Whole),
        ] {
            let mut sink = Noting::default();
            let told = database.query_into(sql, &limits(rows), &mut sink).await;
            assert_eq!(told, Ok(ended), "{database:?}");
            assert_eq!(sink.batches.iter().sum::<usize>(), rows, "{database:?}");
        }
        let mut sink = Noting::default();
        let few = QueryLimits {
            bytes: 100_000,
            ..limits(60_000)
        };
        let told = database.query_into(sql, &few, &mut sink).await;
        assert_eq!(
            told,
            Ok(StreamEnd::Cut(TruncationReason::Bytes)),
            "{database:?}"
        );
        let rows = sink.batches.iter().sum::<usize>();
        assert!((5_000..50_000).contains(&rows), "{rows} of {database:?}");
    }
}

#[tokio::test]
async fn columns_are_told_also_where_there_are_no_rows() {
    let three = Three::start();
    for (database, sql) in three.all() {
        let mut sink = Noting::default();
        let none = format!("SELECT * FROM ({sql}) AS q WHERE 1 = 0");
        let ended = database.query_into(&none, &limits(10), &mut sink).await;
        assert_eq!(ended, Ok(StreamEnd::Whole), "{database:?}");
        assert_eq!((sink.columns.len(), sink.batches.len()), (1, 0));
    }
}

/// Closing the sink stops the query on the server, and in SQLite's thread.
#[tokio::test]
async fn a_sink_that_stops_ends_the_query() {
    let three = Three::start();
    for (database, _) in three.all() {
        let endless = match database.dialect() {
            quillet_sql::SqlDialect::Sqlite => {
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
            }
            quillet_sql::SqlDialect::PostgreSql => "SELECT generate_series(1::int8, 1000000000000)",
            quillet_sql::SqlDialect::MySql => {
                "SELECT a.seq FROM seq_1_to_1000000 a, seq_1_to_1000000 b"
            }
        };
        let mut sink = Noting {
            most: Some(3),
            ..Noting::default()
        };
        let ended = database
            .query_into(endless, &limits(usize::MAX), &mut sink)
            .await;
        assert_eq!(ended, Ok(StreamEnd::Stopped), "{database:?}");
        assert_eq!(sink.batches, [BATCH_ROWS; 3]);
    }
    nobody_is_left(&three).await;
}

async fn nobody_is_left(three: &Three) {
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quillet'";
    while three.postgres.look("postgres", ours) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                  WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' AND USER <> 'system user'";
    while three.mariadb.look("test", others) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Number of one-kilobyte rows, too many for the system's buffers.
const WIDE: usize = 50_000;

/// If the sink does not accept its batch, the server waits for its client to read.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sink_holds_up_the_server() {
    let three = Three::start();
    let [_, (postgres, _), (mariadb, _)] = three.all();
    let waits = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'quillet' AND wait_event = 'ClientWrite'";
    let sql = format!("SELECT i, repeat('x', 1000) FROM generate_series(1, {WIDE}) i");
    held_up(&*postgres, &sql, || {
        three.postgres.look("postgres", waits) == "1"
    })
    .await;
    let sends =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Writing to net'";
    let sql = format!("SELECT seq, REPEAT('x', 1000) FROM seq_1_to_{WIDE}");
    held_up(&*mariadb, &sql, || three.mariadb.look("test", sends) == "1").await;
}

/// Runs a query whose first batch is accepted only once a condition holds, followed by the others.
async fn held_up(database: &dyn Database, sql: &str, is_so: impl Fn() -> bool) {
    let pace = Arc::new(Semaphore::new(0));
    let mut sink = Noting {
        pace: Some(pace.clone()),
        ..Noting::default()
    };
    let bounds = limits(WIDE);
    let query = database.query_into(sql, &bounds, &mut sink);
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        pace.add_permits(WIDE);
    };
    let (ended, ()) = tokio::join!(query, waiting);
    assert_eq!(ended, Ok(StreamEnd::Whole));
    assert_eq!(sink.batches.iter().sum::<usize>(), WIDE);
}

/// In this journal mode, a file that is being read cannot be written. If the reader had already
/// read all rows, the writer would succeed.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sink_holds_up_the_thread_of_sqlite() {
    let three = Three::start();
    let [(sqlite, sql), ..] = three.all();
    let pace = Arc::new(Semaphore::new(2));
    let mut sink = Noting {
        pace: Some(pace.clone()),
        ..Noting::default()
    };
    let bounds = limits(60_000);
    let query = sqlite.query_into(sql, &bounds, &mut sink);
    let writer = rusqlite::Connection::open(three.folder.file()).unwrap();
    writer.busy_timeout(Duration::from_millis(300)).unwrap();
    let begun = pace.clone();
    let writing = async move {
        while begun.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let write = move || writer.execute("DELETE FROM t", []);
        tokio::task::spawn_blocking(write).await.unwrap()
    };
    let watched = async {
        let wrote = writing.await;
        pace.add_permits(WIDE);
        wrote
    };
    let (ended, wrote) = tokio::join!(query, watched);
    assert!(wrote.unwrap_err().to_string().contains("locked"));
    assert_eq!(ended, Ok(StreamEnd::Whole));
    assert_eq!(sink.batches.iter().sum::<usize>(), 50_000);
}

/// The sink's time counts towards the query's time limit, so a client cannot keep a transaction
/// open.
#[tokio::test]
async fn a_sink_that_never_takes_its_rows_is_a_query_that_takes_too_long() {
    let three = Three::start();
    for (database, sql) in three.all() {
        let mut sink = Noting {
            pace: Some(Arc::new(Semaphore::new(1))),
            ..Noting::default()
        };
        let short = QueryLimits {
            timeout: Duration::from_millis(500),
            ..limits(60_000)
        };
        let error = database.query_into(sql, &short, &mut sink).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind, DatabaseErrorKind::Timeout, "{database:?}");
        assert_eq!(sink.batches.len(), 1, "{database:?}");
    }
    nobody_is_left(&three).await;
}

/// Half a gigabyte of values passes through a sink that does not store them.
#[tokio::test]
async fn rows_that_are_passed_on_are_not_kept() {
    let three = Three::start();
    let rows = 512;
    let [(sqlite, _), (postgres, _), (mariadb, _)] = three.all();
    let values = [
        (
            sqlite,
            format!("SELECT i, zeroblob({BATCH_BYTES}) FROM t LIMIT {rows}"),
        ),
        (
            postgres,
            format!("SELECT i, repeat('x', {BATCH_BYTES}) FROM generate_series(1, {rows}) i"),
        ),
        (
            mariadb,
            format!("SELECT seq, REPEAT('x', {BATCH_BYTES}) FROM seq_1_to_{rows}"),
        ),
    ];
    for (database, sql) in values {
        let mut sink = Noting::default();
        let ended = database.query_into(&sql, &limits(rows), &mut sink).await;
        assert_eq!(ended, Ok(StreamEnd::Whole), "{database:?}");
        assert_eq!(sink.batches, vec![1; rows], "{database:?}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes: String = peak.unwrap().chars().filter(char::is_ascii_digit).collect();
    let megabytes = kilobytes.parse::<u64>().unwrap() / 1024;
    assert!(megabytes < 450, "{megabytes} MB at most");
}
