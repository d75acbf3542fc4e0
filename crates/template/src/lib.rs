//! Prompt templates in all supported formats. Templates are compiled once and rendered with
//! variables and late-bound functions.
//!
//! A [`TemplateFormat`] compiles sources into a [`CompiledTemplate`], and a [`TemplateFactory`]
//! contains several formats. The evaluation of a template is synchronous
//! ([`CompiledTemplate::pass`]). The loop in [`render`] runs the functions that a pass has
//! requested, concurrently, and evaluates the template again with their results. The documentation
//! of the `render` module defines how evaluation treats missing results.
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

/// A named source of a template.
#[derive(Clone, Copy, Debug)]
pub struct TemplateSource<'a> {
    /// Name that errors and calls from other sources use.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// Whether only other sources call this source. References are collected from the sources that
    /// are not libraries.
    pub library: bool,
}

impl<'a> TemplateSource<'a> {
    /// Creates a source that can be rendered.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> Self {
        TemplateSource {
            name,
            text,
            library: false,
        }
    }

    /// Creates a source that only other sources call.
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

/// Returns the indexes of the sources that can be rendered. References are collected from these
/// sources.
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
    /// A missing variable is an error (Go's `missingkey=error`, Jinja's strict undefined).
    Strict,
    /// A missing variable prints what the format's host prints by default: `<no value>` in Go,
    /// nothing in Jinja.
    #[default]
    Default,
    /// A missing variable is the zero value (Go's `missingkey=zero`).
    Zero,
    /// A missing variable prints nothing in all formats, including Go.
    Empty,
}

/// Compile options.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// How missing variables are handled at render time.
    pub missing: Missing,
    /// Variables that must not be missing when used, regardless of `missing`. The caller selects
    /// these variables from the template's references. A name that is declared without a value
    /// prints nothing, and a truth test does not count as a use. Only Jinja's formats use this
    /// list. In the other formats every name in a template counts as used.
    pub required: Vec<String>,
    /// Syntax that defines messages in the text. Formats whose own language has such a syntax
    /// ignore this option.
    pub messages: MessageSyntax,
    /// Variables whose text may contain message structure (Semantic Kernel's
    /// `allow_dangerously_set_content`). All other variables are data. In Semantic Kernel's
    /// formats, the list may also contain names of functions, as written in the template.
    pub trusted: Vec<String>,
    /// Whether the results of all functions, and the literal values that `semantic-kernel` prints
    /// (`{{'…'}}`), may contain message structure. In .NET, Semantic Kernel's flag for a prompt has
    /// the same meaning. Variables are not affected. Only Semantic Kernel's formats use this
    /// option.
    pub trusted_results: bool,
    /// Functions that Jinja's formats also accept as filters: `{{ x|f(a) }}` calls `f(x, a)`
    /// instead of the filter named `f`. Liquid accepts every function as a filter, and formats
    /// other than Jinja and Liquid have no filters.
    pub filters: Vec<String>,
    /// Limits on the source.
    pub limits: CompileLimits,
}

/// A template language. Implement this trait to add a language. [`render`] handles all asynchronous
/// work.
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

    /// Resolves a function name in a template to one of the existing functions. By default the
    /// names must be equal. A format with other rules (see [`plugin_function`]) overrides this
    /// method, so that checks before a render have the same result as the render.
    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        functions.iter().copied().find(|known| *known == name)
    }

    /// Whether a name without a variable calls the function with that name ([`Pass::call_bound`]).
    /// In such a format, a reference to a variable may be a call.
    fn calls_by_variable(&self) -> bool {
        false
    }

    /// Whether variable names ignore case (ASCII), as in Semantic Kernel.
    fn ignores_case(&self) -> bool {
        false
    }

    /// Whether role lines follow the loose rules of Semantic Kernel's Liquid. In these, the role
    /// may be an output of the template (`{{ message.role }}:`), and the content may be on the same
    /// line (`user: hi`).
    fn has_loose_role_lines(&self) -> bool {
        false
    }

    /// Escapes a text so that the format prints it unchanged. In Go, for example, two braces become
    /// `{{"{{"}}`. Returns `None` if the format has no escape for the text.
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

    /// Returns the syntax tokens of a text for editors. The text may be invalid, and the time must
    /// be linear in its length. [`editor::tokens`] sorts the tokens and drops invalid ones. By
    /// default there are no tokens.
    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        let _ = text;
        Vec::new()
    }

    /// Returns the completion items at a byte offset, which is at a character boundary; see
    /// [`editor::completions`]. By default there are no items.
    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        let _ = (text, at, names);
        Vec::new()
    }

    /// Compiles a set of sources that can call each other by name. The variables and functions in
    /// them need not exist.
    ///
    /// # Errors
    /// Returns all errors in the sources that the format can find.
    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError>;
}

/// A compiled set of sources. A compiled template is immutable and shared between renders.
pub trait CompiledTemplate: Send + Sync + fmt::Debug {
    /// Returns all external names that the sources can use.
    fn references(&self) -> &References;

    /// Evaluates a source once, from its start, and writes to `pass`. The text is valid only if no
    /// call is pending afterwards.
    ///
    /// # Errors
    /// Returns [`StopReason::Suspended`] if the evaluation needs the result of a pending call and
    /// skipping the current statement ([`Pass::skip`]) does not help. Returns
    /// [`StopReason::Failed`] if the evaluation failed.
    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason>;
}
