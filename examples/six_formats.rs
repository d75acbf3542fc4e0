//! One prompt in six template formats, rendered at once. Each calls the same tool, which takes
//! 50 ms; all calls run at the same time. Run it: `cargo run -p quillet --example six_formats`.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use quillet::{Quillet, Settings, Value};
use serde_json::json;

/// Formats without arguments call a tool by its name; it gets the variables that have the names of
/// its parameters.
const PROMPTS: [(&str, &str); 6] = [
    ("go", "{{.variables.name}}: {{weather .variables.city}}."),
    ("jinja", "{{ variables.name }}: {{ weather(city) }}."),
    ("handlebars", "{{variables.name}}: {{weather city}}."),
    ("mustache", "{{name}}: {{weather}}."),
    ("semantic-kernel", "{{$name}}: {{weather $city}}."),
    ("f-string", "{name}: {weather}."),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let weather = quillet::tool("weather", "The weather.", parameters, async |given| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let city = given.get("city").and_then(Value::as_str);
        Ok(format!("rain in {}, 4 degrees", city.unwrap_or("nowhere")).into())
    });
    let quillet = Quillet::with_settings(Settings::default()).await?;
    quillet.register(weather).await;

    let begun = Instant::now();
    let one = async |(format, text)| {
        let variables = [("name", "Ada"), ("city", "Oslo")];
        let text = quillet.render_text(format, text, variables).await?;
        Ok::<_, quillet::Error>(format!("{format:<16} {text}"))
    };
    println!("{}", try_join_all(PROMPTS.map(one)).await?.join("\n"));
    println!("{} ms for 6 calls of 50 ms", begun.elapsed().as_millis());
    Ok(())
}
