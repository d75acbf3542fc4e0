//! Limits that apply to every format. Each limit has a default and an error that names it, and none
//! depends on a limit of a library. All limits are settings in `[render]`, except the nesting of
//! sources, because a thread's stack limits it.

use std::time::Duration;

/// Limits on sources, checked before parsing.
///
/// # Examples
///
/// ```
/// use quillet_template::{CompileLimits, CompileOptions, TemplateFactory, TemplateSource};
///
/// let limits = CompileLimits { source_bytes: 4, ..CompileLimits::default() };
/// let options = CompileOptions { limits, ..CompileOptions::default() };
/// let source = TemplateSource::new("greet", "Hello!");
/// let error = TemplateFactory::standard().compile("go", &[source], &options).unwrap_err();
/// assert_eq!(error.diagnostics[0].code, "template.limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Maximum total size of a template's sources in bytes. Default 1 MiB.
    pub source_bytes: usize,
    /// Maximum nesting depth of blocks, parentheses and expressions. Default 200.
    pub nesting: usize,
}

impl Default for CompileLimits {
    fn default() -> Self {
        CompileLimits {
            source_bytes: 1 << 20,
            nesting: 200,
        }
    }
}

/// Limits on one render.
///
/// # Examples
///
/// ```
/// # use futures_util::FutureExt;
/// # use quillet_core::{Map, Value};
/// # use quillet_template::*;
/// let source = TemplateSource::new("p", "{% for n in range(100) %}x{% endfor %}");
/// let formats = TemplateFactory::standard();
/// let template = formats.compile("jinja", &[source], &CompileOptions::default())?;
/// let limits = RenderLimits { output_bytes: 10, ..RenderLimits::default() };
/// # let variables = Map::default();
/// # let job = Render {
/// #     template: &*template,
/// #     entries: &["p"],
/// #     variables: &variables,
/// #     functions: &NoFunctions,
/// #     limits: &limits,
/// # };
/// let error = render(&job).now_or_never().unwrap().unwrap_err();
/// assert_eq!(error.kind, ErrorKind::Limit(LimitKind::OutputBytes));
/// # Ok::<(), CompileError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Maximum total size of the output of all entries in bytes. Default 8 MiB.
    pub output_bytes: usize,
    /// Maximum total size in bytes of the strings and lists that functions build in one pass.
    /// Default 32 MiB.
    pub memory_bytes: usize,
    /// Maximum number of evaluated nodes, loop iterations and visited list elements in one pass.
    /// Default 1,000,000.
    pub steps: usize,
    /// Maximum depth of templates that call other templates. Default 100.
    pub nesting: usize,
    /// Maximum number of evaluations (passes) of an entry. If each of N calls needs the result of
    /// the previous call, N + 1 passes are needed. Default 16.
    pub passes: usize,
    /// Maximum number of late-bound calls in a render. Default 256.
    pub calls: usize,
    /// Maximum number of concurrent late-bound calls. Default 64.
    pub concurrency: usize,
    /// Maximum wall-clock time of a render, including its calls. Default 500 ms, as documented for
    /// ai-prompt-shell. The service's setting is `render.time_ms`.
    pub time: Duration,
}

impl Default for RenderLimits {
    fn default() -> Self {
        RenderLimits {
            output_bytes: 8 << 20,
            memory_bytes: 32 << 20,
            steps: 1_000_000,
            nesting: 100,
            passes: 16,
            calls: 256,
            concurrency: 64,
            time: Duration::from_millis(500),
        }
    }
}

/// The limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// [`CompileLimits::source_bytes`].
    SourceBytes,
    /// [`CompileLimits::nesting`] or [`RenderLimits::nesting`].
    Nesting,
    /// [`RenderLimits::output_bytes`].
    OutputBytes,
    /// [`RenderLimits::memory_bytes`].
    MemoryBytes,
    /// [`RenderLimits::steps`].
    Steps,
    /// [`RenderLimits::passes`].
    Passes,
    /// [`RenderLimits::calls`].
    Calls,
    /// [`RenderLimits::time`].
    Time,
    /// Nesting depth of a value that a template builds.
    ValueDepth,
}

impl LimitKind {
    /// Returns the limit's name in messages. The setting in `[render]` has the same name, except
    /// `render.time_ms` for [`LimitKind::Time`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitKind::SourceBytes => "source_bytes",
            LimitKind::Nesting => "nesting",
            LimitKind::OutputBytes => "output_bytes",
            LimitKind::MemoryBytes => "memory_bytes",
            LimitKind::Steps => "steps",
            LimitKind::Passes => "passes",
            LimitKind::Calls => "calls",
            LimitKind::Time => "time",
            LimitKind::ValueDepth => "value_depth",
        }
    }
}
