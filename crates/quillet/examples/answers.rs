//! Prints the result of every conformance vector through [`quillet::Template`], one line of JSON
//! for each. The packages for other languages must produce the same lines: text, messages, or the
//! whole error. `cargo run -p quillet --example answers -- conformance`
//!
//! A vector runs in the library's format of the same name. Host features in Rust that a vector
//! needs, such as a custom helper, are not available; the line then contains the error.

use std::fs;
use std::path::Path;
use std::time::Duration;

use quillet::core::json::{self, NumberMode};
use quillet::template::{CompileOptions, MessageSyntax, Missing, RenderLimits};
use quillet::{
    FunctionCall, Map, RenderStep, RenderedTemplate, Template, TemplateError, TemplateFunction,
    TemplateOptions, Value,
};
use serde_json::{Value as Json, json};

/// The files, and the vectors to run from each.
const FILES: [&str; 14] = [
    "dotprompt",
    "f-string",
    "go-sprig-library",
    "go-template",
    "go-template-sprig",
    "handlebars",
    "jinja2",
    "jinja2-differential",
    "liquid",
    "mustache",
    "semantic-kernel",
    "sk-chat-prompt",
    "sk-handlebars",
    "sk-jinja2",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("give the folder of the vectors")?;
    for name in FILES {
        let path = Path::new(&folder).join(name).with_extension("json");
        let text = fs::read_to_string(&path)?;
        let file: Json = serde_json::from_str(&text)?;
        for vector in file["vectors"].as_array().into_iter().flatten() {
            let id = vector["id"].as_str().or(vector["name"].as_str());
            let mut line = answer(&Work::new(name, &file, vector));
            line["file"] = json!(name);
            line["id"] = json!(id);
            println!("{line}");
        }
    }
    Ok(())
}

/// A vector as input for the library.
struct Work {
    format: &'static str,
    text: String,
    options: TemplateOptions,
    variables: Map,
    /// Functions that the vector declares.
    functions: Json,
}

fn answer(work: &Work) -> Json {
    match rendered(work) {
        Ok(rendered) => {
            let failed = rendered.failed_calls().iter();
            let failed: Vec<_> = failed
                .map(|call| json!([call.function, call.message]))
                .collect();
            match rendered.messages() {
                Ok(messages) => {
                    json!({"text": rendered.text(), "messages": messages, "failed": failed})
                }
                Err(error) => json!({"error": said(&error)}),
            }
        }
        Err(error) => json!({"error": said(&error)}),
    }
}

fn said(error: &TemplateError) -> Json {
    json!({
        "code": error.code(),
        "message": error.to_string(),
        "line": error.position().map(|place| place.line),
        "column": error.position().map(|place| place.column),
        "hint": error.hint(),
    })
}

fn rendered(work: &Work) -> Result<RenderedTemplate, TemplateError> {
    let template = Template::compile(work.format, &work.text, &work.options)?;
    let functions = work.functions.as_object().into_iter().flatten();
    let functions = functions.map(|(name, declared)| TemplateFunction {
        parameters: Some(parameters(declared).map(|(name, _)| name).collect()),
        ..TemplateFunction::from(name.as_str())
    });
    let mut rendering = template.begin(work.variables.clone(), functions.collect());
    loop {
        match rendering.step()? {
            RenderStep::Done(rendered) => return Ok(rendered),
            RenderStep::Waiting(calls) => {
                for call in calls {
                    rendering.answer(call.id, work.call(&call));
                }
            }
        }
    }
}

/// Returns a text field; empty if it is missing.
fn text(of: &Json, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

/// Returns the value of a key, which may refer to a shared value of the file.
fn shared(file: &Json, vector: &Json, key: &str) -> Json {
    match vector[key]["$ref"].as_str() {
        Some(name) => file["shared"][name].clone(),
        None => vector[key].clone(),
    }
}

/// Parameters with their defaults.
fn parameters(declared: &Json) -> impl Iterator<Item = (String, Option<&Json>)> {
    let parameters = declared["params"].as_array().into_iter().flatten();
    parameters.map(|parameter| (text(parameter, "name"), parameter.get("default")))
}

impl Work {
    fn new(name: &str, file: &Json, vector: &Json) -> Self {
        let mut work = Work {
            format: format(name, vector),
            text: text(vector, "template"),
            options: options(name, file, vector),
            variables: Map::default(),
            functions: shared(file, vector, "functions"),
        };
        let data = data(name, file, vector);
        match (name, data) {
            (_, Value::Map(map)) => work.variables = map,
            // A value that is not an object is wrapped, and an outer template passes it to the
            // template under test.
            (go, other) if go.starts_with("go-") => {
                let entry = text(vector, "entry");
                work.options.name = "(root)".to_owned();
                work.text = format!("{{{{template {entry:?} .data}}}}");
                work.variables = Map::from([("data", other)]);
                return work;
            }
            _ => {}
        }
        match name {
            _ if name.starts_with("go-") => {
                let entry = work.options.name.clone();
                let sources = &mut work.options.partials;
                if let Some(at) = sources.iter().position(|(name, _)| *name == entry) {
                    work.text = sources.remove(at).1;
                }
            }
            "dotprompt" => work.text = body(&text(vector, "source")).to_owned(),
            "sk-chat-prompt" => work.text = text(vector, "rendered"),
            _ => {}
        }
        work
    }

    /// Result of a declared function.
    fn call(&self, call: &FunctionCall) -> Result<Value, String> {
        let declared = &self.functions[&call.function];
        let mut bound: Vec<(String, Value)> = Vec::new();
        for (index, (name, default)) in parameters(declared).enumerate() {
            let given = call.arguments.named.get(&name);
            let given = given.or_else(|| call.arguments.positional.get(index));
            let given = given.or_else(|| self.variables.get(&name)).cloned();
            match given.or_else(|| Some(Value::from(default?.clone()))) {
                Some(value) => bound.push((name, value)),
                None => return Err(format!("missing argument {name}")),
            }
        }
        let body = &declared["body"];
        match body["op"].as_str() {
            Some("const") => Ok(body["value"].clone().into()),
            Some("echo") => Ok(bound
                .into_iter()
                .next()
                .map(|(_, value)| value)
                .unwrap_or_default()),
            Some("template") => {
                let fill = |text: String, (name, value): &(String, Value)| {
                    let printed = match value {
                        Value::Str(text) => text.to_string(),
                        other => json::to_string(other),
                    };
                    text.replace(&format!("{{{name}}}"), &printed)
                };
                Ok(bound.iter().fold(text(body, "text"), fill).into())
            }
            _ => Err(text(body, "message")),
        }
    }
}

fn format(name: &str, vector: &Json) -> &'static str {
    let is = |key: &str, option: &str| vector[key][option] == json!(true);
    match name {
        "dotprompt" => "dotprompt",
        "f-string" => "f-string",
        "handlebars" if is("options", "noEscape") => "handlebars",
        "handlebars" => "handlebars-html",
        "jinja2" | "jinja2-differential" if vector["preset"] == "hf" => "jinja",
        "jinja2" | "jinja2-differential" => "jinja-plain",
        "liquid" => "liquid",
        "mustache" => "mustache-html",
        "semantic-kernel" | "sk-chat-prompt" => "semantic-kernel",
        "sk-handlebars" => "semantic-kernel-handlebars",
        "sk-jinja2" => "semantic-kernel-jinja2",
        _ => "go",
    }
}

fn options(name: &str, file: &Json, vector: &Json) -> TemplateOptions {
    let mut options = TemplateOptions {
        limits: RenderLimits {
            time: Duration::from_secs(60),
            ..RenderLimits::default()
        },
        compile: CompileOptions {
            missing: missing(vector),
            messages: match name {
                "sk-chat-prompt" | "sk-handlebars" | "sk-jinja2" => MessageSyntax::Elements,
                _ => MessageSyntax::Plain,
            },
            ..CompileOptions::default()
        },
        ..TemplateOptions::default()
    };
    if name.starts_with("go-") {
        options.name = text(vector, "entry");
        let sources = vector["templates"].as_array().into_iter().flatten();
        let sources = sources.map(|source| (text(source, "name"), text(source, "text")));
        options.partials = sources.collect();
    } else if let Json::Object(partials) = shared(file, vector, "partials") {
        let named = |(name, text): (String, Json)| Some((name, text.as_str()?.to_owned()));
        options.partials = partials.into_iter().filter_map(named).collect();
    }
    options
}

/// If two options set the same thing, the last one applies.
fn missing(vector: &Json) -> Missing {
    let given = vector["options"].as_array().into_iter().flatten();
    let mut given = given.filter_map(|option| match option.as_str()? {
        "missingkey=error" => Some(Missing::Strict),
        "missingkey=zero" => Some(Missing::Zero),
        "missingkey=default" | "missingkey=invalid" => Some(Missing::Default),
        _ => None,
    });
    given.next_back().unwrap_or_default()
}

/// The variables: the vector's own, or the dataset that it names.
fn data(name: &str, file: &Json, vector: &Json) -> Value {
    let named = vector["dataset"]
        .as_str()
        .map(|name| &file["datasets"][name]);
    let data = vector.get("data").or(named).unwrap_or(&Json::Null);
    let numbers = match vector["numbers"].as_str() {
        None if name.starts_with("go-") => NumberMode::Float,
        _ => NumberMode::Exact,
    };
    json::parse_with(&data.to_string(), numbers).unwrap_or_default()
}

/// Returns the text after the front matter.
fn body(source: &str) -> &str {
    let matter = source.strip_prefix("---\n");
    let end = matter.and_then(|matter| matter.split_once("\n---\n"));
    end.map_or(source, |(_, body)| body)
}
