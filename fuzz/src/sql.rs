//! SQL: the guard has a verdict on any text, and what passes for SQLite changes nothing there.

use std::time::{Duration, Instant};

use quillet_sql::SqlDialect;
use quillet_sql::guard::{GuardMode, Policy, check};
use quillet_sql::layout::format;
use rusqlite::Connection;

/// A verdict, a layout that stays, and a run of what passes.
pub fn query(text: &str) {
    for dialect in SqlDialect::ALL {
        let explore = Policy {
            mode: GuardMode::Explore,
            ..Policy::default()
        };
        let _ = check(text, dialect, None, &explore);
        if let Ok(once) = format(text, dialect) {
            assert_eq!(format(&once, dialect).as_ref(), Ok(&once));
        }
        let policy = Policy {
            rows: Some(10),
            ..Policy::default()
        };
        let Ok(approved) = check(text, dialect, None, &policy) else {
            continue;
        };
        let more = Policy {
            rows: Some(11),
            ..Policy::default()
        };
        assert!(check(&approved.sql, dialect, None, &more).is_ok());
        if dialect == SqlDialect::Sqlite {
            run(&approved.sql);
        }
    }
}

/// Runs it without any other guard but a bound on time, and looks whether anything changed.
fn run(sql: &str) {
    let mut db = Connection::open_in_memory().expect("a database in memory");
    db.execute_batch("CREATE TABLE t (a, b, c); INSERT INTO t VALUES (1, 2, 3), (4, 5, 6);")
        .expect("two rows");
    let _ = db.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_LENGTH, 1 << 20);
    let state = |db: &Connection| {
        db.query_row(
            "SELECT group_concat(a || b || c) || (SELECT group_concat(sql) FROM sqlite_master) || total_changes() FROM t",
            [],
            |row| row.get::<_, String>(0),
        )
    };
    let before = state(&db).expect("its state");
    let end = Instant::now() + Duration::from_millis(200);
    let _ = db.progress_handler(1_000, Some(move || Instant::now() > end));
    if let Ok(mut statement) = db.prepare(sql)
        && let Ok(mut rows) = statement.query([])
    {
        for _ in 0..20 {
            if !matches!(rows.next(), Ok(Some(_))) {
                break;
            }
        }
    }
    let _ = db.progress_handler(0, None::<fn() -> bool>);
    assert_eq!(state(&db).expect("its state"), before, "{sql}");
}
