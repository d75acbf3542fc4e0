//! Tests column values: which are known, who may see them, and which are never read.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::MessageContent;
use quillet_core::archive::Archive;
use quillet_core::chat::Bytes4;
use quillet_sql::chain::BuiltIn;
use quillet_sql::database::ConnectOptions;
use quillet_sql::values::{Sampling, ValuesConfig};
use quillet_sql::{ConnectionDefinition, Databases, ServiceParts, SqlConfig, SqlDialect};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};
use quillet_test_support::{MariaDb, Postgres};

use super::shop::{Shop, serving};
use crate::scripted::Scripted;

const ANSWER: &str = r#"{"sql": "SELECT 1 AS n"}"#;

/// A table with columns of every kind, in SQL that all three databases accept.
const SALES: &str = "
CREATE TABLE sales (id integer PRIMARY KEY, status varchar(20), town varchar(80), kind varchar(80),
  password varchar(80), story varchar(200), person varchar(80), 状态 varchar(20),
  level varchar(10) CHECK (level IN ('gold', 'silver')), region_id varchar(10));
";

fn rows() -> String {
    let mut sql = String::from(SALES);
    for n in 0..60 {
        let status = ["PAID", "OPEN", "IN_PROGRESS"][n % 3];
        let town = format!("Town{n} of ours");
        let town = ["Zürich", "New York", "York", town.as_str()][n % 4];
        let kind = ["it''s {{prompt}}", "{schema} -- x"][n % 2];
        let story = [
            "two\nlines",
            "a long story that goes on and on and on and on",
        ][n % 2];
        let state = ["已付款", "待付款"][n % 2];
        sql.push_str(&format!(
            "INSERT INTO sales VALUES ({n}, '{status}', '{town}', '{kind}', 'hunter2', \
             '{story}', 'Person {n}', '{state}', 'gold', 'R1');"
        ));
    }
    sql
}

fn on() -> SqlConfig {
    SqlConfig {
        values: ValuesConfig {
            sampling: Sampling::On,
            table_time: Duration::from_secs(60),
            time: Duration::from_secs(300),
            ..ValuesConfig::default()
        },
        ..SqlConfig::default()
    }
}

/// Returns the schema that the model sees for a question.
async fn told(databases: &Databases, model: &Arc<Scripted>, question: &str) -> String {
    databases.generate("shop", question).await.unwrap();
    let asked = model.asked();
    let last = asked.last().unwrap().messages.last().unwrap();
    let MessageContent::Text(text) = &last.content else {
        panic!("{last:?}");
    };
    text.clone()
}

/// Returns the line of a column of the table `sales`.
fn line(told: &str, column: &str) -> String {
    let table = told.split("sales (table)").nth(1).unwrap();
    let mut lines = table.lines().map(str::trim);
    let found = lines.find(|line| line.trim_start_matches(['"', '`']).starts_with(column));
    found
        .unwrap_or_else(|| panic!("{column}: {told}"))
        .to_owned()
}

async fn tells_values(dialect: SqlDialect) {
    let shop = Shop::open(dialect);
    shop.execute(&rows());
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let databases = serving(&shop, &model, on()).await;
    assert!(databases.sample("shop").await.unwrap() >= 4, "{dialect}");

    let plain = told(&databases, &model, "how many sales are there?").await;
    // Columns with few, often repeated values are listed completely; others are not.
    assert!(
        line(&plain, "status").contains("e.g. 'IN_PROGRESS', 'OPEN', 'PAID'"),
        "{dialect}: {plain}"
    );
    assert!(
        line(&plain, "level").contains("in ('gold', 'silver')"),
        "{plain}"
    );
    for silent in ["town", "person", "password", "story"] {
        assert!(
            !line(&plain, silent).contains("e.g."),
            "{dialect} {silent}: {plain}"
        );
    }
    for never in [
        "hunter2",
        "Person",
        "goes on",
        "two\nlines",
        "two lines",
        "Town",
    ] {
        assert!(!plain.contains(never), "{dialect} {never}: {plain}");
    }
    // A value is always a literal. The value must not end the literal or expand as a variable.
    let kind = line(&plain, "kind");
    assert!(
        kind.contains("'it''s {{prompt}}'") && kind.contains("'{schema} -- x'"),
        "{kind}"
    );

    for (question, column, value) in [
        ("sales in zurich", "town", "e.g. 'Zürich', …"),
        ("what did NEW YORK buy?", "town", "e.g. 'New York', …"),
        (
            "Sales of York and Zürich",
            "town",
            "e.g. 'York', 'Zürich', …",
        ),
        (
            "sales that are in progress",
            "status",
            "e.g. 'IN_PROGRESS', ",
        ),
        ("已付款的订单有多少", "状态", "e.g. '已付款', '待付款'"),
        ("what did person 7 buy", "person", "e.g. 'Person 7'"),
    ] {
        let told = told(&databases, &model, question).await;
        let line = line(&told, column);
        // 60 different people are not categories.
        let is_known = column != "person";
        assert_eq!(
            line.contains(value),
            is_known,
            "{dialect} {question}: {line}"
        );
    }
}

#[tokio::test]
async fn a_question_that_names_a_value_has_it_told() {
    for dialect in SqlDialect::ALL {
        tells_values(dialect).await;
    }
}

#[tokio::test]
async fn enums_and_checks_are_told_without_reading_rows() {
    for (dialect, script) in [
        (
            SqlDialect::PostgreSql,
            "CREATE TYPE mood AS ENUM ('sad', 'glad');
             CREATE DOMAIN size AS text CHECK (VALUE IN ('S', 'M'));
             CREATE TABLE sales (id int PRIMARY KEY, mood mood, size size,
               status varchar(9) CHECK (status IN ('open', 'it''s')),
               kind text CHECK (kind = 'a' OR kind = 'b'))",
        ),
        (
            SqlDialect::MySql,
            "CREATE TABLE sales (id int PRIMARY KEY, mood enum('sad', 'glad'), size enum('S', 'M'),
               status varchar(9) CHECK (status IN ('open', 'it''s')),
               kind varchar(9), CONSTRAINT c CHECK (kind IN ('a', 'b')))",
        ),
        (
            SqlDialect::Sqlite,
            "CREATE TABLE sales (id int PRIMARY KEY, mood text CHECK (mood IN ('sad', 'glad')),
               size text CHECK (size IN ('S', 'M')),
               status varchar(9) CHECK (status IN ('open', 'it''s')),
               kind text, CHECK (kind IN ('a', 'b')))",
        ),
    ] {
        let shop = Shop::open(dialect);
        shop.execute(script);
        let model = Arc::new(Scripted::texts(&[ANSWER]));
        // This is the default for stored connections.
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        assert_eq!(databases.sample("shop").await.unwrap(), 0);
        let told = told(&databases, &model, "sales").await;
        for (column, values) in [
            ("mood", "in ('sad', 'glad')"),
            ("size", "in ('S', 'M')"),
            ("status", "in ('open', 'it''s')"),
            ("kind", "in ('a', 'b')"),
        ] {
            assert!(
                line(&told, column).contains(values),
                "{dialect} {column}: {told}"
            );
        }
    }
}

fn config_of(sampling: Sampling) -> SqlConfig {
    let on = on();
    SqlConfig {
        values: ValuesConfig {
            sampling,
            ..on.values
        },
        connect: ConnectOptions {
            powerful_roles: true,
            ..on.connect
        },
        ..on
    }
}

/// The server's statistics show how often its tables were read.
#[tokio::test]
async fn nothing_is_read_where_values_are_not_wanted() {
    let server = Postgres::start();
    server.execute(&rows());
    let settled = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quillet'";
    let scans =
        "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'sales'";
    let mut before = server.look("postgres", scans);
    for (sampling, said, is_read) in [
        (Sampling::Off, Some(true), false),
        (Sampling::Auto, None, false),
        (Sampling::Auto, Some(false), false),
        (Sampling::On, Some(false), false),
        (Sampling::Auto, Some(true), true),
        (Sampling::On, None, true),
    ] {
        let model = Arc::new(Scripted::texts(&[ANSWER]));
        let databases = super::shop::service(&model, config_of(sampling));
        let definition = ConnectionDefinition {
            values: said,
            ..ConnectionDefinition::of(server.url())
        };
        databases.put("shop", definition).await.unwrap();
        let told = told(&databases, &model, "paid sales").await;
        let sampled = databases.sample("shop").await.unwrap();
        // A session reports its statistics before it disappears from the list.
        while server.look("postgres", settled) != "0" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let now = server.look("postgres", scans);
        assert_eq!(
            now != before,
            is_read,
            "{sampling:?} {said:?}: {before} {now}"
        );
        assert_eq!(sampled > 0, is_read, "{sampling:?} {said:?}");
        assert!(is_read || !told.contains("PAID"), "{told}");
        before = now;
    }
}

#[tokio::test]
async fn a_file_that_is_lent_has_values_and_one_in_the_store_has_none() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(&rows());
    for (sampling, lends, has_values) in [
        (Sampling::Auto, true, true),
        (Sampling::Auto, false, false),
        (Sampling::Off, true, false),
    ] {
        let model = Arc::new(Scripted::texts(&[ANSWER]));
        let databases = super::shop::service(&model, config_of(sampling));
        if lends {
            databases
                .add_temporary("shop", &ConnectionDefinition::of(&shop.url))
                .unwrap()
        } else {
            drop(
                databases
                    .put("shop", ConnectionDefinition::of(&shop.url))
                    .await
                    .unwrap(),
            )
        }
        databases.sample("shop").await.unwrap();
        let told = told(&databases, &model, "sales").await;
        assert_eq!(told.contains("'PAID'"), has_values, "{sampling:?} {lends}");
    }
}

#[tokio::test]
async fn what_a_role_may_not_read_is_left_out() {
    let server = Postgres::start();
    server.execute(&rows());
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT (id, town, 状态) ON sales TO reader; GRANT TEMPORARY ON DATABASE postgres TO reader");
    let maria = MariaDb::start();
    maria.execute(&rows());
    maria.execute("CREATE TABLE hidden (id int PRIMARY KEY, status varchar(9)); INSERT INTO hidden VALUES (1, 'HUSH'), (2, 'HUSH')");
    let maria_reader = maria.create_role("reader");
    // The INSERT privilege makes a column visible, but does not permit reading its rows.
    maria.execute("GRANT SELECT (id, town, 状态), INSERT (status) ON sales TO reader; GRANT INSERT ON hidden TO reader");
    for url in [reader, maria_reader] {
        let model = Arc::new(Scripted::texts(&[ANSWER]));
        let databases = super::shop::service(&model, config_of(Sampling::On));
        databases
            .put("shop", ConnectionDefinition::of(&url))
            .await
            .unwrap();
        assert!(databases.sample("shop").await.unwrap() >= 2, "{url}");
        let told = told(&databases, &model, "paid or hush sales of Zürich").await;
        assert!(line(&told, "town").contains("'Zürich'"), "{told}");
        assert!(!told.contains("PAID") && !told.contains("HUSH"), "{told}");
    }
}

/// Of 200,000 rows, a few thousand are read, including the newest.
#[tokio::test]
async fn a_large_table_is_read_in_part() {
    let server = Postgres::start();
    server.execute(
        "CREATE TABLE sales (id int PRIMARY KEY, status text);
         INSERT INTO sales SELECT n, 'DONE' FROM generate_series(1, 200000) AS n;
         INSERT INTO sales SELECT n, 'FRESH' FROM generate_series(200001, 200100) AS n;
         CREATE VIEW endless AS SELECT 'x' || n AS status FROM generate_series(1, 1000000000000) AS n;
         ANALYZE sales",
    );
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let databases = super::shop::service(&model, config_of(Sampling::On));
    databases
        .put("shop", ConnectionDefinition::of(server.url()))
        .await
        .unwrap();
    databases.sample("shop").await.unwrap();
    let told = told(&databases, &model, "fresh sales").await;
    assert!(line(&told, "status").contains("'FRESH', 'DONE'"), "{told}");
    let settled = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quillet'";
    while server.look("postgres", settled) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let read = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) - 200100 FROM pg_stat_user_tables
        WHERE relname = 'sales'";
    let read: i64 = server.look("postgres", read).parse().unwrap();
    // Two samples were taken: one in the background of the question, and one by the test.
    assert!(read < 4 * 2_600, "{read}");
}

async fn values_are_told(databases: &Databases, model: &Arc<Scripted>, value: &str) {
    while !told(databases, model, "sales").await.contains(value) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Changes appear in the background of questions, without an explicit request.
#[tokio::test]
async fn values_are_read_again_when_they_are_old_or_the_tables_change() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(&rows());
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let mut config = on();
    config.values.age = Duration::ZERO;
    let old = serving(&shop, &model, config).await;
    values_are_told(&old, &model, "'PAID'").await;
    shop.execute("UPDATE sales SET status = 'LOST' WHERE status = 'PAID'");
    values_are_told(&old, &model, "'LOST'").await;

    let mut config = on();
    config.catalogue_age = Duration::ZERO;
    let changed = serving(&shop, &model, config).await;
    values_are_told(&changed, &model, "'LOST'").await;
    shop.execute(
        "UPDATE sales SET status = 'FOUND' WHERE status = 'LOST'; CREATE TABLE more (id integer)",
    );
    values_are_told(&changed, &model, "'FOUND'").await;
}

#[tokio::test]
async fn replicas_share_values_and_a_change_of_mind_ends_them() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(&rows());
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let archive = Arc::new(MemoryArchive::new(ArchiveOptions::default()));
    let store = Arc::new(MemoryStore::new());
    let replica = || {
        Databases::new(ServiceParts {
            store: store.clone(),
            archive: archive.clone(),
            model: Some(model.clone()),
            tokens: Arc::new(Bytes4),
            embedder: None,
            prompts: Arc::new(BuiltIn::new().unwrap()),
            config: SqlConfig::default(),
        })
    };
    let (first, second) = (replica(), replica());
    let definition = |values| ConnectionDefinition {
        values,
        ..ConnectionDefinition::of(&shop.url)
    };
    first.put("shop", definition(Some(true))).await.unwrap();
    first.sample("shop").await.unwrap();
    // The second replica does not sample by itself, because the rows no longer exist.
    shop.execute("DELETE FROM sales");
    let seen = told(&second, &model, "sales").await;
    assert!(seen.contains("'PAID'"), "{seen}");

    first.put("shop", definition(None)).await.unwrap();
    assert_eq!(archive.values("shop").await.unwrap(), None);
    for databases in [&first, &second] {
        let told = told(databases, &model, "paid sales").await;
        assert!(!told.contains("'PAID'"), "{told}");
    }
}

#[tokio::test]
async fn values_stay_within_their_tokens() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(&rows());
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let mut config = on();
    config.values.tokens = 8;
    let databases = serving(&shop, &model, config).await;
    databases.sample("shop").await.unwrap();
    let told = told(&databases, &model, "sales of Zürich").await;
    // Values named in the question come first. The other values do not fit.
    assert!(line(&told, "town").contains("'Zürich'"), "{told}");
    assert!(!told.contains("'PAID'"), "{told}");
}

#[tokio::test]
async fn a_table_that_has_the_value_comes_first() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(
        "CREATE TABLE xq1 (id integer PRIMARY KEY, va varchar(20));
         CREATE TABLE xq2 (id integer PRIMARY KEY, va varchar(20));
         INSERT INTO xq1 VALUES (1, 'Hamburg'), (2, 'Hamburg'); INSERT INTO xq2 VALUES (1, 'Lyon'), (2, 'Lyon');",
    );
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let databases = serving(&shop, &model, on()).await;
    databases.sample("shop").await.unwrap();
    let prepared = databases
        .prepared("shop", false, &|_, _, _| {})
        .await
        .unwrap();
    for (question, expected) in [("everything in lyon", "xq2"), ("Hamburg", "xq1")] {
        let ranked = prepared.rank(question, None, 1);
        assert_eq!(
            prepared.catalogue.tables[ranked[0].table].table_name,
            expected
        );
        assert_eq!(ranked[0].why.len(), 1, "{ranked:?}");
    }
}

/// SQLite stores any value in any column, regardless of the declared type.
#[tokio::test]
async fn bytes_are_no_values_and_hide_no_others() {
    let shop = Shop::open(SqlDialect::Sqlite);
    shop.execute(
        "CREATE TABLE sales (id integer PRIMARY KEY, status varchar(9), odd text, torn text);
         INSERT INTO sales VALUES (1, 'PAID', x'ff00', CAST(x'ff' AS TEXT)), (2, 'PAID', x'00', 'torn'),
           (3, 'OPEN', 7, 'torn'), (4, 'OPEN', 'odd', 'torn'), (5, 'OPEN', 'odd', 'torn')",
    );
    let model = Arc::new(Scripted::texts(&[ANSWER]));
    let databases = serving(&shop, &model, on()).await;
    databases.sample("shop").await.unwrap();
    let told = told(&databases, &model, "sales").await;
    assert!(
        line(&told, "status").contains("e.g. 'OPEN', 'PAID'"),
        "{told}"
    );
    let odd = line(&told, "odd");
    assert!(!odd.contains("ff") && !odd.contains('\u{fffd}'), "{odd}");
    assert!(!line(&told, "torn").contains('\u{fffd}'), "{told}");
}
