//! What the lexer and the parser share: presets and problems.

use quillet_core::{Diagnostic, Span};

use crate::CompileError;

/// Which host's settings a template expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Chat templates of Hugging Face transformers: `trim_blocks`,
    /// `lstrip_blocks`, `break` and `continue`, the `generation` tag,
    /// `raise_exception`, `strftime_now`, and a `tojson` that escapes nothing.
    #[default]
    HuggingFace,
    /// jinja2 without settings, as LangChain uses it.
    Plain,
    /// As Hugging Face, for scripts: values print as in JavaScript, and filters may be
    /// late-bound functions.
    Script,
    /// jinja2 without settings, with the helpers of Semantic Kernel.
    SemanticKernel,
}

impl Preset {
    /// Whether blanks around block tags are dropped.
    pub(super) fn trims(self) -> bool {
        self.is_hugging_face()
    }

    /// Whether it has what chat templates of transformers have.
    pub(super) fn is_hugging_face(self) -> bool {
        matches!(self, Preset::HuggingFace | Preset::Script)
    }
}

/// Why a source does not parse. Always in a box: the parser recurses, and every
/// level has room for one on its stack.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) help: Option<String>,
    pub(super) code: &'static str,
}

impl Problem {
    pub(super) fn at(message: impl Into<String>, start: usize, end: usize) -> Box<Self> {
        Box::new(Problem {
            message: message.into(),
            span: Span { start, end },
            help: None,
            code: "template.syntax",
        })
    }

    pub(super) fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    pub(super) fn code(mut self: Box<Self>, code: &'static str) -> Box<Self> {
        self.code = code;
        self
    }

    pub(super) fn diagnostic(self, name: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error(self.code, name, self.message).at(text, self.span);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

/// All findings as one error; `None` if there are none.
pub(super) fn compile_error(diagnostics: Vec<Diagnostic>) -> Option<CompileError> {
    let first = diagnostics.first()?;
    Some(CompileError {
        message: first.to_string(),
        diagnostics,
    })
}
