//! A script, `.ai.yaml`, with arguments, and its value. The built-in mock answers; with a key in the
//! environment, name a real model. Run it: `cargo run -p quillet --example script [MODEL]`.

use quillet::{Quillet, Settings, core::json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::from_env()?;
    if let Some(model) = std::env::args().nth(1) {
        settings.set("model.name", &model)?;
    }
    let quillet = Quillet::with_settings(settings).await?;
    let script = "/../../examples/scripts/translate/translate.ai.yaml";
    let script = format!("{}{script}", env!("CARGO_MANIFEST_DIR"));
    let outcome = quillet.run_script(&script, [("content", "Guten Tag"), ("target", "English")]);
    let outcome = outcome.await?;
    println!("{}", json::to_string(&outcome.value.unwrap_or_default()));
    println!("{} calls of the model", outcome.model_calls);
    Ok(())
}
