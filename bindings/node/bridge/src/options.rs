//! Options from `lib/template.js`, which has validated their names and types.

use std::time::Duration;

use quillet::template::{MessageSyntax, Missing, RenderLimits};
use quillet::{TemplateFunction, TemplateOptions, Value};
use serde::Deserialize;

/// Default timeout of renders with functions, because functions may wait for other services.
const WITH_FUNCTIONS: Duration = Duration::from_secs(30);

/// Options for compiling and rendering a template; missing options have their defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CompileOptions {
    name: Option<String>,
    partials: Vec<(String, String)>,
    missing: MissingOption,
    messages: MessagesOption,
    trusted: Vec<String>,
    filters: Vec<String>,
    limits: LimitOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MissingOption {
    #[default]
    Default,
    Strict,
    Zero,
    Empty,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MessagesOption {
    #[default]
    Plain,
    Elements,
    RoleLines,
}

/// Limits as JavaScript numbers; a number above the integer range means no limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LimitOptions {
    source_bytes: Option<f64>,
    output_bytes: Option<f64>,
    memory_bytes: Option<f64>,
    steps: Option<f64>,
    nesting: Option<f64>,
    passes: Option<f64>,
    calls: Option<f64>,
    concurrency: Option<f64>,
    time_ms: Option<f64>,
}

impl CompileOptions {
    /// Time limit of renders that call functions, if it differs from that of other renders.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.limits.time_ms.is_none().then_some(WITH_FUNCTIONS)
    }

    pub(crate) fn read(self) -> TemplateOptions {
        let (given, defaults) = (self.limits, RenderLimits::default());
        let mut options = TemplateOptions {
            partials: self.partials,
            limits: RenderLimits {
                output_bytes: count(given.output_bytes, defaults.output_bytes),
                memory_bytes: count(given.memory_bytes, defaults.memory_bytes),
                steps: count(given.steps, defaults.steps),
                nesting: count(given.nesting, defaults.nesting),
                passes: count(given.passes, defaults.passes),
                calls: count(given.calls, defaults.calls),
                concurrency: count(given.concurrency, defaults.concurrency),
                time: given.time_ms.map_or(defaults.time, milliseconds),
            },
            ..TemplateOptions::default()
        };
        if let Some(name) = self.name {
            options.name = name;
        }
        let compile = &mut options.compile;
        compile.trusted = self.trusted;
        compile.filters = self.filters;
        compile.limits.source_bytes = count(given.source_bytes, compile.limits.source_bytes);
        compile.missing = match self.missing {
            MissingOption::Default => Missing::Default,
            MissingOption::Strict => Missing::Strict,
            MissingOption::Zero => Missing::Zero,
            MissingOption::Empty => Missing::Empty,
        };
        compile.messages = match self.messages {
            MessagesOption::Plain => MessageSyntax::Plain,
            MessagesOption::Elements => MessageSyntax::Elements,
            MessagesOption::RoleLines => MessageSyntax::RoleLines,
        };
        options
    }
}

/// Description of a function for a render.
#[derive(Debug, Deserialize)]
pub(crate) struct FunctionOptions {
    name: String,
    #[serde(default)]
    parameters: Option<Vec<String>>,
    idempotent: bool,
}

impl FunctionOptions {
    pub(crate) fn read(self, default: Value) -> TemplateFunction {
        TemplateFunction {
            name: self.name,
            parameters: self.parameters,
            idempotent: self.idempotent,
            default,
        }
    }
}

fn count(given: Option<f64>, default: usize) -> usize {
    given.map_or(default, |count| count as usize)
}

fn milliseconds(given: f64) -> Duration {
    Duration::try_from_secs_f64(given / 1000.0).unwrap_or(Duration::MAX)
}
