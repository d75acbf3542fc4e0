//! Prompt templates in every supported format, compiled once and rendered with variables and
//! late-bound functions.
//!
//! A [`TemplateFormat`] compiles sources into a [`CompiledTemplate`]; a [`TemplateFactory`] holds
//! several formats. Evaluating a template is synchronous ([`CompiledTemplate::pass`]). The loop in
//! [`render`] runs the functions that a pass requested, concurrently, and evaluates again with
//! their results. The documentation of the `render` module defines the behaviour at missing
//! results.
//!
//! ```
//! use futures_util::FutureExt;
//! use quillet_core::Map;
//! use quillet_template::{
//!     CompileOptions, RenderLimits, NoFunctions, Render, TemplateSource, TemplateFactory, render,
//! };
//!
//! let formats = TemplateFactory::standard();
//! let source = TemplateSource::new("greet", "Hello {{ name }}!");
//! let template = formats.compile("jinja", &[source], &CompileOptions::default()).unwrap();
//! let job = Render {
//!     template: template.as_ref(),
//!     entries: &["greet"],
//!     variables: &Map::from([("name", "Ada")]),
//!     functions: &NoFunctions,
//!     limits: &RenderLimits::default(),
//! };
//! // A template without functions waits for nothing.
//! let rendered = render(&job).now_or_never().unwrap().unwrap();
//! assert_eq!(rendered.text(0), "Hello Ada!");
//! ```

mod buffer;
mod call;
pub mod convert;
pub mod editor;
mod error;
mod factory;
pub mod format;
pub mod host;
mod jobs;
mod limits;
mod name;
mod pass;
mod polled;
mod reference;
mod render;
mod render_entry;
mod segment;
pub mod structure;
#[cfg(feature = "timer")]
mod timer;
#[cfg(not(feature = "timer"))]
#[path = "timer_disabled.rs"]
mod timer;

pub use call::{CallArguments, CallError, FunctionHost, NoFunctions, RenderSeed};
pub use error::{CompileError, ErrorKind, RenderError};
pub use factory::TemplateFactory;
pub use limits::{CompileLimits, LimitKind, RenderLimits};
pub use name::plugin_function;
pub use pass::{CallState, Pass, StopReason};
pub use reference::{FunctionReference, References, VariableReference};
pub use render::{RenderedTemplate, render, render_polled, render_segments};
pub use render_entry::Render;
pub use segment::{SegmentKind, TextSegment};
pub use structure::{ChatMessage, MessagePart, MessageSyntax};

use std::fmt;
use std::sync::Arc;

use quillet_core::SemanticToken;

use editor::{CompletionItem, ExternalNames};

/// A named source text of a template.
#[derive(Clone, Copy, Debug)]
pub struct TemplateSource<'a> {
    /// Name in errors and in calls from other sources.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// Whether it is only called by other sources. References are collected from the other sources.
    pub library: bool,
}

impl<'a> TemplateSource<'a> {
    /// Creates a source that is rendered itself.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> Self {
        TemplateSource {
            name,
            text,
            library: false,
        }
    }

    /// Creates a source that others call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// let sources = [
    ///     TemplateSource::new("p", r#"Hello!{{template "sign" .}}"#),
    ///     TemplateSource::library("sign", " -- {{.name}}"),
    /// ];
    /// let formats = TemplateFactory::standard();
    /// let template = formats.compile("go", &sources, &CompileOptions::default())?;
    /// let variables = Map::from([("name", "Ada")]);
    /// # let job = Render {
    /// #     template: &*template,
    /// #     entries: &["p"],
    /// #     variables: &variables,
    /// #     functions: &NoFunctions,
    /// #     limits: &RenderLimits::default(),
    /// # };
    /// # let rendered = render(&job).now_or_never().unwrap()?;
    /// assert_eq!(rendered.text(0), "Hello! -- Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn library(name: &'a str, text: &'a str) -> Self {
        TemplateSource {
            name,
            text,
            library: true,
        }
    }
}

/// Returns the indexes of the sources that are rendered themselves, from which references are
/// collected.
pub(crate) fn roots(sources: &[TemplateSource<'_>]) -> Vec<usize> {
    let rendered = sources.iter().enumerate().filter(|(_, s)| !s.library);
    rendered.map(|(index, _)| index).collect()
}

/// How a template handles a missing variable.
///
/// # Examples
///
/// ```
/// # use futures_util::FutureExt;
/// # use quillet_core::{Map, Value};
/// # use quillet_template::*;
/// let formats = TemplateFactory::standard();
/// let source = TemplateSource::new("p", "Hello {{ name }}!");
/// let options = CompileOptions { missing: Missing::Strict, ..CompileOptions::default() };
/// let template = formats.compile("jinja", &[source], &options)?;
/// # let variables = Map::default();
/// # let job = Render {
/// #     template: &*template,
/// #     entries: &["p"],
/// #     variables: &variables,
/// #     functions: &NoFunctions,
/// #     limits: &RenderLimits::default(),
/// # };
/// let error = render(&job).now_or_never().unwrap().unwrap_err();
/// assert_eq!(error.kind, ErrorKind::MissingVariable);
/// # Ok::<(), CompileError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// An error (Go's `missingkey=error`, Jinja's strict undefined).
    Strict,
    /// The default of the format's own host (Go prints `<no value>`, Jinja nothing).
    #[default]
    Default,
    /// The zero value (Go's `missingkey=zero`).
    Zero,
    /// No text, in every format: also in Go instead of `<no value>`.
    Empty,
}

/// Compile options.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// How missing variables are handled at render time.
    pub missing: Missing,
    /// Missing variables whose use is an error, whatever `missing` says. The caller derives them
    /// from the references: a name that is declared without a value prints nothing, and a truth
    /// test does not count as a use. Only Jinja's formats use this; in the others every name in a
    /// template counts as used.
    pub required: Vec<String>,
    /// How the text marks the start and end of messages. Ignored by a format whose language defines
    /// it.
    pub messages: MessageSyntax,
    /// Variables whose text may contain message structure (Semantic Kernel's
    /// `allow_dangerously_set_content`). Others are data. Semantic Kernel's formats also look up
    /// functions here, by the name in the template.
    pub trusted: Vec<String>,
    /// Whether the results of all functions, and literal values that `semantic-kernel` prints
    /// (`{{'…'}}`), may contain message structure too: the meaning in .NET of Semantic Kernel's
    /// flag for a prompt. Variables may not. Only Semantic Kernel's formats use this.
    pub trusted_results: bool,
    /// Functions that Jinja's formats also accept as filters: `{{ x|f(a) }}` calls `f(x, a)`
    /// instead of the filter with that name. Liquid accepts every function as a filter; the other
    /// formats have no filters.
    pub filters: Vec<String>,
    /// Limits on the source.
    pub limits: CompileLimits,
}

/// A template language. Implement this trait to add one; [`render`] handles everything
/// asynchronous.
pub trait TemplateFormat: Send + Sync + fmt::Debug {
    /// Returns its canonical name, such as `go`.
    fn name(&self) -> &'static str;

    /// Returns its aliases.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the names of the format's own functions, for suggestions on a typo.
    fn functions(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Resolves a function name in a template to one of the existing functions. The default is an
    /// exact match. A format with other rules (see [`plugin_function`]) overrides it, so that
    /// checks before a render agree with the render.
    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        functions.iter().copied().find(|known| *known == name)
    }

    /// Whether a name without a variable calls the function with that name ([`Pass::call_bound`]),
    /// so a reference to a variable may turn out to be a call.
    fn calls_by_variable(&self) -> bool {
        false
    }

    /// Whether variable names ignore case (ASCII), as in Semantic Kernel.
    fn ignores_case(&self) -> bool {
        false
    }

    /// Whether role lines follow the loose rules of Semantic Kernel's Liquid: the role may be an
    /// output of the template (`{{ message.role }}:`), and the content may be on the same line
    /// (`user: hi`).
    fn has_loose_role_lines(&self) -> bool {
        false
    }

    /// Escapes a text so that the format prints it unchanged: `{{"{{"}}` for two braces in Go.
    /// Returns `None` if the format cannot.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::TemplateFormat;
    /// use quillet_template::format::go::GoFormat;
    ///
    /// assert_eq!(GoFormat::new().escape("plain text").as_deref(), Some("plain text"));
    /// assert_ne!(GoFormat::new().escape("{{.name}}").as_deref(), Some("{{.name}}"));
    /// ```
    fn escape(&self, literal: &str) -> Option<String> {
        let _ = literal;
        None
    }

    /// Returns the syntax tokens of a text for editors; see [`editor::tokens`], which sorts them
    /// and drops those that do not fit. The text may be invalid. The time must be linear in its
    /// length. By default there are none, so the text is plain.
    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        let _ = text;
        Vec::new()
    }

    /// Returns the completion items at a byte of a text, which is at a character boundary; see
    /// [`editor::completions`]. By default there are none.
    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        let _ = (text, at, names);
        Vec::new()
    }

    /// Compiles a set of sources that can call each other by name. The variables and functions that
    /// they name need not exist.
    ///
    /// # Errors
    /// Returns all errors in the sources that the format can find.
    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError>;
}

/// A compiled set of sources: immutable and shared between renders.
pub trait CompiledTemplate: Send + Sync + fmt::Debug {
    /// Returns all external names that the sources can use.
    fn references(&self) -> &References;

    /// Evaluates one source once, from its start, and writes to `pass`. The text is valid only if
    /// no call was left pending.
    ///
    /// # Errors
    /// Returns [`StopReason::Suspended`] if the evaluation cannot continue without the result of a
    /// pending call, even after skipping the statement that needs it ([`Pass::skip`]), and
    /// [`StopReason::Failed`] if it cannot continue at all.
    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason>;
}
