//! A model with tools, until it is done. The built-in mock answers; with a key in the environment, name
//! a real model. Run it: `cargo run -p quillet --example agent [MODEL]`.

use quillet::hosting::agent::{AgentRequest, ToolSettings};
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

    let request = AgentRequest {
        system: Some("Answer in one sentence.".into()),
        tools: ToolSettings {
            builtin: [("prompt/hello".into(), serde_json::Map::new())].into(),
            ..ToolSettings::default()
        },
        ..AgentRequest::question("Say hello to Ada")
    };
    let outcome = quillet.agent(request).await?;
    println!("{}", outcome.text);
    println!(
        "{} calls of the model, {:?}",
        outcome.model_calls, outcome.ending
    );
    Ok(())
}
