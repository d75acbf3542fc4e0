//! Runs one untrusted query on its own connection.
//!
//! If the guard lets a harmful query through, these layers stop it, in this order. Each was tested
//! on a real server:
//!
//! 1. Only listed keywords may start the statement (see the module `text`).
//! 2. The session and the transaction are read-only. The transaction alone stops INSERT, UPDATE and
//!    DELETE, also inside functions, and sequences. It does not stop DDL, which ends it first; the
//!    session's setting stops that as well.
//! 3. The statement is prepared, which allows one statement only, and rejected unless it has
//!    columns. `SET GLOBAL`, `INTO OUTFILE`, `FLUSH` and procedures do not have any.
//! 4. The transaction is rolled back, and the connection is closed with its locks and variables.
//!
//! A query can still read everything that the role may read: files (`LOAD_FILE` with FILE) and
//! queries of other users (PROCESS). It can also call functions of a more privileged definer, which
//! may do anything except write to tables. Storing a connection therefore warns about such roles.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Conn, Error, Params, QueryResult, Row, Statement};
use tokio::time::timeout;

use super::link::{MySqlServer, MySqlSession};
use super::values::{ColumnReader, size};
use super::{error, text};
use crate::rows::TruncationReason;
use crate::stream::{Feed, RowSink, SinkClosed, StreamEnd};
use crate::{DatabaseError, DatabaseErrorKind, QueryLimits};

/// Time after the server's limit at which the driver stops the query itself. The server's own way
/// is gentler.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes of a packet besides its values.
const FRAME: usize = 64 << 10;

/// Runs a query and reads rows up to the limits.
pub(super) async fn run(
    server: &Arc<MySqlServer>,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    text::check(sql)?;
    execute(server, sql, limits, sink).await
}

/// Runs any text, without the check of its first word.
async fn execute(
    server: &Arc<MySqlServer>,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    let mut session =
        MySqlSession::open(server, limits.bytes.saturating_add(FRAME), limits.timeout).await?;
    let started = Instant::now();
    let reading = read(server, session.conn(), sql, limits, sink);
    let read = timeout(limits.timeout + GRACE, reading).await;
    // A SLEEP or BENCHMARK call that the server's time limit stopped is reported as a success.
    let is_late = started.elapsed() >= limits.timeout;
    match read {
        Ok(Ok((ended, SendStatus::All))) if !is_late => {
            session.finished();
            Ok(ended)
        }
        Ok(Ok((ended, SendStatus::Part))) if !is_late => {
            // More rows are waiting. Killing the query is cheaper than reading all of them.
            session.end().await;
            Ok(ended)
        }
        Ok(Err(error)) if !is_late || error.kind == DatabaseErrorKind::Timeout => {
            session.end().await;
            Err(error)
        }
        _ => {
            session.end().await;
            Err(timeout_error(limits))
        }
    }
}

fn timeout_error(limits: &QueryLimits) -> DatabaseError {
    DatabaseError::new(
        DatabaseErrorKind::Timeout,
        format!("timeout: the query took longer than {:?}", limits.timeout),
    )
}

/// Whether the server has sent everything.
enum SendStatus {
    All,
    Part,
}

async fn read(
    server: &MySqlServer,
    conn: &mut Conn,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<(StreamEnd, SendStatus), DatabaseError> {
    server.check_role(conn).await?;
    let failed = |error: Error| error::of_query(&error, sql);
    // If the query itself has no limit, the server stops at this one.
    let rows = limits.rows.saturating_add(1);
    let select_limit = format!("SET SESSION sql_select_limit = {rows}");
    for statement in [select_limit.as_str(), "START TRANSACTION READ ONLY"] {
        conn.query_drop(statement).await.map_err(failed)?;
    }
    let statement = conn.prep(sql).await.map_err(failed)?;
    refuse_without_columns(&statement)?;
    let result = conn.exec_iter(&statement, Params::Empty).await;
    let mut result = result.map_err(failed)?;
    let passed_on = stream_rows(&mut result, limits, sink).await;
    let (ended, sent) = passed_on.map_err(failed)?;
    if matches!(sent, SendStatus::All) {
        // The result borrows the connection, so it must be dropped before the next statement.
        drop(result);
        conn.query_drop("ROLLBACK").await.map_err(failed)?;
    }
    Ok((ended, sent))
}

fn refuse_without_columns(statement: &Statement) -> Result<(), DatabaseError> {
    if statement.num_params() > 0 {
        return Err(error::placeholders());
    }
    if statement.num_columns() == 0 {
        return Err(DatabaseError {
            hint: Some("write one SELECT without INTO".to_owned()),
            ..DatabaseError::new(
                DatabaseErrorKind::ReadOnly,
                "the statement returns no rows; only queries that read may run",
            )
        });
    }
    Ok(())
}

/// Passes rows on up to the limits, and reads one more to detect that more exist.
async fn stream_rows(
    result: &mut QueryResult<'_, '_, BinaryProtocol>,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<(StreamEnd, SendStatus), Error> {
    let readers: Vec<ColumnReader> = result.columns_ref().iter().map(ColumnReader::of).collect();
    let columns = readers.iter().map(|reader| reader.info.clone()).collect();
    let mut feed = Feed::new(sink, columns, limits);
    let Some(mut stream) = result.stream::<Row>().await? else {
        return Ok((feed.finish(StreamEnd::Whole).await, SendStatus::Part));
    };
    let (ended, sent) = loop {
        let row = match stream.try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => break (StreamEnd::Whole, SendStatus::All),
            Err(error) if is_too_large(&error) => {
                break (StreamEnd::Cut(TruncationReason::Bytes), SendStatus::Part);
            }
            Err(error) => return Err(error),
        };
        // `unwrap` panics only if a value was taken out before, and none was.
        let values = row.unwrap();
        match feed.admit(values.iter().map(size).sum()) {
            Some(TruncationReason::Rows) => {
                let is_last = stream.try_next().await?.is_none();
                let sent = if is_last {
                    SendStatus::All
                } else {
                    SendStatus::Part
                };
                break (StreamEnd::Cut(TruncationReason::Rows), sent);
            }
            Some(TruncationReason::Bytes) => {
                break (StreamEnd::Cut(TruncationReason::Bytes), SendStatus::Part);
            }
            None => {}
        }
        let cells = readers.iter().zip(values);
        let row = cells.map(|(reader, value)| reader.cell(value)).collect();
        if let Err(SinkClosed) = feed.push(row).await {
            return Ok((StreamEnd::Stopped, SendStatus::Part));
        }
    };
    Ok((feed.finish(ended).await, sent))
}

/// Returns whether a row exceeds the connection's packet limit.
fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::Io(error) if error.to_string().contains("max_allowed_packet"))
}

#[cfg(test)]
mod tests {
    use quillet_test_support::MariaDb;

    use super::*;
    use crate::RowSet;
    use crate::database::ConnectOptions;

    /// Returns options for the tests, which run as the owners of the servers.
    fn powerful() -> ConnectOptions {
        ConnectOptions {
            powerful_roles: true,
            ..ConnectOptions::default()
        }
    }

    /// Statements that each layer must stop for an administrator, without the check of the first
    /// word. The expected error shows which layer stopped the statement.
    const STOPPED: &[(&str, &str)] = &[
        ("INSERT INTO t VALUES (9)", "READ ONLY"),
        ("INSERT INTO t VALUES (9) RETURNING a", "READ ONLY"),
        ("DELETE FROM t RETURNING a", "READ ONLY"),
        ("REPLACE INTO t VALUES (1) RETURNING a", "READ ONLY"),
        ("ANALYZE DELETE FROM t", "READ ONLY"),
        ("SELECT NEXTVAL(s)", "READ ONLY"),
        ("SELECT deleting()", "READ ONLY"),
        ("SELECT * FROM t FOR UPDATE", "READ ONLY"),
        ("SELECT 1 INTO OUTFILE '{file}'", "no rows"),
        ("SELECT 1 UNION SELECT 2 INTO OUTFILE '{file}'", "no rows"),
        ("(SELECT 1 INTO DUMPFILE '{file}')", "near 'INTO DUMPFILE"),
        (
            "WITH c AS (SELECT 1) SELECT * FROM c INTO OUTFILE '{file}'",
            "no rows",
        ),
        ("SELECT 1 /*! INTO OUTFILE '{file}' */", "no rows"),
        (
            "SET STATEMENT sql_mode='' FOR SELECT 1 INTO OUTFILE '{file}'",
            "no rows",
        ),
        ("SELECT 1 INTO @x", "no rows"),
        ("SET GLOBAL general_log = 'ON'", "no rows"),
        ("SET SESSION TRANSACTION READ WRITE", "no rows"),
        ("SET PASSWORD = PASSWORD('x')", "no rows"),
        ("DROP TABLE t", "no rows"),
        ("TRUNCATE t", "no rows"),
        ("CREATE TABLE u AS SELECT 1", "READ ONLY"),
        ("CREATE TEMPORARY TABLE u (a int)", "no rows"),
        ("ALTER TABLE t ADD b int", "no rows"),
        ("RENAME TABLE t TO u", "no rows"),
        ("CREATE USER u", "no rows"),
        ("GRANT ALL ON *.* TO root@'%'", "no rows"),
        ("CALL dropping()", "no rows"),
        ("DO SLEEP(0)", "no rows"),
        ("FLUSH TABLES", "no rows"),
        ("OPTIMIZE TABLE t", "READ ONLY"),
        ("KILL 1", "no rows"),
        ("SHUTDOWN", "no rows"),
        ("BEGIN NOT ATOMIC DROP TABLE t; END", "no rows"),
        ("EXECUTE IMMEDIATE 'DROP TABLE t'", "not supported"),
        ("PREPARE p FROM 'DROP TABLE t'", "not supported"),
        (
            "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t",
            "READ ONLY",
        ),
        ("LOCK TABLES t WRITE", "no rows"),
        ("SELECT 1; DROP TABLE t", "near 'DROP TABLE t'"),
    ];

    #[tokio::test]
    async fn each_layer_stops_what_it_is_there_for() {
        let database = MariaDb::start();
        database.execute(
            "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2); CREATE SEQUENCE s;
             DELIMITER //
             CREATE FUNCTION deleting() RETURNS int BEGIN DELETE FROM t; RETURN 1; END //
             CREATE PROCEDURE dropping() BEGIN DROP TABLE t; END //
             DELIMITER ;",
        );
        let url = database.url().parse().unwrap();
        let server = MySqlServer::new(&url, &powerful()).unwrap();
        let look = || {
            let state = "CHECKSUM TABLE t, s; SHOW TABLES; SHOW GLOBAL VARIABLES LIKE 'general_log'; \
                         SELECT * FROM mysql.global_priv";
            database.look("test", state)
        };
        let before = look();
        let file = database.folder().join("data/stolen");
        let mut wrong = Vec::new();
        for (sql, part) in STOPPED {
            let sql = sql.replace("{file}", file.to_str().unwrap());
            let limits = QueryLimits::default();
            let result = execute(&server, &sql, &limits, &mut RowSet::default()).await;
            if !result
                .as_ref()
                .is_err_and(|error| error.message.contains(part))
            {
                wrong.push((sql.clone(), result));
            }
            assert_eq!(look(), before, "{sql}");
            assert!(!file.exists(), "{sql}");
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// Shows why the first word is checked.
    #[tokio::test]
    async fn analyze_writes_a_file_although_it_has_columns() {
        let database = MariaDb::start();
        let url = database.url().parse().unwrap();
        let server = MySqlServer::new(&url, &powerful()).unwrap();
        let file = database.folder().join("data/stolen");
        let sql = format!("ANALYZE SELECT 1 INTO OUTFILE '{}'", file.display());
        let (limits, mut rows) = (QueryLimits::default(), RowSet::default());
        let refused = run(&server, &sql, &limits, &mut rows).await;
        assert_eq!(refused.unwrap_err().kind, DatabaseErrorKind::ReadOnly);
        assert!(!file.exists());
        let ran = execute(&server, &sql, &limits, &mut rows).await;
        ran.unwrap();
        assert!(file.exists());
    }
}
