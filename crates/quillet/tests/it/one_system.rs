//! A registered tool can be called by templates, scripts and agents.

use quillet::{Quillet, Settings, Value};
use serde_json::json;

async fn with_a_tool() -> Quillet {
    let mut settings = Settings::default();
    settings.set("model.name", "mock").unwrap();
    let quillet = Quillet::with_settings(settings).await.unwrap();
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let weather = quillet::tool("weather", "The weather.", parameters, async |given| {
        let city = given.get("city").and_then(Value::as_str).unwrap_or("");
        Ok(format!("rain in {city}").into())
    });
    quillet.register(weather).await;
    quillet
}

#[tokio::test]
async fn a_registered_tool_is_called_by_templates() {
    let quillet = with_a_tool().await;
    for (format, text) in [
        ("go", "{{weather .variables.city}}"),
        ("jinja", "{{ weather(variables.city) }}"),
    ] {
        let text = quillet.render_text(format, text, [("city", "Oslo")]).await;
        assert_eq!(text.unwrap(), "rain in Oslo", "{format}");
    }
}

#[tokio::test]
async fn a_registered_tool_is_called_by_scripts() {
    let quillet = with_a_tool().await;
    let file = std::env::temp_dir().join(format!("quillet-tool-{}.ai.yaml", std::process::id()));
    std::fs::write(&file, "- $tool: {name: weather, city: Oslo}\n").unwrap();
    let outcome = quillet
        .run_script(file.to_str().unwrap(), [("x", "")])
        .await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!(outcome.unwrap().value, Some("rain in Oslo".into()));
}
