//! Completion.
//!
//! An incomplete text can seldom be parsed. The line before the cursor therefore determines the
//! kind of completion ([`context`]), and the items come from the parts that can be parsed.

use std::collections::BTreeSet;

use quillet_core::Span;

use super::hover::value_of;
use super::names::{MarkKind, marks};
use super::{EditorContext, ScriptDocument, hover_text, keys};
use crate::directive::{Directive, DirectiveForm, DirectiveSpec};
use crate::library::import::bare_name;
use crate::reader;

mod context;

use context::{CompletionContext, CompletionScope};

/// A completion item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    /// The label in the list.
    pub label: String,
    /// Its kind.
    pub kind: CompletionKind,
    /// A short description next to the label.
    pub detail: String,
    /// The documentation, in Markdown.
    pub doc: String,
    /// The text to insert.
    pub insert: String,
    /// The span to replace.
    pub span: Span,
}

/// The kind of a completion item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionKind {
    /// A directive.
    Directive,
    /// A function.
    Function,
    /// A key of the front matter or of a directive.
    Key,
    /// A pattern of `$match`.
    Pattern,
    /// The role of a message.
    Role,
    /// A script.
    Script,
    /// A tool from outside of scripts.
    Tool,
    /// A value of a setting.
    Value,
    /// A variable.
    Variable,
}

/// Maximum number of scripts that are loaded for descriptions. If there are more, they are listed
/// without one.
const MOST_DESCRIBED: usize = 50;

/// Maximum number of items in a list.
const MOST: usize = 500;

/// Returns all completion items at a byte offset.
pub async fn complete(
    document: &ScriptDocument,
    at: usize,
    around: EditorContext<'_>,
) -> Vec<CompletionItem> {
    let Some(context) = CompletionContext::of(document.text(), at) else {
        return Vec::new();
    };
    let mut list = CompletionList {
        span: context.span,
        items: Vec::new(),
    };
    match context.wanted {
        CompletionScope::Call => {
            directives(&mut list, "$");
            functions(&mut list, document, "$");
        }
        CompletionScope::Parameter(name) => parameters(&mut list, &name, document),
        CompletionScope::Variable => {
            variables(&mut list, document);
            functions(&mut list, document, "");
        }
        CompletionScope::Script => {
            scripts(&mut list, document, around).await;
            functions(&mut list, document, "$");
        }
        CompletionScope::Tool => {
            scripts(&mut list, document, around).await;
            tools(&mut list, around);
        }
        CompletionScope::Message => {
            roles(&mut list, document);
            directives(&mut list, "$");
        }
        CompletionScope::Pattern => patterns(&mut list),
        CompletionScope::Key(path) => config_keys(&mut list, &path),
        CompletionScope::Value(path) => values(&mut list, &path),
    }
    list.items.truncate(MOST);
    list.items
}

struct CompletionList {
    span: Span,
    items: Vec<CompletionItem>,
}

impl CompletionList {
    fn add(&mut self, kind: CompletionKind, label: &str, detail: &str, doc: String) {
        self.insert(kind, label, detail, doc, label);
    }

    fn insert(
        &mut self,
        kind: CompletionKind,
        label: &str,
        detail: &str,
        doc: String,
        insert: &str,
    ) {
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind,
            detail: detail.to_owned(),
            doc,
            insert: insert.to_owned(),
            span: self.span,
        });
    }
}

fn directives(list: &mut CompletionList, sign: &str) {
    for known in Directive::ALL.iter().map(|known| known.spec()) {
        for name in [known.name].iter().chain(known.aliases) {
            let label = format!("{sign}{name}");
            let kind = CompletionKind::Directive;
            list.insert(
                kind,
                &label,
                known.doc,
                hover_text::directive(known),
                &written(known, &label),
            );
        }
    }
}

/// Returns the most common form of a directive.
fn written(known: &DirectiveSpec, label: &str) -> String {
    match known.form {
        DirectiveForm::Blocks(_) | DirectiveForm::Patterns => format!("{label}:"),
        DirectiveForm::InLoop => label.to_owned(),
        DirectiveForm::Plain if known.parameters.is_empty() && known.open => format!("{label}:"),
        DirectiveForm::Plain => label.to_owned(),
    }
}

fn parameters(list: &mut CompletionList, name: &str, document: &ScriptDocument) {
    if let Some(known) = Directive::named(name) {
        for parameter in known.spec().parameters {
            let detail = if parameter.required { "required" } else { "" };
            let insert = format!("{}=", parameter.name);
            list.insert(
                CompletionKind::Key,
                parameter.name,
                detail,
                parameter.doc.to_owned(),
                &insert,
            );
        }
    }
    variables(list, document);
}

fn functions(list: &mut CompletionList, document: &ScriptDocument, sign: &str) {
    for function in &document.script.functions {
        let name = bare_name(&function.name);
        if !name.is_empty() {
            let label = format!("{sign}{name}");
            list.add(
                CompletionKind::Function,
                &label,
                &function.language,
                String::new(),
            );
        }
    }
}

fn variables(list: &mut CompletionList, document: &ScriptDocument) {
    let names = marks(document, None)
        .into_iter()
        .filter_map(|mark| match mark.kind {
            MarkKind::Variable { name, sets: true } => Some(name),
            _ => None,
        });
    let names: BTreeSet<String> = names.collect();
    for name in names {
        let value = value_of(&document.script, &name);
        let detail = value
            .map(|value| hover_text::value(&value))
            .unwrap_or_default();
        list.add(CompletionKind::Variable, &name, &detail, String::new());
    }
    for (name, detail) in GIVEN {
        list.add(CompletionKind::Variable, name, detail, String::new());
    }
}

/// Variables that every script has.
const GIVEN: [(&str, &str); 3] = [
    ("LatestResult", "the result of the previous instruction"),
    ("RESPONSE", "the model's latest answer"),
    ("content", "the content argument of the script"),
];

async fn scripts(list: &mut CompletionList, document: &ScriptDocument, around: EditorContext<'_>) {
    for (number, id) in around.library.ids().into_iter().enumerate() {
        let script = if number < MOST_DESCRIBED {
            around.library.find(&id, Some(&document.source)).await
        } else {
            Ok(None)
        };
        let doc = script
            .ok()
            .flatten()
            .map(|script| hover_text::script(&script));
        list.add(
            CompletionKind::Script,
            &id,
            "script",
            doc.unwrap_or_default(),
        );
    }
}

fn tools(list: &mut CompletionList, around: EditorContext<'_>) {
    for name in around.tools.names() {
        let doc = around
            .tools
            .tool(&name)
            .map(|tool| tool.spec().description.clone());
        list.add(CompletionKind::Tool, &name, "tool", doc.unwrap_or_default());
    }
}

fn roles(list: &mut CompletionList, document: &ScriptDocument) {
    for role in reader::roles(&document.script.config) {
        let insert = format!("{role}: ");
        list.insert(CompletionKind::Role, &role, "role", String::new(), &insert);
    }
}

fn patterns(list: &mut CompletionList) {
    for (pattern, detail) in PATTERNS {
        list.insert(
            CompletionKind::Pattern,
            pattern,
            detail,
            String::new(),
            &format!("{pattern}:"),
        );
    }
}

/// An example of each kind of pattern.
const PATTERNS: [(&str, &str); 9] = [
    (":/re/i", "a text that the expression matches"),
    (":\"text\"", "this text"),
    (":> 1", "a comparison"),
    (":1..5", "a range with its end"),
    (":1..<5", "a range without its end"),
    (":\"a\" || \"b\"", "one or the other"),
    (":[first, _, ..]", "a list; names become variables"),
    (
        ":{key: value, ..}",
        "an object with these fields and others",
    ),
    ("_", "everything else"),
];

fn config_keys(list: &mut CompletionList, path: &[String]) {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    for key in keys::below(&path) {
        let insert = format!("{}: ", key.name());
        list.insert(
            CompletionKind::Key,
            key.name(),
            "",
            key.doc.to_owned(),
            &insert,
        );
    }
}

fn values(list: &mut CompletionList, path: &[String]) {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let found = keys::key(&path);
    for value in found.map(|key| key.values).unwrap_or_default() {
        list.add(CompletionKind::Value, value, "", String::new());
    }
}
