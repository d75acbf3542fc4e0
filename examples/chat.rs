//! A prompt, sent to its model, with the answer as it comes. The built-in mock answers; with a key in
//! the environment, name a real model. Run it: `cargo run -p quillet --example chat [MODEL]`.

use std::io::Write;

use futures_util::StreamExt;
use quillet::core::chat::ChatEvent;
use quillet::{Quillet, Settings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::from_env()?;
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/demo");
    settings.set("store.url", &format!("dir:{demo}"))?;
    settings.set(
        "model.name",
        &std::env::args().nth(1).unwrap_or("mock".into()),
    )?;
    let quillet = Quillet::with_settings(settings).await?;

    let mut answer = quillet.stream("hello", [("name", "Ada")]).await?.stream;
    while let Some(event) = answer.next().await {
        // Reasoning, calls of tools and the count of tokens are other events.
        if let ChatEvent::Text { text, .. } = event? {
            print!("{text}");
            std::io::stdout().flush()?;
        }
    }
    println!();
    Ok(())
}
