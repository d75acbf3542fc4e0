//! `quillet models`: what is known of models, and which can be reached.

use quillet::parts;
use quillet::parts::agents;
use quillet::settings::keys::Provider;
use quillet::settings::{Origin, Settings};
use quillet_core::store::{Key, Kind};
use quillet_llm::models::{Facts, Models as Door, Vendor};
use serde_json::{Value, json};

use crate::args::Models;
use crate::failure::Failure;
use crate::terminal::{self, Stream, Style, styled};

pub(crate) async fn run(args: &Models, config: &Settings) -> Result<(), Failure> {
    let door = agents::models(config)?;
    if let Some(model) = &args.model {
        return one(model, &door, args.json);
    }
    let agents = stored(config).await?;
    let all = json!({
        "default": door.default_model(),
        "providers": providers(config, &door),
        "models": models(&door),
        "agents": agents,
    });
    if args.json {
        Ok(terminal::line(&format!("{all:#}"))?)
    } else {
        Ok(terminal::result(&page(&all))?)
    }
}

/// Who can be asked, and where the key is from; never the key.
fn providers(config: &Settings, door: &Door) -> Vec<Value> {
    let configured = door.configured();
    let row = |provider: Provider| {
        let setting = provider.setting();
        let key = config.text(setting).and_then(|_| config.origin(setting));
        json!({
            "provider": provider.name(),
            "is_reachable": configured.iter().any(|vendor| vendor.name() == provider.name()),
            "key": key.map(Origin::to_string),
        })
    };
    Provider::ALL.into_iter().map(row).collect()
}

fn models(door: &Door) -> Vec<Value> {
    let ids = door.facts().ids();
    let whole = ids.into_iter().filter(|id| !id.ends_with(['.', '-']));
    whole.map(|id| described(id, door)).collect()
}

fn described(id: &str, door: &Door) -> Value {
    let facts = door.facts().find(id);
    let (vendor, _) = door.choose(id);
    let is_there = vendor == Vendor::Mock
        || door
            .configured()
            .iter()
            .any(|known| known.name() == vendor.name());
    let mut shown = json!({
        "model": id,
        "provider": vendor.name(),
        "is_reachable": is_there,
        "is_known": facts.known,
        "context_tokens": facts.context_window,
        "output_tokens": facts.max_output,
        "supports": supports(&facts),
    });
    if let Some(price) = &facts.price {
        shown["usd_per_million_tokens"] = json!({
            "input": price.input,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
            "output": price.output,
        });
    }
    shown
}

fn supports(facts: &Facts) -> Vec<&'static str> {
    let all = [
        (facts.supports.images, "images"),
        (facts.supports.tools, "tools"),
        (facts.supports.reasoning, "reasoning"),
        (facts.supports.schema, "schema"),
    ];
    all.into_iter()
        .filter(|(can, _)| *can)
        .map(|(_, name)| name)
        .collect()
}

/// Agents of the store: they are models for whoever asks.
async fn stored(config: &Settings) -> Result<Vec<String>, Failure> {
    let Some(store) = parts::optional_store(config).await? else {
        return Ok(Vec::new());
    };
    let keys = store.keys(Kind::Agent).await?;
    Ok(keys.iter().map(Key::id).collect())
}

fn one(model: &str, door: &Door, json: bool) -> Result<(), Failure> {
    let shown = described(model, door);
    if json {
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    let mut lines = String::new();
    let text = |name: &str| plain(&shown[name]);
    for (label, name) in [
        ("provider", "provider"),
        ("context", "context_tokens"),
        ("output", "output_tokens"),
        ("supports", "supports"),
    ] {
        lines.push_str(&format!("{label:<10} {}\n", text(name)));
    }
    if let Some(price) = shown["usd_per_million_tokens"].as_object() {
        let parts = price.iter().filter(|(_, value)| !value.is_null());
        let parts: Vec<String> = parts
            .map(|(name, value)| format!("{name} ${value}"))
            .collect();
        lines.push_str(&format!(
            "{:<10} {} per million tokens\n",
            "price",
            parts.join(", ")
        ));
    }
    terminal::result(&lines)?;
    if shown["is_known"] == false {
        let near = door.facts().nearest(model);
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        terminal::warning(&format!(
            "{model} is not known: its window and its answer are a guess{near}"
        ));
    }
    if shown["is_reachable"] == false {
        let provider = text("provider");
        terminal::note(&format!(
            "there is no key for {provider}: `quillet keys set {provider}`"
        ));
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn page(all: &Value) -> String {
    let colour = Stream::Out.has_colour();
    let list = |name: &str| all[name].as_array().cloned().unwrap_or_default();
    let head = |text: &str| format!("{}\n", styled(text, Style::Bold, colour));
    let mut page = head("providers");
    for provider in list("providers") {
        let key = match (&provider["key"], provider["is_reachable"] == true) {
            (Value::String(origin), _) => format!("key from {origin}"),
            (_, true) => "an address and no key".to_owned(),
            _ => "no key".to_owned(),
        };
        page.push_str(&format!("  {:<34} {key}\n", plain(&provider["provider"])));
    }
    page.push_str(&head("models"));
    for model in list("models") {
        let price = match &model["usd_per_million_tokens"] {
            Value::Null => String::new(),
            price => format!("  ${} in, ${} out", price["input"], price["output"]),
        };
        let reach = if model["is_reachable"] == true {
            "*"
        } else {
            " "
        };
        page.push_str(&format!(
            "{reach} {:<34} {:>9} {:>7}{price}\n",
            plain(&model["model"]),
            plain(&model["context_tokens"]),
            plain(&model["output_tokens"])
        ));
    }
    let agents = list("agents");
    if !agents.is_empty() {
        page.push_str(&head("agents"));
        for agent in agents {
            page.push_str(&format!("  {}\n", plain(&agent)));
        }
    }
    page
}
