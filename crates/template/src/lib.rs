//! Prompt templates in every format: compiled once, rendered with variables
//! and functions that are bound late.
//!
//! A [`TemplateFormat`] compiles sources into a [`CompiledTemplate`]; a
//! [`TemplateFactory`] holds many formats at once. Evaluating a template is
//! synchronous ([`CompiledTemplate::pass`]); the loop in [`render`] runs the functions
//! that a pass asked for, all at the same time, and evaluates again with their
//! results. What a format does where a result is not there yet is said in `render`.
//!
//! ```
//! use futures_util::FutureExt;
//! use quillet_core::Map;
//! use quillet_template::{
//!     CompileOptions, Limits, NoFunctions, Render, Source, TemplateFactory, render,
//! };
//!
//! let formats = TemplateFactory::standard();
//! let source = Source::new("greet", "Hello {{ name }}!");
//! let template = formats.compile("jinja", &[source], &CompileOptions::default()).unwrap();
//! let job = Render {
//!     template: template.as_ref(),
//!     entries: &["greet"],
//!     variables: &Map::from([("name", "Ada")]),
//!     functions: &NoFunctions,
//!     limits: &Limits::default(),
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
pub use render::{Render, RenderedTemplate, render, render_polled, render_segments};
pub use segment::{SegmentKind, TextSegment};
pub use structure::{ChatMessage, MessagePart, MessageSyntax};

use std::fmt;
use std::sync::Arc;

use quillet_core::SemanticToken;

use editor::{CompletionItem, ExternalNames};

/// One named source text of a template.
#[derive(Clone, Copy, Debug)]
pub struct TemplateSource<'a> {
    /// Its name in errors and in calls from other sources.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// Whether it is only there to be called by the others. References are
    /// counted from the other sources.
    pub library: bool,
}

impl<'a> TemplateSource<'a> {
    /// A source that is rendered itself.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> Self {
        TemplateSource {
            name,
            text,
            library: false,
        }
    }

    /// A source that others call.
    #[must_use]
    pub fn library(name: &'a str, text: &'a str) -> Self {
        TemplateSource {
            name,
            text,
            library: true,
        }
    }
}

/// The sources that are rendered themselves, as indices: references are counted
/// from these.
pub(crate) fn roots(sources: &[TemplateSource<'_>]) -> Vec<usize> {
    let rendered = sources.iter().enumerate().filter(|(_, s)| !s.library);
    rendered.map(|(index, _)| index).collect()
}

/// What happens when a template asks for a variable that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// It is an error (Go's `missingkey=error`, Jinja's strict undefined).
    Strict,
    /// What the format's own host does by default (Go prints `<no value>`, Jinja nothing).
    #[default]
    Default,
    /// The zero value (Go's `missingkey=zero`).
    Zero,
    /// Nothing, in every format: Go too prints nothing where it would print `<no value>`.
    Empty,
}

/// Options of compiling.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// What happens when a variable is missing at render time.
    pub missing: Missing,
    /// Variables that are not there and that it is an error to read, whatever `missing` says.
    /// Whoever asks for these has looked at the references: a name that is declared without a value
    /// stays nothing; to ask whether a name is true is not to read it. Only Jinja's formats ask; in
    /// the others every name of a template is read.
    pub required: Vec<String>,
    /// How the text says where messages begin and end. A format whose language
    /// says so itself does not ask.
    pub messages: MessageSyntax,
    /// Variables whose text may carry message structure of its own (Semantic
    /// Kernel's `allow_dangerously_set_content`). Others are data. Semantic
    /// Kernel's formats look for functions here too, as the template names them.
    pub trusted: Vec<String>,
    /// Whether the results of all functions, and the values that `semantic-kernel`
    /// writes out itself (`{{'…'}}`), may carry it too: what Semantic Kernel's flag
    /// of a whole prompt means in .NET. Variables do not. Only its formats ask.
    pub trusted_results: bool,
    /// Functions that Jinja's formats take as filters as well: `{{ x|f(a) }}` calls `f(x, a)`, in the
    /// place of a filter of that name. Liquid takes every function so, and the others have no filters.
    pub filters: Vec<String>,
    /// Bounds on the source.
    pub limits: CompileLimits,
}

/// A template language. Implement this to add one; everything asynchronous is
/// done by [`render`].
pub trait TemplateFormat: Send + Sync + fmt::Debug {
    /// Its canonical name, such as `go`.
    fn name(&self) -> &'static str;

    /// Other names that mean the same.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Names of the functions that the format brings itself, to suggest one for
    /// a mistyped name.
    fn functions(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The function that a name in a template means, of those that exist. Here
    /// the one of exactly that name; a format that looks in its own way (see
    /// [`plugin_function`]) says so, so that what is checked before a render is
    /// what the render does.
    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        functions.iter().copied().find(|known| *known == name)
    }

    /// Whether a name that no variable has calls the function of that name
    /// ([`Pass::call_bound`]), so that a reference to a variable may turn out to
    /// be a call.
    fn calls_by_variable(&self) -> bool {
        false
    }

    /// Whether variables are found in any case of letters (ASCII), as Semantic
    /// Kernel's are.
    fn ignores_case(&self) -> bool {
        false
    }

    /// Whether role lines are as loose as Semantic Kernel takes them in Liquid: the
    /// role may be an output of the template's (`{{ message.role }}:`), and what is said may
    /// stand beside it (`user: hi`).
    fn has_loose_role_lines(&self) -> bool {
        false
    }

    /// How to write a text so that the format prints it as it is: `{{"{{"}}`
    /// for two braces in Go. `None` if the format has no such way.
    fn escape(&self, literal: &str) -> Option<String> {
        let _ = literal;
        None
    }

    /// The places in a text that editors colour, as the format reads it; see
    /// [`editor::tokens`], which puts them in order and leaves out what does not fit. The text may
    /// be broken anywhere. The time has to be linear in its length. Here: none, so that
    /// all is plain text.
    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        let _ = text;
        Vec::new()
    }

    /// What could be written at a byte of a text, which is at the boundary of a character; see
    /// [`editor::completions`]. Here: nothing.
    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        let _ = (text, at, names);
        Vec::new()
    }

    /// Compiles a set of sources that can call each other by name. Neither the
    /// variables nor the functions that they name need to exist.
    ///
    /// # Errors
    /// Everything that is wrong with the sources, as far as the format can tell.
    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError>;
}

/// A compiled set of sources: immutable and shared between renders.
pub trait CompiledTemplate: Send + Sync + fmt::Debug {
    /// Everything outside that the sources can touch.
    fn references(&self) -> &References;

    /// Evaluates one source once, from its start, writing to `pass`. The text
    /// counts only if no call was left pending.
    ///
    /// # Errors
    /// [`StopReason::Suspended`] where the evaluation cannot go on without the result of
    /// a pending call, not even behind the statement that needs it ([`Pass::skip`]);
    /// [`StopReason::Failed`] where it cannot go on at all.
    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason>;
}
