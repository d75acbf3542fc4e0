//! One prompt in six template formats, rendered at once. Each calls the same tool, which takes
//! 50 ms; all calls run at the same time. Run it: `cargo run --example six_formats`.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use quillet::core::{BoxFuture, Map, Value};
use quillet::template::{
    Arguments, CallError, CompileOptions, Functions, Limits, Render, Source, TemplateFactory,
    render,
};

/// Formats without arguments call a tool by its name; it gets the variables
/// that have the names of its parameters.
const PROMPTS: [(&str, &str); 6] = [
    ("go", "{{.name}} in {{.city}}: {{weather .city}}."),
    ("jinja", "{{ name }} in {{ city }}: {{ weather(city) }}."),
    ("handlebars", "{{name}} in {{city}}: {{weather city}}."),
    ("mustache", "{{name}} in {{city}}: {{weather}}."),
    (
        "semantic-kernel",
        "{{$name}} in {{$city}}: {{weather $city}}.",
    ),
    ("f-string", "{name} in {city}: {weather}."),
];

/// A tool, how many calls of it run now, and how many ran at once at most.
#[derive(Default)]
struct Weather {
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Functions for Weather {
    fn contains(&self, name: &str) -> bool {
        name == "weather"
    }

    fn names(&self) -> Vec<&str> {
        vec!["weather"]
    }

    fn parameters(&self, _: &str) -> Option<Vec<String>> {
        Some(vec!["city".to_owned()])
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            let named = arguments.named.get("city");
            let city = arguments.positional.first().or(named);
            let city = city.and_then(Value::as_str).unwrap_or("nowhere");
            let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(running, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            Ok(format!("rain in {city}, 4 degrees").into())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let factory = TemplateFactory::standard();
    let variables: Map = [("name", "Ada"), ("city", "Oslo")]
        .map(|(name, value)| (name, Value::from(value)))
        .into_iter()
        .collect();
    let (weather, limits, begun) = (Weather::default(), Limits::default(), Instant::now());
    let one = async |(format, text)| {
        // Neither the variables nor the tool need to exist here.
        let source = Source::new("prompt", text);
        let template = factory.compile(format, &[source], &CompileOptions::default())?;
        let rendered = render(&Render {
            template: &*template,
            entries: &["prompt"],
            variables: &variables,
            functions: &weather,
            limits: &limits,
        })
        .await?;
        Ok::<_, Box<dyn Error>>(format!("{format:<16} {}", rendered.text(0)))
    };
    let lines = try_join_all(PROMPTS.map(one)).await?;
    println!("{}", lines.join("\n"));
    let most = weather.most.into_inner();
    let took = begun.elapsed().as_millis();
    println!("{took} ms; {most} calls of 50 ms ran at the same time");
    Ok(())
}
