//! File layout of the vectors of every format but Go: datasets, shared functions, and vectors that
//! refer to them.

use quillet_core::{Map, Value, json};
use quillet_template::{
    CompileOptions, CompiledTemplate, FunctionHost, Render, RenderLimits, RenderedTemplate,
    TemplateFormat, TemplateSource, render,
};

use super::report::Outcome;

/// A vector with its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'a> {
    file: &'a Value,
    pub(super) vector: &'a Value,
}

/// Runs every vector of a file.
pub(super) fn run(
    text: &str,
    evaluate: impl Fn(&Vector<'_>) -> Result<String, String>,
) -> Result<Vec<Outcome>, String> {
    let file = json::parse(text).map_err(|error| error.to_string())?;
    let Some(Value::List(vectors)) = file.get_path(&["vectors"]) else {
        return Err("the file has no vectors".to_owned());
    };
    let outcome = |vector: &Value| {
        let vector = Vector {
            file: &file,
            vector,
        };
        vector.outcome(evaluate(&vector))
    };
    Ok(vectors.iter().map(outcome).collect())
}

impl Vector<'_> {
    /// Returns a text field, or an empty text if it is missing.
    pub(super) fn text(&self, key: &str) -> &str {
        self.get(&[key]).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        self.vector.get_path(path)
    }

    /// Returns the variables: the vector's own, or those of its dataset.
    pub(super) fn data(&self) -> Value {
        let named = || self.file.get_path(&["datasets", self.text("dataset")]);
        self.get(&["data"])
            .or_else(named)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the object under a key, which may refer to a shared one.
    pub(super) fn shared(&self, key: &str) -> Map {
        let own = self.get(&[key]).and_then(Value::as_map).cloned();
        let own = own.unwrap_or_default();
        let named = own.get("$ref").and_then(Value::as_str);
        let shared =
            named.and_then(|name| self.file.get_path(&["shared", name])?.as_map().cloned());
        shared.unwrap_or(own)
    }

    fn outcome(&self, actual: Result<String, String>) -> Outcome {
        let expected = self.get(&["expected"]).and_then(Value::as_str);
        let error = self.get(&["error", "message"]).and_then(Value::as_str);
        Outcome {
            id: self.text("name").to_owned(),
            tier: self.text("group").to_owned(),
            template: format!("{:?}", self.text("template")),
            ranked: false,
            passed: match (expected, &actual) {
                (Some(expected), Ok(actual)) => expected == actual,
                (None, Err(_)) => true,
                _ => false,
            },
            expected: match expected {
                Some(text) => format!("{text:?}"),
                None => format!("error: {}", error.unwrap_or_default()),
            },
            actual: match actual {
                Ok(text) => format!("{text:?}"),
                Err(message) => format!("error: {message}"),
            },
            texts: None,
        }
    }
}

/// Compiles sources and renders the first one. The error is the message.
pub(super) fn rendered(
    format: &dyn TemplateFormat,
    sources: &[TemplateSource<'_>],
    variables: &Map,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, String> {
    let template = format
        .compile(sources, &CompileOptions::default())
        .map_err(|error| error.message)?;
    evaluated(&*template, sources[0].name, variables, functions)
}

/// Renders one source of a template. The error is the message.
pub(super) fn evaluated(
    template: &dyn CompiledTemplate,
    entry: &str,
    variables: &Map,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, String> {
    let request = Render {
        template,
        entries: &[entry],
        variables,
        functions,
        limits: &RenderLimits::default(),
    };
    // Calls have a deadline, which needs a clock.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let rendered = runtime.block_on(render(&request));
    rendered.map_err(|error| error.message)
}
