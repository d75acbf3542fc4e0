//! Tests many concurrent queries on servers with few connections.

use std::sync::Arc;

use quillet_sql::rows::Cell;
use quillet_sql::{ConnectionDefinition, Databases, RunOptions, SqlConfig};
use quillet_test_support::{MariaDb, Postgres};
use tokio::task::JoinSet;

use super::shop::service;
use crate::scripted::Scripted;

/// More queries than either server allows connections.
const QUERIES: i64 = 150;

async fn of(url: &str, config: SqlConfig) -> Databases {
    let databases = service(&Arc::new(Scripted::texts(&[])), config);
    let put = databases
        .put("crowded", ConnectionDefinition::of(url))
        .await;
    put.unwrap();
    databases
}

/// Returns the number of correct answers, and the errors of the other queries.
async fn ask_all(databases: &Databases, query: &str) -> (i64, Vec<String>) {
    let mut asking = JoinSet::new();
    for number in 0..QUERIES {
        let (databases, sql) = (databases.clone(), query.replace('?', &number.to_string()));
        asking.spawn(async move {
            let ran = databases
                .run("crowded", &sql, &RunOptions::default())
                .await
                .map_err(|error| error.to_string())?;
            match ran.rows.rows.first().and_then(|row| row.first()) {
                Some(Cell::Int(found)) if *found == number => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
    let (mut answered, mut refused) = (0, Vec::new());
    while let Some(done) = asking.join_next().await {
        match done.unwrap() {
            Ok(()) => answered += 1,
            Err(said) => refused.push(said),
        }
    }
    (answered, refused)
}

#[tokio::test]
async fn more_queries_than_connections_are_all_answered() {
    let postgres = Postgres::start_with(&["max_connections=30"]);
    let maria = MariaDb::start_with(&["max_connections=30"]);
    let queries = "SELECT ? AS number FROM generate_series(1, 20000) AS g LIMIT 1";
    let databases = of(&postgres.url(), SqlConfig::default()).await;
    assert_eq!(
        ask_all(&databases, queries).await,
        (QUERIES, Vec::new()),
        "PostgreSQL"
    );
    let databases = of(&maria.url(), SqlConfig::default()).await;
    assert_eq!(
        ask_all(&databases, "SELECT ? AS number").await,
        (QUERIES, Vec::new()),
        "MariaDB"
    );
}

/// The error after a long wait names the busy database and the setting.
#[tokio::test]
async fn nobody_waits_for_ever() {
    let postgres = Postgres::start();
    postgres.execute("CREATE TABLE held (a int)");
    let mut config = SqlConfig {
        connections: 1,
        ..SqlConfig::default()
    };
    config.limits.timeout = std::time::Duration::from_millis(1_500);
    let databases = of(&postgres.url(), config).await;
    let long =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let options = RunOptions::default();
    let (first, second, third) = tokio::join!(
        databases.run("crowded", long, &options),
        databases.run("crowded", long, &options),
        databases.run("crowded", long, &options),
    );
    let mut codes = [first, second, third].map(|ran| {
        let error = ran.unwrap_err();
        if error.code() == "sql.limit" {
            assert!(error.to_string().contains("sql.connections"), "{error}");
        }
        error.code().as_str()
    });
    codes.sort_unstable();
    assert!(codes.contains(&"sql.limit"), "{codes:?}");
    assert!(codes.contains(&"sql.timeout"), "{codes:?}");
}
