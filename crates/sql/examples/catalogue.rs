//! Reads the catalogue of a database and prints the time and memory it takes.
//!
//! `cargo run --release -p quillet-sql --example catalogue -- mysql://user:password@host/name`

use std::time::Instant;

use quillet_sql::{Catalogue, ConnectionUrl};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(url) = std::env::args().nth(1) else {
        return Err("name the address of a database".into());
    };
    let url: ConnectionUrl = url.parse()?;
    let database = quillet_sql::connect(&url, &Default::default())?;
    let start = Instant::now();
    let checked = database.check().await?;
    println!("{} after {:?}", checked.version, start.elapsed());
    let start = Instant::now();
    let progress =
        |done, total, what: &str| println!("{done}/{total} {what} {:?}", start.elapsed());
    let catalogue = database.catalogue(&progress).await?;
    println!("{} in {:?}", counts(&catalogue), start.elapsed());
    let start = Instant::now();
    database.fingerprint().await?;
    println!("fingerprint in {:?}", start.elapsed());
    println!("most memory: {}", most_memory());
    Ok(())
}

fn counts(catalogue: &Catalogue) -> String {
    let tables = &catalogue.tables;
    let columns: usize = tables.iter().map(|table| table.columns.len()).sum();
    let keys: usize = tables.iter().map(|table| table.foreign_keys.len()).sum();
    format!(
        "{} tables, {columns} columns, {keys} foreign keys",
        tables.len()
    )
}

/// Returns the peak resident size of the process, if the system reports it.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown", str::trim).to_owned()
}
