//! Options as `lib/template.js` hands them over.

use std::time::Duration;

use napi::bindgen_prelude::*;
use napi_derive::napi;
use quillet::template::{CompileLimits, Limits, MessageSyntax, Missing};
use quillet::{Function, TemplateOptions, Value};

/// How a template is compiled and rendered; what is left out is the default.
#[napi(object)]
pub struct CompileOptions {
    /// Its name in errors.
    pub name: Option<String>,
    /// Names of sources that it can call.
    pub partial_names: Vec<String>,
    /// Their texts, in the same order.
    pub partial_texts: Vec<String>,
    /// What happens to missing variables.
    pub missing: Option<String>,
    /// What divides messages.
    pub messages: Option<String>,
    /// Variables whose text may have messages of its own.
    pub trusted: Vec<String>,
    /// Functions that are filters as well.
    pub filters: Vec<String>,
    /// Bytes of sources.
    pub source_bytes: Option<f64>,
    /// Bytes of output.
    pub output_bytes: Option<f64>,
    /// Bytes that functions build.
    pub memory_bytes: Option<f64>,
    /// Steps of one evaluation.
    pub steps: Option<f64>,
    /// Templates that call templates.
    pub nesting: Option<f64>,
    /// Evaluations.
    pub passes: Option<f64>,
    /// Calls of functions.
    pub calls: Option<f64>,
    /// Calls at the same time.
    pub concurrency: Option<f64>,
    /// Milliseconds of a render.
    pub time_ms: Option<f64>,
}

/// What renders with functions may take where nothing else is said: functions ask the world.
const WITH_FUNCTIONS: Duration = Duration::from_secs(30);

impl CompileOptions {
    /// The limit on time of renders that call functions, where it is another than that of others.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.time_ms.is_none().then_some(WITH_FUNCTIONS)
    }

    pub(crate) fn read(self) -> Result<TemplateOptions> {
        let defaults = Limits::default();
        let mut options = TemplateOptions {
            partials: self
                .partial_names
                .into_iter()
                .zip(self.partial_texts)
                .collect(),
            limits: Limits {
                output_bytes: count(self.output_bytes, defaults.output_bytes),
                memory_bytes: count(self.memory_bytes, defaults.memory_bytes),
                steps: count(self.steps, defaults.steps),
                nesting: count(self.nesting, defaults.nesting),
                passes: count(self.passes, defaults.passes),
                calls: count(self.calls, defaults.calls),
                concurrency: count(self.concurrency, defaults.concurrency),
                time: self.time_ms.map_or(defaults.time, milliseconds),
            },
            ..TemplateOptions::default()
        };
        if let Some(name) = self.name {
            options.name = name;
        }
        let compile = &mut options.compile;
        compile.trusted = self.trusted;
        compile.filters = self.filters;
        compile.limits = CompileLimits {
            source_bytes: count(self.source_bytes, compile.limits.source_bytes),
            ..compile.limits
        };
        compile.missing = match self.missing.as_deref() {
            None | Some("default") => Missing::Default,
            Some("strict") => Missing::Strict,
            Some("zero") => Missing::Zero,
            Some("empty") => Missing::Empty,
            Some(other) => return Err(unknown("missing", other)),
        };
        compile.messages = match self.messages.as_deref() {
            None | Some("plain") => MessageSyntax::Plain,
            Some("elements") => MessageSyntax::Elements,
            Some("role-lines") => MessageSyntax::RoleLines,
            Some(other) => return Err(unknown("messages", other)),
        };
        Ok(options)
    }
}

/// What a render has to know of a function.
#[napi(object)]
pub struct FunctionOptions {
    /// Its name.
    pub name: String,
    /// Names of its parameters.
    pub parameters: Option<Vec<String>>,
    /// Whether equal calls share one result.
    pub idempotent: bool,
}

impl FunctionOptions {
    pub(crate) fn read(self, default: Value) -> Function {
        Function {
            name: self.name,
            parameters: self.parameters,
            idempotent: self.idempotent,
            default,
        }
    }
}

/// A limit; numbers beyond the machine's are as good as none.
fn count(given: Option<f64>, default: usize) -> usize {
    given.map_or(default, |count| count as usize)
}

fn milliseconds(given: f64) -> Duration {
    Duration::try_from_secs_f64(given / 1000.0).unwrap_or(Duration::MAX)
}

fn unknown(option: &str, value: &str) -> Error {
    Error::from_reason(format!("{option} has no value {value:?}"))
}
