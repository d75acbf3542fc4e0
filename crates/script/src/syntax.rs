//! The syntax tree of a script. Every part knows its bytes in the file.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{MapEntry, Node, NodeData};

use crate::directive::Directive;

/// A script's text and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptSource {
    /// Its name in messages: a path as the user gave it, or an id.
    pub name: String,
    /// Its file, where it has one: `__filename`, and the folder that relative names start from.
    pub path: Option<PathBuf>,
    /// The text as it was written.
    pub text: Arc<str>,
}

impl ScriptSource {
    /// A finding of severity error at a place.
    #[must_use]
    pub fn error(
        &self,
        code: impl Into<&'static str>,
        message: impl Into<String>,
        at: Span,
    ) -> Diagnostic {
        Diagnostic::error(code, &self.name, message).at(&self.text, at)
    }

    /// A finding of severity warning at a place.
    #[must_use]
    pub fn warning(&self, code: &'static str, message: impl Into<String>, at: Span) -> Diagnostic {
        Diagnostic::warning(code, &self.name, message).at(&self.text, at)
    }
}

/// A script that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Where it came from.
    pub source: Arc<ScriptSource>,
    /// The front matter: always a mapping, empty where there is none.
    pub config: Node,
    /// Whether it has front matter, were it empty.
    pub has_front_matter: bool,
    /// What it does, in order. Functions are declared, not done, and are in `functions`.
    pub body: InstructionBlock,
    /// Functions declared with `!fn` and `!fn#` as items, from everywhere in the body.
    pub functions: Vec<FunctionDeclaration>,
}

/// Instructions in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstructionBlock {
    /// The instructions.
    pub items: Vec<Instruction>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its bytes in the file.
    pub span: Span,
    /// What it is.
    pub kind: ItemKind,
}

/// The kind of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `role: text`, a bare string, or an object with `role` and `content`.
    Message(MessageTemplate),
    /// `---` or `***`: a new dialogue; `pin` for `---!`.
    Separator {
        /// Whether everything so far becomes the lasting beginning.
        pin: bool,
    },
    /// `$name`, `$name(…)`, `$name: …`, `toolId: $tool`.
    Call(CallExpr),
    /// `-> a -> b(…) -> $c`.
    Chain(Vec<CallExpr>),
    /// `?=…`, without the `?=`.
    Expression(ScriptText),
    /// A list inside of a list: a block.
    Block(InstructionBlock),
}

/// A scalar that means something, after YAML's escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// Its bytes in the file: with quotes where it has such.
    pub span: Span,
    /// The text.
    pub value: Arc<str>,
}

/// A message before it is filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageTemplate {
    /// The role as written, without what is in brackets; `None` for a bare string.
    pub role: Option<ScriptText>,
    /// What is in the brackets of `user[@dobby(PM), @other]`, without the brackets.
    pub to: Option<ScriptText>,
    /// Text, or the object of a structured system message, or a list of parts.
    pub content: Node,
    /// Other keys of a message object: `templateFormat`, `name`, `private`…
    pub fields: Vec<MapEntry>,
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// `$name` of a directive.
    Directive(Directive),
    /// `$name` of anything else: a declared or an imported function.
    Function,
    /// `name` in a chain: a script first, then a directive.
    Script,
    /// `name: $tool`: a registered tool.
    Tool,
}

impl CallTarget {
    /// What `$name` names, without its `$`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Directive::named(name).map_or(CallTarget::Function, CallTarget::Directive)
    }

    /// The directive that a call of a name does: in a chain it is one where no script has the name.
    #[must_use]
    pub fn directive(self, name: &str) -> Option<Directive> {
        match self {
            CallTarget::Directive(directive) => Some(directive),
            CallTarget::Script => Directive::named(name),
            CallTarget::Function | CallTarget::Tool => None,
        }
    }
}

/// A call as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct CallExpr {
    /// All of it.
    pub span: Span,
    /// What its name names.
    pub target: CallTarget,
    /// The name without `$`: may have a path, as `path.basename`.
    pub name: ScriptText,
    /// Whether it takes the result before it: `$|name`, and every link of a chain.
    pub piped: bool,
    /// What is in its parentheses, without them: read by [`crate::argument`].
    pub arguments: Option<ScriptText>,
    /// The value after the colon: `$name: value`.
    pub value: Option<Node>,
    /// Keys beside it: `then`, `as`, `step`… Those that hold instructions are in `branches`.
    pub fields: Vec<MapEntry>,
    /// Blocks of `$if` (`then`, `else`), `$while` and `$for` (`do`), `$match` (its patterns).
    pub branches: Vec<Branch>,
}

impl CallExpr {
    /// The directive that it calls.
    #[must_use]
    pub fn directive(&self) -> Option<Directive> {
        self.target.directive(&self.name.value)
    }

    /// A key beside it.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let found = self.fields.iter().find(|entry| entry.name() == name);
        Some(&found?.value)
    }

    /// A block of it.
    pub(crate) fn branch(&self, name: &str) -> Option<&Branch> {
        self.branches
            .iter()
            .find(|branch| &*branch.key.value == name)
    }

    /// Where its value stands, or its name.
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
    /// Its key: `then`, `do`, or a pattern as `:/re/`.
    pub key: ScriptText,
    /// Its instructions.
    pub block: Arc<InstructionBlock>,
}

/// A function declared with `!fn` or `!fn#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// All of it.
    pub span: Span,
    /// Its name; empty for a function that is a value (`callback: !fn |- (event) {…}`).
    pub name: String,
    /// `js` unless a mark such as `[python]` says otherwise, in lower case.
    pub language: String,
    /// Whether it is for templates (`!fn#`, or a name that begins with `template$`).
    pub template: bool,
    /// The code without the mark of its language.
    pub code: ScriptText,
}
