//! Reads a PostgreSQL database of ten thousand tables: how long it takes, how much memory, and how
//! long the same takes through `information_schema`.
//!
//! `cargo run --release -p quillet-sql --example ten_thousand`
//!
//! Starts a server of its own and makes 10,000 tables in 20 schemas with 125,000 columns, 5,000
//! foreign keys and comments, which takes longer than reading them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use quillet_real_servers::Postgres;
use quillet_sql::database::ConnectOptions;
use quillet_sql::{Database, DatabaseError, QueryLimits, connect};

const SCHEMAS: usize = 20;
const TABLES: usize = 500;

/// What a reader without `pg_catalog` asks: tables, primary keys, columns. Comments come by name. The
/// foreign keys are left out: asked for in this way they take minutes.
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
    let database = connect(&server.url().parse()?, &ConnectOptions::default())?;
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
    let other = information_schema(&*database).await?;
    println!(
        "information_schema in {:.2} s without foreign keys: {:.1} times as long",
        other.as_secs_f64(),
        other.as_secs_f64() / best.as_secs_f64()
    );
    Ok(())
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

/// The statements that make the database. Every second table refers to the one before it.
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
                1 => format!("REFERENCES area_{s}.table_{}", t - 1),
                _ => String::new(),
            };
            line(format_args!(
                "CREATE TABLE area_{s}.table_{t} (id bigint PRIMARY KEY, previous_id bigint {reference}"
            ));
            for c in 2..12 + t % 2 {
                line(format_args!(
                    ", column_{c} {}",
                    TYPES[(c + t) % TYPES.len()]
                ));
            }
            line(format_args!(");"));
            line(format_args!(
                "COMMENT ON TABLE area_{s}.table_{t} IS '第 {t} 张表 of area {s}';"
            ));
            line(format_args!(
                "COMMENT ON COLUMN area_{s}.table_{t}.column_2 IS 'what column 2 holds';"
            ));
            line(format_args!(
                "COMMENT ON COLUMN area_{s}.table_{t}.column_3 IS '第三列';"
            ));
        }
        line(format_args!("COMMIT;"));
    }
    sql.push_str("ANALYZE pg_catalog.pg_class, pg_catalog.pg_attribute, pg_catalog.pg_constraint;");
    sql
}

/// Megabytes that this process has used at most; `None` where the system does not say.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}
