//! The syntax tree of a script. Every node has its span in the file.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{MapEntry, Node, NodeData};

use crate::directive::Directive;

/// The text of a script and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptSource {
    /// The script's name in messages: an id, or a path as the user wrote it.
    pub name: String,
    /// The script's file, if any. This path is `__filename`, and relative names are resolved from
    /// the file's folder.
    pub path: Option<PathBuf>,
    /// The text as written.
    pub text: Arc<str>,
}

impl ScriptSource {
    /// Creates an error at a location.
    #[must_use]
    pub fn error(
        &self,
        code: impl Into<&'static str>,
        message: impl Into<String>,
        at: Span,
    ) -> Diagnostic {
        Diagnostic::error(code, &self.name, message).at(&self.text, at)
    }

    /// Creates a warning at a location.
    #[must_use]
    pub fn warning(&self, code: &'static str, message: impl Into<String>, at: Span) -> Diagnostic {
        Diagnostic::warning(code, &self.name, message).at(&self.text, at)
    }
}

/// A parsed script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its source.
    pub source: Arc<ScriptSource>,
    /// The front matter. The front matter is always a mapping, which may be empty.
    pub config: Node,
    /// Whether the script has a front matter, which may be empty.
    pub has_front_matter: bool,
    /// The instructions, in order. Function declarations are in `functions`, not here.
    pub body: InstructionBlock,
    /// Functions that are declared as items with `!fn` or `!fn#`, anywhere in the body.
    pub functions: Vec<FunctionDeclaration>,
}

/// A sequence of instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstructionBlock {
    /// The instructions.
    pub items: Vec<Instruction>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The span of the instruction in the file.
    pub span: Span,
    /// Its kind.
    pub kind: ItemKind,
}

/// The kind of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `role: text`, a bare string, or an object with `role` and `content`.
    Message(MessageTemplate),
    /// `---` or `***`: a new dialogue; `pin` for `---!`.
    Separator {
        /// Whether all messages so far become the hidden prefix.
        pin: bool,
    },
    /// `$name`, `$name(…)`, `$name: …`, `toolId: $tool`.
    Call(CallExpr),
    /// `-> a -> b(…) -> $c`.
    Chain(Vec<CallExpr>),
    /// `?=…`, without the `?=`.
    Expression(ScriptText),
    /// A list inside a list, which is a block.
    Block(InstructionBlock),
}

/// The text of a scalar after resolving YAML escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// The span in the file, including any quotes.
    pub span: Span,
    /// The text.
    pub value: Arc<str>,
}

/// A message whose templates and holes are not yet filled.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageTemplate {
    /// The role as written, without the brackets. `None` for a bare string.
    pub role: Option<ScriptText>,
    /// The text in the brackets of `user[@dobby(PM), @other]`.
    pub to: Option<ScriptText>,
    /// A string, the object of a structured system message, or a list of parts.
    pub content: Node,
    /// Other keys of a message object: `templateFormat`, `name`, `private`…
    pub fields: Vec<MapEntry>,
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// `$name` of a directive.
    Directive(Directive),
    /// `$name` that is not a directive: a declared or an imported function.
    Function,
    /// `name` in a chain: a script, or else a directive.
    Script,
    /// `name: $tool`: a registered tool.
    Tool,
}

impl CallTarget {
    /// Returns the target of `$name`. The name is given without `$`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Directive::named(name).map_or(CallTarget::Function, CallTarget::Directive)
    }

    /// Returns the directive that a call executes. In a chain, a script takes precedence over a
    /// directive of the same name.
    #[must_use]
    pub fn directive(self, name: &str) -> Option<Directive> {
        match self {
            CallTarget::Directive(directive) => Some(directive),
            CallTarget::Script => Directive::named(name),
            CallTarget::Function | CallTarget::Tool => None,
        }
    }
}

/// A call as written.
#[derive(Clone, Debug, PartialEq)]
pub struct CallExpr {
    /// The whole span of the call.
    pub span: Span,
    /// The kind of the call's target.
    pub target: CallTarget,
    /// The name without `$`. The name may be a path such as `path.basename`.
    pub name: ScriptText,
    /// Whether the call receives the previous result. This applies to `$|name` and to every call in
    /// a chain.
    pub piped: bool,
    /// The text in the parentheses, which [`crate::argument`] parses.
    pub arguments: Option<ScriptText>,
    /// The value after the colon: `$name: value`.
    pub value: Option<Node>,
    /// Other keys of the call, such as `then`, `as` and `step`. Keys that contain instructions are
    /// in `branches`.
    pub fields: Vec<MapEntry>,
    /// Blocks of `$if` (`then`, `else`), of `$while` and `$for` (`do`), and of `$match` (one for
    /// each pattern).
    pub branches: Vec<Branch>,
}

impl CallExpr {
    /// Returns the directive that is called.
    #[must_use]
    pub fn directive(&self) -> Option<Directive> {
        self.target.directive(&self.name.value)
    }

    /// Returns the value of another key of the call.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let found = self.fields.iter().find(|entry| entry.name() == name);
        Some(&found?.value)
    }

    /// Returns one of its blocks.
    pub(crate) fn branch(&self, name: &str) -> Option<&Branch> {
        self.branches
            .iter()
            .find(|branch| &*branch.key.value == name)
    }

    /// Returns the span of its value, or else of its name.
    pub(crate) fn place(&self) -> Span {
        match (&self.value, &self.arguments) {
            (
                Some(Node {
                    span,
                    data: NodeData::Scalar(_),
                    ..
                }),
                _,
            ) => *span,
            (_, Some(arguments)) => arguments.span,
            _ => self.name.span,
        }
    }
}

/// A named block of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The key of the block: `then`, `do`, or a pattern such as `:/re/`.
    pub key: ScriptText,
    /// Its instructions.
    pub block: Arc<InstructionBlock>,
}

/// A function declared with `!fn` or `!fn#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// The whole span of the declaration.
    pub span: Span,
    /// The function's name; empty for a function that is used as a value
    /// (`callback: !fn |- (event) {…}`).
    pub name: String,
    /// The language in lower case. The default is `js`; a mark such as `[python]` selects another
    /// language.
    pub language: String,
    /// Whether templates can call the function (`!fn#`, or a name that starts with `template$`).
    pub template: bool,
    /// The code without the language mark.
    pub code: ScriptText,
}
