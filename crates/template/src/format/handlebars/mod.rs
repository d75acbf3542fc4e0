//! Handlebars, compatible with handlebars.js 4.7: helpers, blocks, partials and whitespace control.
//! Values are escaped only on request, and late-bound functions can be called like helpers.
//! Decorators other than `inline` are not supported, and a template cannot register helpers or
//! partials.

mod ast;
pub(crate) mod convert;
mod dotprompt;
mod editor;
mod eval;
mod expression;
mod helper;
mod input;
mod json;
mod lexer;
mod operands;
mod parser;
mod partial_tags;
mod references;
mod semantic_kernel;
mod whitespace;

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::{Diagnostic, SemanticToken, Span, Value};

pub use helper::{HelperCall, HelperResult};

use crate::editor::{CompletionItem, ExternalNames};
use crate::format::javascript::Escape;
use crate::format::problem::ParseProblem;
use crate::structure::{Elements, MessageSyntax};
use crate::{
    CompileError, CompileOptions, CompiledTemplate, Missing, Pass, References, RenderError,
    StopReason, TemplateFormat, TemplateSource, plugin_function,
};
use ast::{BlockBody, Node};
use eval::Evaluator;
use helper::{BUILTIN, Callee, Effect, Helper};
use parser::ParseContext;

/// The format `handlebars` and its presets.
#[derive(Clone, Debug, Default)]
pub struct HandlebarsFormat {
    preset: HandlebarsPreset,
    helpers: Arc<BTreeMap<String, Helper>>,
    escape_html: bool,
    strict: bool,
    /// See [`HandlebarsFormat::encoded`].
    encoded: bool,
}

/// A preset, which has its own names and features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HandlebarsPreset {
    #[default]
    Plain,
    SemanticKernel,
    Dotprompt,
}

impl HandlebarsFormat {
    /// Creates the format `handlebars`. Nothing is escaped, because prompts are not HTML.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether `{{…}}` escapes `& < > " ' =` and the backtick for HTML, as in handlebars.js.
    /// `{{{…}}}` and `{{&…}}` are never escaped. The format is then named `handlebars-html`.
    /// Default: no.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::handlebars::HandlebarsFormat;
    ///
    /// let formats = TemplateFactory::new().with(HandlebarsFormat::new().escape_html(true));
    /// let source = TemplateSource::new("p", "{{name}}, {{{name}}}");
    /// let template = formats.compile("handlebars-html", &[source], &CompileOptions::default())?;
    /// let variables = Map::from([("name", "A & B")]);
    /// # let job = Render {
    /// #     template: &*template,
    /// #     entries: &["p"],
    /// #     variables: &variables,
    /// #     functions: &NoFunctions,
    /// #     limits: &RenderLimits::default(),
    /// # };
    /// # let rendered = render(&job).now_or_never().unwrap()?;
    /// assert_eq!(rendered.text(0), "A &amp; B, A & B");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn escape_html(self, escape_html: bool) -> Self {
        HandlebarsFormat {
            escape_html,
            ..self
        }
    }

    /// Sets whether a variable that is printed or called must exist, including every part of its
    /// path. This corresponds to the option `strict` of handlebars.js. [`Missing::Strict`] has the
    /// same effect on a single template. Default: no.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        HandlebarsFormat { strict, ..self }
    }

    /// Adds a helper, or replaces the helper with the same name. The helpers of handlebars.js
    /// (`if`, `unless`, `each`, `with`, `lookup`, `log`) cannot be replaced.
    #[must_use]
    pub fn with_helper(
        self,
        name: impl Into<String>,
        helper: impl Fn(&mut HelperCall<'_>) -> Result<HelperResult, StopReason> + Send + Sync + 'static,
    ) -> Self {
        self.with(name.into(), Helper::new(Effect::Unknown, helper))
    }

    /// Adds a helper that sets no variables. While such a helper waits for a pending call, the text
    /// after the helper is evaluated, and calls in that text run concurrently.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::handlebars::HandlebarsFormat;
    ///
    /// let format = HandlebarsFormat::new()
    ///     .with_pure_helper("shout", |call| Ok(call.text(0)?.to_uppercase().into()));
    /// let source = TemplateSource::new("p", "Hello {{shout name}}!");
    /// let template = format.compile(&[source], &CompileOptions::default())?;
    /// let variables = Map::from([("name", "Ada")]);
    /// # let job = Render {
    /// #     template: &*template,
    /// #     entries: &["p"],
    /// #     variables: &variables,
    /// #     functions: &NoFunctions,
    /// #     limits: &RenderLimits::default(),
    /// # };
    /// # let rendered = render(&job).now_or_never().unwrap()?;
    /// assert_eq!(rendered.text(0), "Hello ADA!");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_pure_helper(
        self,
        name: impl Into<String>,
        helper: impl Fn(&mut HelperCall<'_>) -> Result<HelperResult, StopReason> + Send + Sync + 'static,
    ) -> Self {
        self.with(name.into(), Helper::new(Effect::None, helper))
    }

    fn with(mut self, name: String, helper: Helper) -> Self {
        Arc::make_mut(&mut self.helpers).insert(name, helper);
        self
    }

    /// Returns the helper of this format with this name.
    fn helper(&self, name: &str) -> Option<Callee> {
        let native = || self.helpers.get(name).cloned().map(Callee::Native);
        Callee::builtin(name).or_else(native)
    }

    /// Whether tags in literal text are message structure.
    fn marks(&self, options: &CompileOptions) -> bool {
        options.messages == MessageSyntax::Elements
            || self.preset == HandlebarsPreset::SemanticKernel
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let native = self.helpers.keys().map(String::as_str);
        BUILTIN.into_iter().chain(native)
    }

    fn parse(
        &self,
        source: &TemplateSource<'_>,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Compilation, Vec<Diagnostic>> {
        let known = ParseContext {
            helper: &|name| self.helper(name),
            source: &|name| sources.iter().position(|source| source.name == name),
            nesting: options.limits.nesting,
        };
        let place = |problem: ParseProblem| problem.diagnostic(source);
        let parsed = parser::parse(source.text, &known);
        let mut body = parsed
            .map_err(|problems| -> Vec<Diagnostic> { problems.into_iter().map(place).collect() })?;
        let control = whitespace::SourceState {
            source: source.text,
        };
        control.body(&mut body, true);
        if self.marks(options) {
            let mut elements = Elements::default();
            mark(&mut body, source.text, &mut elements);
            let found = elements.diagnostics(source.name, source.text);
            if is_straight(&body) && !found.is_empty() {
                return Err(found);
            }
        }
        Ok(Compilation {
            name: source.name.to_owned(),
            text: source.text.to_owned(),
            body,
        })
    }
}

impl TemplateFormat for HandlebarsFormat {
    fn name(&self) -> &'static str {
        match self.preset {
            HandlebarsPreset::Plain if self.escape_html => "handlebars-html",
            HandlebarsPreset::Plain => "handlebars",
            HandlebarsPreset::SemanticKernel => "semantic-kernel-handlebars",
            HandlebarsPreset::Dotprompt => "dotprompt",
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.preset {
            HandlebarsPreset::Plain if self.escape_html => &[],
            HandlebarsPreset::Plain => &["hbs"],
            HandlebarsPreset::SemanticKernel => &["sk-handlebars"],
            HandlebarsPreset::Dotprompt => &[],
        }
    }

    fn functions(&self) -> Vec<&str> {
        self.names().collect()
    }

    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        plugin_function(name, functions)
    }

    fn calls_by_variable(&self) -> bool {
        true
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text, &|name| self.helper(name).is_some()).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        let is_helper = |name: &str| self.helper(name).is_some();
        editor::completions(text, at, names, &is_helper, &self.functions())
    }

    fn escape(&self, literal: &str) -> Option<String> {
        let escaped = escaped(literal);
        Some(match self.preset {
            HandlebarsPreset::SemanticKernel => without_tags(&escaped),
            _ => escaped,
        })
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let mut compiled = HandlebarsTemplate {
            sources: Vec::with_capacity(sources.len()),
            references: References::default(),
            helpers: Arc::clone(&self.helpers),
            effects: std::sync::OnceLock::new(),
            strict: self.strict || options.missing == Missing::Strict,
            escape: self.escape_html.then_some(html as Escape),
            trusted: options.trusted.clone(),
            trusted_results: options.trusted_results && self.marks(options) && !self.encoded,
            marks: self.marks(options) && !self.encoded,
            encoded: self.encoded,
            variables_first: self.preset == HandlebarsPreset::Dotprompt,
            python: self.preset == HandlebarsPreset::SemanticKernel,
        };
        let mut found = Vec::new();
        for source in sources {
            match self.parse(source, sources, options) {
                Ok(compilation) => compiled.sources.push(compilation),
                Err(diagnostics) => found.extend(diagnostics),
            }
        }
        CompileError::unless_empty(found)?;
        compiled.references = references::references(&compiled, &crate::roots(sources));
        Ok(Arc::new(compiled))
    }
}

#[derive(Debug)]
struct HandlebarsTemplate {
    sources: Vec<Compilation>,
    references: References,
    /// Helpers in addition to those of handlebars.js, for suggestions.
    helpers: Arc<BTreeMap<String, Helper>>,
    /// Result of [`HandlebarsTemplate::has_effects`], computed at the first use.
    effects: std::sync::OnceLock<bool>,
    strict: bool,
    escape: Option<Escape>,
    /// Variables that are not encoded and may contain message structure.
    trusted: Vec<String>,
    /// Whether results of functions may contain message structure.
    trusted_results: bool,
    /// Whether message structure is marked in literal text and in trusted variables.
    marks: bool,
    /// Whether untrusted variables and results of functions are HTML-encoded.
    encoded: bool,
    /// Whether a variable hides a function with the same name.
    variables_first: bool,
    /// Whether numbers print as in Python.
    python: bool,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    body: BlockBody,
}

impl HandlebarsTemplate {
    fn index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    /// Returns the text of a range of a source.
    fn text(&self, source: usize, place: Span) -> Option<String> {
        let text = &self.sources.get(source)?.text;
        text.get(place.start..place.end).map(str::to_owned)
    }
}

impl CompiledTemplate for HandlebarsTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(index) = self.index(entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        let root = if self.encoded || (self.marks && !self.trusted.is_empty()) {
            input::prepared(self, pass)?
        } else {
            Value::Map(pass.variables().clone())
        };
        Evaluator::new(self, pass, &root).entry(index)
    }
}

/// Marks message structure in the literal text of a body, in source order.
fn mark(body: &mut BlockBody, source: &str, elements: &mut Elements) {
    for node in &mut body.nodes {
        match node {
            Node::Text(text) => {
                let literal = source.get(text.start..text.end).unwrap_or_default();
                if let std::borrow::Cow::Owned(marked) = elements.mark_at(literal, text.start) {
                    *node = Node::Marked(marked.into());
                }
            }
            Node::Block(block) => {
                let arms = block.arms.iter_mut().filter_map(|arm| arm.body.as_mut());
                let mut bodies: Vec<&mut BlockBody> = arms.collect();
                bodies.extend(&mut block.otherwise);
                if block.inverted {
                    bodies.reverse();
                }
                bodies
                    .into_iter()
                    .for_each(|body| mark(body, source, elements));
            }
            Node::Partial(partial) => {
                let body = partial.body.iter_mut();
                body.for_each(|body| mark(body, source, elements));
            }
            Node::Inline(inline) => mark(&mut inline.body, source, elements),
            Node::Marked(_) | Node::Print(_) | Node::Comment(_) => {}
        }
    }
}

/// Whether all literal text of a body is always printed, in order.
fn is_straight(body: &BlockBody) -> bool {
    let plain = |node: &Node| match node {
        Node::Text(_) | Node::Marked(_) | Node::Print(_) | Node::Comment(_) => true,
        Node::Block(_) | Node::Partial(_) | Node::Inline(_) => false,
    };
    body.nodes.iter().all(plain)
}

/// Returns the HTML replacement of a character, as in handlebars.js.
fn html(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&#x27;",
        b'`' => "&#x60;",
        b'=' => "&#x3D;",
        _ => return None,
    })
}

/// Converts a text to a template that prints it. Two braces get a backslash. If the text has a
/// backslash before the braces, another backslash with an empty comment preserves it.
fn escaped(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len() + 8);
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        if before.ends_with('\\') {
            out.push_str("\\{{!}}");
        }
        out.push_str("\\{{");
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Inserts an empty comment wherever a template's text could be message structure.
fn without_tags(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    for (at, c) in template.char_indices() {
        out.push(c);
        if matches!(c, '<' | '&') && Elements::would_mark(&template[at..]) {
            out.push_str("{{!}}");
        }
    }
    out
}
