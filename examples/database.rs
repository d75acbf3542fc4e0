//! A question to a database: the model writes a query, the guard checks it, and it runs read-only.
//! Run it: `cargo run -p quillet --features sql --example database [MODEL]`.

use quillet::sql::{ConnectionDefinition, demo};
use quillet::{Quillet, Settings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::temp_dir().join(format!("quillet-shop-{}.db", std::process::id()));
    demo::create(&file)?;

    let mut settings = Settings::from_env()?;
    settings.set(
        "model.name",
        &std::env::args().nth(1).unwrap_or("mock".into()),
    )?;
    let quillet = Quillet::with_settings(settings).await?;
    let databases = quillet.databases();
    databases
        .put("shop", ConnectionDefinition::of(demo::url(&file)))
        .await?;
    let (written, ran) = quillet
        .ask_database("shop", "How many customers per city?")
        .await?;
    println!(
        "{}\n{} rows, of tables {:?}",
        written.generated_sql,
        ran.rows.rows.len(),
        ran.tables
    );
    std::fs::remove_file(file)?;
    Ok(())
}
