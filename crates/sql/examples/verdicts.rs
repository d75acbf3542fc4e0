//! Prints the guard's verdict on every test vector, one JSON line each: the approved query or the
//! whole error. The packages for other languages are tested against the same lines.
//! `cargo run -p quillet-sql --example verdicts -- conformance/sql`

use std::fs;
use std::path::Path;

use quillet_sql::catalogue::{DatabaseTable, TableColumn};
use quillet_sql::guard::{self, ApprovedQuery, GuardError, GuardMode, Policy};
use quillet_sql::{Catalogue, SqlDialect};
use serde_json::{Value, json};

/// Query files. Each runs once without known tables, and once with the tables below.
const FILES: [&str; 3] = ["guard", "sql-safety", "sql-limit"];
/// Tables and their columns.
const TABLES: [(&str, &[&str]); 2] = [
    ("users", &["id", "name", "email", "age", "created_at"]),
    (
        "orders",
        &["id", "user_id", "total", "status", "created_at"],
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("give the folder of the vectors")?;
    for name in FILES {
        let path = Path::new(&folder).join(name).with_extension("json");
        let file: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let cases = file["cases"].as_array().into_iter().flatten();
        for (number, case) in cases.enumerate() {
            for known in [false, true] {
                let mut line = verdict(case, known).ok_or("a vector has no dialect")?;
                line["file"] = json!(name);
                line["number"] = json!(number);
                line["known"] = json!(known);
                println!("{line}");
            }
        }
    }
    Ok(())
}

fn verdict(case: &Value, known: bool) -> Option<Value> {
    let dialect = SqlDialect::from_name(case["dialect"].as_str()?)?;
    let policy = Policy {
        mode: match case["mode"].as_str() {
            Some("explore") => GuardMode::Explore,
            _ => GuardMode::Select,
        },
        rows: case["cap"].as_u64().or(Policy::default().rows),
        ..Policy::default()
    };
    let catalogue = known.then(|| catalogue(dialect));
    let checked = guard::check(case["sql"].as_str()?, dialect, catalogue.as_ref(), &policy);
    Some(match checked {
        Ok(approved) => said(&approved),
        Err(error) => refused(&error),
    })
}

fn said(approved: &ApprovedQuery) -> Value {
    json!({
        "sql": approved.sql,
        "shown": approved.shown,
        "tables": approved.tables,
        "limited": approved.limited,
    })
}

fn refused(error: &GuardError) -> Value {
    json!({
        "code": error.code.as_str(),
        "message": error.message,
        "line": error.position.map(|place| place.line),
        "column": error.position.map(|place| place.column),
        "hint": error.help,
    })
}

/// Returns a catalogue with the tables in a schema on the search path.
fn catalogue(dialect: SqlDialect) -> Catalogue {
    let home = match dialect {
        SqlDialect::PostgreSql => "public",
        SqlDialect::MySql => "db",
        SqlDialect::Sqlite => "main",
    };
    let tables = TABLES.map(|(name, columns)| DatabaseTable {
        schema_name: home.to_owned(),
        table_name: name.to_owned(),
        columns: columns.iter().map(|name| column(name)).collect(),
        ..DatabaseTable::default()
    });
    let (version, fingerprint) = (String::new(), String::new());
    let path = vec![home.to_owned()];
    Catalogue::new(dialect, version, path, tables.into(), fingerprint)
}

fn column(name: &str) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        ..TableColumn::default()
    }
}
