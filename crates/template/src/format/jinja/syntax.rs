//! Presets, shared by lexer and parser.

/// The host that a template is written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JinjaPreset {
    /// Chat templates of Hugging Face transformers. This preset has `trim_blocks`, `lstrip_blocks`,
    /// `break` and `continue`, the `generation` tag, `raise_exception`, `strftime_now`, and a
    /// `tojson` that escapes nothing.
    #[default]
    HuggingFace,
    /// jinja2 without settings, as LangChain uses it.
    Plain,
    /// Like [`JinjaPreset::HuggingFace`], but for scripts. Values print as in JavaScript, and
    /// filters may be late-bound functions.
    Script,
    /// jinja2 without settings, with the helpers of Semantic Kernel.
    SemanticKernel,
}

impl JinjaPreset {
    /// Whether the preset drops blanks around block tags.
    pub(super) fn trims(self) -> bool {
        self.is_hugging_face()
    }

    /// Whether the preset has the extensions of transformers' chat templates.
    pub(super) fn is_hugging_face(self) -> bool {
        matches!(self, JinjaPreset::HuggingFace | JinjaPreset::Script)
    }
}
