//! Measures a PostgreSQL database with ten thousand tables: the time and memory to read its
//! catalogue, and the time through `information_schema`. Then prepares the catalogue for questions,
//! ranks some, and checks a query against it.
//!
//! `cargo run --release -p quillet-sql --example ten_thousand`
//!
//! Starts its own server and creates 10,000 tables in 20 schemas with 125,000 columns, 5,000
//! foreign keys and comments. This takes longer than reading them.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::chat::Bytes4;
use quillet_sql::chain::PreparedCatalogue;
use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::guard::{Policy, check};
use quillet_sql::rank::Glossary;
use quillet_sql::{Catalogue, Database, DatabaseError, QueryLimits, SqlDialect, connect};
use quillet_test_support::Postgres;

const SCHEMAS: usize = 20;
const TABLES: usize = 500;

/// Words that table names are built from.
const THINGS: [&str; 25] = [
    "customer",
    "order",
    "invoice",
    "payment",
    "shipment",
    "product",
    "supplier",
    "warehouse",
    "employee",
    "contract",
    "account",
    "ticket",
    "vehicle",
    "route",
    "budget",
    "project",
    "asset",
    "license",
    "device",
    "sensor",
    "patient",
    "course",
    "policy",
    "claim",
    "campaign",
];
const PARTS: [&str; 20] = [
    "header", "line", "status", "history", "note", "address", "contact", "price", "category",
    "batch", "event", "document", "approval", "schedule", "summary", "limit", "group", "audit",
    "forecast", "rating",
];
const QUESTIONS: [&str; 6] = [
    "Which customers have unpaid invoices this month?",
    "average rating of suppliers by category",
    "How many shipments were late in area 7 because of a vehicle?",
    "第三列 的 合同 有 多少",
    "forecast of the campaign budget against what was approved",
    "list employees whose license needs an approval",
];

/// Queries of a reader that does not use `pg_catalog`: tables, primary keys, columns. Comments are
/// queried by name. Foreign keys are omitted, because they would take minutes this way.
const INFORMATION_SCHEMA: [&str; 3] = [
    "SELECT table_schema, table_name, table_type,
        obj_description((quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass, 'pg_class')
     FROM information_schema.tables
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
    "SELECT k.table_schema, k.table_name, k.column_name
     FROM information_schema.table_constraints c
     JOIN information_schema.key_column_usage k
     ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name
     WHERE c.constraint_type = 'PRIMARY KEY'",
    "SELECT table_schema, table_name, column_name, data_type, is_nullable, column_default,
        col_description((quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass, ordinal_position)
     FROM information_schema.columns
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Postgres::start_with(&["shared_buffers=256MB", "max_locks_per_transaction=512"]);
    let start = Instant::now();
    server.execute(&script());
    println!("made in {:.1} s", start.elapsed().as_secs_f64());
    // A test server has only its superuser, and all queries here are trusted.
    let options = ConnectOptions {
        powerful_roles: true,
        second_judge: SecondJudge::Off,
        ..ConnectOptions::default()
    };
    let database = connect(&server.url().parse()?, &options)?;
    let before = peak_memory();
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        let catalogue = database.catalogue(&|_, _, _| {}).await?;
        best = best.min(start.elapsed());
        let columns: usize = catalogue.tables.iter().map(|t| t.columns.len()).sum();
        let keys: usize = catalogue.tables.iter().map(|t| t.foreign_keys.len()).sum();
        println!(
            "{} tables, {columns} columns, {keys} foreign keys in {:.2} s",
            catalogue.tables.len(),
            start.elapsed().as_secs_f64()
        );
    }
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!("peak memory {after} MB, {before} MB of it before reading");
    }
    let start = Instant::now();
    database.fingerprint().await?;
    println!("fingerprint in {:.2} s", start.elapsed().as_secs_f64());
    questions(database.catalogue(&|_, _, _| {}).await?)?;
    let other = information_schema(&*database).await?;
    println!(
        "information_schema in {:.2} s without foreign keys: {:.1} times as long",
        other.as_secs_f64(),
        other.as_secs_f64() / best.as_secs_f64()
    );
    Ok(())
}

/// Measures the time to prepare a catalogue, to rank a question, and to check a query.
fn questions(catalogue: Catalogue) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let prepared = PreparedCatalogue::new(Arc::new(catalogue), &Glossary::default(), &Bytes4);
    println!("index and tokens in {:.2} s", start.elapsed().as_secs_f64());
    let mut times = Vec::new();
    for question in QUESTIONS.iter().cycle().take(120) {
        let start = Instant::now();
        std::hint::black_box(prepared.index.rank(question, 50));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(
        "a question ranked in {:?} (median), {:?} (worst of 120)",
        times[60], times[119]
    );
    let sql = "SELECT h.id, count(*) AS n FROM area_3.customer_header h \
        JOIN area_3.order_header o ON o.previous_id = h.id WHERE h.id > 10 GROUP BY h.id ORDER BY n DESC";
    let start = Instant::now();
    for _ in 0..100 {
        check(
            sql,
            SqlDialect::PostgreSql,
            Some(&prepared.catalogue),
            &Policy::default(),
        )?;
    }
    println!("a query checked in {:?}", start.elapsed() / 100);
    Ok(())
}

/// Returns the name of a table.
fn name(t: usize) -> String {
    format!("{}_{}", THINGS[t % 25], PARTS[t / 25])
}

async fn information_schema(database: &dyn Database) -> Result<Duration, DatabaseError> {
    let limits = QueryLimits {
        rows: usize::MAX,
        bytes: 1 << 30,
        timeout: Duration::from_secs(600),
    };
    let mut total = Duration::ZERO;
    for sql in INFORMATION_SCHEMA {
        let start = Instant::now();
        let rows = database.query(sql, &limits).await?;
        println!(
            "  {} rows in {:.2} s",
            rows.rows.len(),
            start.elapsed().as_secs_f64()
        );
        total += start.elapsed();
    }
    Ok(total)
}

/// Returns the statements that create the database. Every second table refers to the one before it.
fn script() -> String {
    const TYPES: [&str; 8] = [
        "integer",
        "text",
        "numeric(10,2)",
        "timestamptz",
        "varchar(40)",
        "date",
        "boolean",
        "jsonb",
    ];
    let mut sql = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = sql.write_fmt(text);
        sql.push('\n');
    };
    for s in 0..SCHEMAS {
        line(format_args!("BEGIN; CREATE SCHEMA area_{s};"));
        for t in 0..TABLES {
            let reference = match t % 2 {
                1 => format!("REFERENCES area_{s}.{}", name(t - 1)),
                _ => String::new(),
            };
            line(format_args!(
                "CREATE TABLE area_{s}.{} (id bigint PRIMARY KEY, previous_id bigint {reference}",
                name(t)
            ));
            for c in 2..12 + t % 2 {
                line(format_args!(
                    ", {}_{c} {}",
                    PARTS[(c * 7 + t) % 20],
                    TYPES[(c + t) % TYPES.len()]
                ));
            }
            line(format_args!(");"));
            let (table, thing, part) = (name(t), THINGS[t % 25], PARTS[t / 25]);
            line(format_args!(
                "COMMENT ON TABLE area_{s}.{table} IS '第 {t} 张表: every {part} of each {thing} in area {s}';"
            ));
            line(format_args!(
                "COMMENT ON COLUMN area_{s}.{table}.id IS 'number of the {thing}';"
            ));
            line(format_args!(
                "COMMENT ON COLUMN area_{s}.{table}.previous_id IS '前一列';"
            ));
        }
        line(format_args!("COMMIT;"));
    }
    sql.push_str("ANALYZE pg_catalog.pg_class, pg_catalog.pg_attribute, pg_catalog.pg_constraint;");
    sql
}

/// Returns the peak memory of this process in megabytes; `None` if the system does not report it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}
