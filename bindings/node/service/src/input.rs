//! Arguments from JavaScript, as JSON that it has validated.

use std::path::PathBuf;
use std::time::Duration;

use quillet_bindings::{
    Abilities, BindingError, BoundCatalogue, GuardQuery, HostFunction, PromptVersion,
    RenderRequest, ScriptRequest, ScriptSource, TaskOutput,
};
use quillet_core::Value;
use serde_json::Value as Json;

use crate::map;
use crate::thread_state::gone;

/// A timeout; a value above the range of the clock means no timeout.
pub(crate) fn time(milliseconds: f64) -> Duration {
    const LONGEST: Duration = Duration::from_secs(1_000_000_000);
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0);
    time.unwrap_or(LONGEST).min(LONGEST)
}

fn parse(json: &str) -> Result<Json, BindingError> {
    serde_json::from_str(json).map_err(|_| gone())
}

fn text(of: &Json, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

fn texts(of: &Json, key: &str) -> Vec<String> {
    let list = of[key].as_array().into_iter().flatten();
    list.filter_map(|one| Some(one.as_str()?.to_owned()))
        .collect()
}

/// `{id, label, version, asMessages, tools}`.
pub(crate) fn request(json: &str, variables: Value) -> Result<RenderRequest, BindingError> {
    let given = parse(json)?;
    let label = given["label"].as_str();
    Ok(RenderRequest {
        id: text(&given, "id"),
        which: match (label, given["version"].as_u64()) {
            (Some(label), _) => PromptVersion::Label(label.to_owned()),
            (None, Some(number)) => PromptVersion::Version(number),
            (None, None) => PromptVersion::Usual,
        },
        variables: map(&variables),
        tools: tools(&given["tools"]),
        as_messages: given["asMessages"] == true,
    })
}

/// A list of `{name, description, parameters}`.
fn tools(given: &Json) -> Vec<HostFunction> {
    let list = given.as_array().into_iter().flatten();
    let tool = |given: &Json| HostFunction {
        name: text(given, "name"),
        description: text(given, "description"),
        parameters: given
            .get("parameters")
            .filter(|found| found.is_object())
            .cloned(),
        ..HostFunction::default()
    };
    list.map(tool).collect()
}

/// An operation on a store.
pub(crate) async fn ask(
    open: &BoundCatalogue,
    what: &str,
    json: &str,
) -> Result<TaskOutput, BindingError> {
    let given = parse(json)?;
    let id = text(&given, "id");
    let value = match what {
        "labels" => open.labels(&id).await?,
        "versions" => open.versions(&id).await?,
        "put" => {
            let definition = map(&given["definition"].clone().into());
            let labels = texts(&given, "labels");
            let message = text(&given, "message");
            let author = given["author"].as_str();
            let put = open.put(&id, definition, &labels, author, &message);
            let number = put.await?;
            Value::Int(number.try_into().unwrap_or(i64::MAX))
        }
        "label" => {
            let label = text(&given, "label");
            open.label(&id, &label, given["version"].as_u64()).await?
        }
        "remove" => {
            open.remove(&id).await?;
            Value::Null
        }
        "sync" => {
            open.sync().await?;
            Value::Null
        }
        _ => return Err(gone()),
    };
    Ok(value.into())
}

/// `{path, text, tools, abilities, …}`; inputs and parameters are passed as values.
pub(crate) fn run(json: &str, values: Value) -> Result<ScriptRequest, BindingError> {
    let given = parse(json)?;
    let script = match given["text"].as_str() {
        Some(text) => ScriptSource::Itself(text.to_owned()),
        None => ScriptSource::Path(text(&given, "path")),
    };
    let folders = |key: &str| texts(&given, key).into_iter().map(PathBuf::from).collect();
    let mut run = ScriptRequest::new(script);
    let Value::List(values) = values else {
        return Err(gone());
    };
    let mut values = values.iter().cloned();
    run.inputs = values.next().filter(|inputs| *inputs != Value::Null);
    run.parameters = values.next().as_ref().map(map).unwrap_or_default();
    run.tools = tools(&given["tools"]);
    if given["abilities"].is_array() {
        run.abilities = Abilities::named(&texts(&given, "abilities"))?;
    }
    run.search = folders("search");
    run.seed = given["seed"].as_u64();
    run.time = given["timeoutMs"].as_f64().map(time);
    run.grants.read = folders("allowRead");
    run.grants.write = folders("allowWrite");
    run.grants.net = given["allowNet"] == true;
    run.grants.run = given["allowRun"] == true;
    run.grants.env = texts(&given, "allowEnv");
    run.is_watched = given["isWatched"] == true;
    for (name, most) in given["limits"].as_object().into_iter().flatten() {
        // JavaScript numbers are floats, so fractions are dropped.
        let most = most.as_f64().unwrap_or_default();
        run.limit(name, most as u64)?;
    }
    Ok(run)
}

/// `{sql, dialect, tables, rows, functions, mode}`.
pub(crate) fn query(json: &str) -> Result<GuardQuery, BindingError> {
    let given = parse(json)?;
    let tables = given["tables"].as_object().map(|tables| {
        let table = |(name, _): (&String, &Json)| (name.clone(), texts(&given["tables"], name));
        tables.iter().map(table).collect()
    });
    Ok(GuardQuery {
        sql: text(&given, "sql"),
        dialect: text(&given, "dialect"),
        tables,
        rows: given["rows"].as_u64(),
        functions: texts(&given, "functions"),
        mode: text(&given, "mode"),
    })
}
