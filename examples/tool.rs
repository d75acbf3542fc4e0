//! A tool of this program: registered once, called by templates of every format, agents, scripts and
//! MCP clients. Run it: `cargo run -p quillet --example tool`.

use std::sync::Arc;

use quillet::core::BoxFuture;
use quillet::core::tool::{Tool, ToolContext, ToolError, ToolSpec};
use quillet::{Map, Quillet, Settings, Value};

#[derive(Debug)]
struct Weather(ToolSpec);

impl Tool for Weather {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let city = arguments.get("city").and_then(Value::as_str);
            Ok(format!("18° in {}", city.unwrap_or("nowhere")).into())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quillet = Quillet::with(Settings::default()).await?;
    let spec = ToolSpec {
        name: "weather".into(),
        description: "The weather of a city, now.".into(),
        parameters: serde_json::json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        }),
        ..ToolSpec::default()
    };
    quillet.register(Arc::new(Weather(spec))).await;

    let formats = [
        ("go", "{{weather .city}}"),
        ("jinja", "{{ weather(city) }}"),
    ];
    for (format, template) in formats {
        println!(
            "{format}: {}",
            quillet
                .render_text(format, template, [("city", "Oslo")])
                .await?
        );
    }
    Ok(())
}
