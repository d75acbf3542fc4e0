//! Presets, shared by lexer and parser.

/// The host whose settings a template expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JinjaPreset {
    /// Chat templates of Hugging Face transformers: `trim_blocks`,
    /// `lstrip_blocks`, `break` and `continue`, the `generation` tag,
    /// `raise_exception`, `strftime_now`, and a `tojson` that escapes nothing.
    #[default]
    HuggingFace,
    /// jinja2 without settings, as LangChain uses it.
    Plain,
    /// Like Hugging Face, for scripts: values print as in JavaScript, and filters may be late-bound
    /// functions.
    Script,
    /// jinja2 without settings, with the helpers of Semantic Kernel.
    SemanticKernel,
}

impl JinjaPreset {
    /// Whether blanks around block tags are dropped.
    pub(super) fn trims(self) -> bool {
        self.is_hugging_face()
    }

    /// Whether it has the extensions of transformers' chat templates.
    pub(super) fn is_hugging_face(self) -> bool {
        matches!(self, JinjaPreset::HuggingFace | JinjaPreset::Script)
    }
}
