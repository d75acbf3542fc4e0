//! A tool of this program: registered once, called by templates of every format, agents, scripts and
//! MCP clients. Run it: `cargo run -p quillet --example tool`.

use quillet::{Quillet, Settings, Value};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    });
    let about = "The weather of a city, now.";
    let weather = quillet::tool("weather", about, parameters, async |given| {
        let city = given.get("city").and_then(Value::as_str);
        Ok(format!("18° in {}", city.unwrap_or("nowhere")).into())
    });
    let quillet = Quillet::with_settings(Settings::default()).await?;
    quillet.register(weather).await;

    for (format, template) in [
        ("go", "{{weather .variables.city}}"),
        ("jinja", "{{ weather(variables.city) }}"),
    ] {
        let text = quillet.render_text(format, template, [("city", "Oslo")]);
        println!("{format}: {}", text.await?);
    }
    Ok(())
}
