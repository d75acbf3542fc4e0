//! `quillet models`: models, their capabilities, and the configured providers.

use jiff::civil::Date;
use quillet::components;
use quillet::components::agents;
use quillet::settings::keys::KeyProvider;
use quillet::settings::{SettingOrigin, Settings};
use quillet_core::store::{EntryKey, EntryKind};
use quillet_llm::models::{ModelInfo, ModelRouter as Door, Vendor, today};
use serde_json::{Value, json};

use crate::args::ModelsArgs;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};

pub(crate) async fn run(args: &ModelsArgs, config: &Settings) -> Result<(), CliError> {
    let door = agents::models(config)?;
    let today = today();
    if let Some(model) = &args.model {
        return one(model, &door, args.json, today);
    }
    let agents = stored_agents(config).await?;
    let all = json!({
        "default": door.default_model(),
        "providers": providers(config, &door),
        "models": models(&door, today),
        "agents": agents,
        "facts": source(&door),
    });
    if args.json {
        Ok(terminal::line(&format!("{all:#}"))?)
    } else {
        Ok(terminal::result(&page(&all))?)
    }
}

/// Returns the providers with the origin of their keys, never the keys.
fn providers(config: &Settings, door: &Door) -> Vec<Value> {
    let configured = door.configured();
    let row = |provider: KeyProvider| {
        let setting = provider.setting();
        let key = config.text(setting).and_then(|_| config.origin(setting));
        json!({
            "provider": provider.name(),
            "is_reachable": configured.iter().any(|vendor| vendor.name() == provider.name()),
            "key": key.map(SettingOrigin::to_string),
        })
    };
    KeyProvider::ALL.into_iter().map(row).collect()
}

/// Returns the models that are still available.
fn models(door: &Door, today: Date) -> Vec<Value> {
    let names = door.facts().names(today).into_iter();
    names.map(|name| described(name, door, today)).collect()
}

/// Returns the source of the model info.
fn source(door: &Door) -> Value {
    let source = door.facts().source();
    source.map_or(
        Value::Null,
        |source| json!({"litellm": source.version, "day": source.day.to_string()}),
    )
}

fn described(id: &str, door: &Door, today: Date) -> Value {
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
    if let Some(ends) = facts.ends {
        shown["ends"] = json!(ends.to_string());
        shown["successor"] = json!(facts.successor.as_deref());
    }
    if let Some(ending) = facts.deprecation(id, today) {
        shown["warning"] = json!(ending.to_string());
    }
    shown
}

fn supports(facts: &ModelInfo) -> Vec<&'static str> {
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

/// Returns the stored agents, which clients can use as models.
async fn stored_agents(config: &Settings) -> Result<Vec<String>, CliError> {
    let Some(store) = components::optional_store(config).await? else {
        return Ok(Vec::new());
    };
    let keys = store.keys(EntryKind::Agent).await?;
    Ok(keys.iter().map(EntryKey::id).collect())
}

fn one(model: &str, door: &Door, json: bool, today: Date) -> Result<(), CliError> {
    let shown = described(model, door, today);
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
        // Not every provider has prices for its cache.
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
    if !shown["ends"].is_null() {
        lines.push_str(&format!("{:<10} {}\n", "ends", text("ends")));
    }
    terminal::result(&lines)?;
    if let Some(warning) = shown["warning"].as_str() {
        terminal::warning(warning);
    }
    if shown["is_known"] == false {
        let near = door.facts().nearest(model);
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        terminal::warning(&format!(
            "unknown model {model}: its limits are estimates{near}"
        ));
    }
    if shown["is_reachable"] == false {
        let provider = text("provider");
        terminal::note(&format!(
            "no key for {provider}: run `quillet keys set {provider}`"
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
    let head = |text: &str| format!("{}\n", styled(text, TextStyle::Bold, colour));
    let mut page = head("providers");
    for provider in list("providers") {
        let key = match (&provider["key"], provider["is_reachable"] == true) {
            (Value::String(origin), _) => format!("key from {origin}"),
            (_, true) => "address without key".to_owned(),
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
        let ends = match &model["ends"] {
            Value::String(day) => format!("  ends {day}"),
            _ => String::new(),
        };
        page.push_str(&format!(
            "{reach} {:<34} {:>9} {:>7}{price}{ends}\n",
            plain(&model["model"]),
            plain(&model["context_tokens"]),
            plain(&model["output_tokens"])
        ));
    }
    if let Value::Object(source) = &all["facts"] {
        let (version, day) = (plain(&source["litellm"]), plain(&source["day"]));
        page.push_str(&format!("  data from LiteLLM {version} of {day}\n"));
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

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use quillet_llm::models::ModelSettings;

    use super::*;

    #[test]
    fn a_model_shows_its_end_and_warns_in_time() {
        let door = Door::new(ModelSettings::default()).unwrap();
        let soon = "the model gpt-5 ends on 2026-12-11, in 16 days; name another model, such as gpt-5.6-sol";
        for (model, day, ends, warning) in [
            ("gpt-5", date(2026, 11, 25), "2026-12-11", soon),
            ("gpt-5", date(2026, 9, 11), "2026-12-11", ""),
            ("gpt-5.4", date(2026, 11, 25), "", ""),
        ] {
            let shown = described(model, &door, day);
            let text = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                (text("ends"), text("warning")),
                (ends.into(), warning.into())
            );
        }
        let names = |day| {
            let listed = models(&door, day);
            let named = listed.iter().map(|model| plain(&model["model"]));
            named.filter(|name| name == "gpt-5").count()
        };
        let days = [date(2026, 12, 10), date(2026, 12, 11)];
        assert_eq!(days.map(names), [1, 0]);
    }
}
