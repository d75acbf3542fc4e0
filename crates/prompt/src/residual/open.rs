//! Finds the variables of a prompt that are left open, and checks that they are only printed.

use std::collections::BTreeSet;

use quillet_core::{Diagnostic, Span};
use quillet_template::convert::{
    self as templates, Argument, ConvertFindings, ConvertOptions, Language, NodeKind, PathStart,
    TreeNode, VariablePath, VariableType,
};
use quillet_template::{TemplateSource, VariableReference};

use crate::catalogue::Catalogue;
use crate::context::REQUEST_ROOTS;
use crate::definition::{Prompt, PromptBody};
use crate::names::AvailableNames;
use crate::placeholder::is_plain;
use crate::rich::RichKind;

/// Languages in which a call uses only its written arguments. In other languages a tool can also
/// use variables named like its parameters.
const EXPLICIT: [Language; 3] = [Language::Go, Language::Jinja, Language::JinjaPlain];

/// The variables of a prompt that are left open.
pub(super) struct OpenVariables {
    /// Their names, without duplicates.
    pub(super) names: Vec<String>,
    /// Placeholder messages: the index of the message, and the name of the variable.
    pub(super) threads: Vec<(usize, String)>,
    /// Expressions that print them.
    pub(super) prints: Vec<Print>,
    /// Parts of the templates that the neutral tree cannot express. If empty, the tree proves that
    /// the variables are only printed; if not, another check is needed.
    pub(super) unread: Vec<Diagnostic>,
    /// Determines the owner of a variable.
    pub(super) scope: RequestScope,
}

/// An expression that prints a request variable.
pub(super) struct Print {
    /// Index of the template.
    pub(super) template: usize,
    /// Location of the expression in the template.
    pub(super) span: Span,
    /// Index of the open variable.
    pub(super) name: usize,
}

impl OpenVariables {
    /// Scans the templates of a prompt; `shared` contains the ids of the shared variables.
    ///
    /// # Errors
    /// Returns everything that a client could not fill in exactly.
    pub(super) fn of(
        prompt: &Prompt,
        catalogue: &Catalogue,
        shared: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        let refuse = |what: String| vec![Diagnostic::error("convert.refused", &prompt.id, what)];
        if let PromptBody::Script(_) = prompt.body {
            let what = "a script is a program and has no text; call it as a model: prompt/ID";
            return Err(refuse(what.to_owned()));
        }
        let format = catalogue.factory().format(&prompt.format);
        let language = format.and_then(|format| Language::of_name(format.name()));
        let language = language.ok_or_else(|| {
            refuse(format!(
                "templates of the format {:?} are not supported for these clients",
                prompt.format
            ))
        })?;
        let snapshot = catalogue.snapshot();
        let roots = shared.iter().filter_map(|id| id.split('.').next());
        let mut looking = OpenVariableScan {
            prompt,
            language,
            names: AvailableNames {
                snapshot: &snapshot,
                format: format.map(AsRef::as_ref),
            },
            template: 0,
            declared: DeclaredVariables::of(prompt),
            open: OpenVariables {
                names: Vec::new(),
                threads: Vec::new(),
                prints: Vec::new(),
                unread: Vec::new(),
                scope: RequestScope {
                    // Go templates reach variables of the request only under `args` or `variables`.
                    at_root: format.is_some_and(|format| format.name() != "go"),
                    shared: roots.map(str::to_owned).collect(),
                    declared: DeclaredVariables::of(prompt).names().collect(),
                },
            },
            implicit: Vec::new(),
        };
        let mut refused = Vec::new();
        for (index, (name, text)) in prompt.templates().into_iter().enumerate() {
            looking.template = index;
            if let Err(found) = looking.template(&name, text) {
                refused.extend(found.into_iter().map(|one| prompt.locate(one)));
            }
        }
        // If no variables are open, a tool cannot use any.
        if !looking.open.names.is_empty() {
            let implicit = std::mem::take(&mut looking.implicit).into_iter();
            refused.extend(implicit.map(|one| prompt.locate(one)));
        }
        if !EXPLICIT.contains(&language) {
            let unread = std::mem::take(&mut looking.open.unread).into_iter();
            refused.extend(unread.map(|one| prompt.locate(one)));
        }
        if refused.is_empty() {
            Ok(looking.open)
        } else {
            Err(refused)
        }
    }
}

/// Variable declarations of a prompt.
struct DeclaredVariables {
    shapes: VariableType,
    defaults: BTreeSet<String>,
}

impl DeclaredVariables {
    fn of(prompt: &Prompt) -> Self {
        let schema = prompt.parameters.schema();
        let schema = schema.map(quillet_core::Value::from);
        let presets = prompt.parameters.presets().into_iter();
        let defaults = presets.map(|(name, _)| name.to_string());
        DeclaredVariables {
            shapes: schema
                .as_ref()
                .map(VariableType::of_schema)
                .unwrap_or_default(),
            defaults: defaults.collect(),
        }
    }

    fn names(self) -> impl Iterator<Item = String> {
        let fields = match self.shapes {
            VariableType::Object(fields) => fields,
            _ => Vec::new(),
        };
        fields.into_iter().map(|(name, _)| name)
    }

    fn shape(&self, name: &str) -> Option<&VariableType> {
        let VariableType::Object(fields) = &self.shapes else {
            return None;
        };
        let field = fields.iter().find(|(field, _)| field == name);
        field.map(|(_, shape)| shape)
    }
}

/// Determines which variables belong to the request.
pub(super) struct RequestScope {
    /// Whether request variables are also top-level names.
    at_root: bool,
    /// First path segments of shared variables.
    shared: BTreeSet<String>,
    /// Variables that the prompt declares.
    declared: BTreeSet<String>,
}

/// Owner of a variable.
pub(super) enum VariableOwner<'p> {
    /// Known when the prompt is exported.
    Known,
    /// A request variable with this name.
    Request(&'p str),
    /// A part of this request variable, or all request variables if the name is empty.
    Inside(&'p str),
}

struct OpenVariableScan<'a> {
    prompt: &'a Prompt,
    language: Language,
    names: AvailableNames<'a>,
    /// Index of the current template.
    template: usize,
    declared: DeclaredVariables,
    open: OpenVariables,
    /// Calls that may use request variables implicitly.
    implicit: Vec<Diagnostic>,
}

impl OpenVariableScan<'_> {
    fn template(&mut self, name: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        let options = ConvertOptions::default();
        let [mut unread, mut findings] = [0; 2].map(|_| ConvertFindings::new(name, text));
        let source = TemplateSource::new(name, text);
        let nodes = templates::read(self.language, &source, &options, &mut unread)?;
        match self.thread(&nodes) {
            Some(thread) => self.open.threads.push((self.template, thread)),
            None => self.nodes(&nodes, &mut findings),
        }
        let unread = templates::finish(String::new(), &options, unread).err();
        self.open.unread.extend(unread.into_iter().flatten());
        templates::finish(String::new(), &options, findings).map(drop)
    }

    /// Returns the variable of a placeholder message.
    fn thread(&self, nodes: &[TreeNode]) -> Option<String> {
        let [
            TreeNode {
                kind: NodeKind::Print(path),
                ..
            },
        ] = nodes
        else {
            return None;
        };
        let VariableOwner::Request(name) = self.open.scope.owner_of(path) else {
            return None;
        };
        let is_thread = self
            .prompt
            .rich
            .iter()
            .any(|rich| &*rich.name == name && rich.kind == RichKind::Thread);
        // A whole message can be replaced only if messages are separate.
        let alone = matches!(self.prompt.body, PromptBody::Messages(_));
        (is_thread && alone).then(|| name.to_owned())
    }

    fn nodes(&mut self, nodes: &[TreeNode], findings: &mut ConvertFindings<'_>) {
        for node in nodes {
            self.node(node, findings);
        }
    }

    fn node(&mut self, node: &TreeNode, findings: &mut ConvertFindings<'_>) {
        match &node.kind {
            NodeKind::Text(_) | NodeKind::Comment(_) | NodeKind::Role(_) => {}
            NodeKind::Print(path) => self.print(path, node.span, findings),
            NodeKind::Call(call) => {
                for argument in call.arguments() {
                    if let Argument::Path(path) = argument {
                        self.decides(path, "is an argument of a function", node.span, findings);
                    }
                }
                if !EXPLICIT.contains(&self.language) {
                    self.by_name(&call.name, node.span, findings.text());
                }
            }
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.decides(&condition.path, "is a condition", node.span, findings);
                self.nodes(then, findings);
                self.nodes(otherwise, findings);
            }
            NodeKind::For {
                list,
                body,
                otherwise,
                ..
            } => {
                self.decides(list, "is the list of a loop", node.span, findings);
                self.nodes(body, findings);
                self.nodes(otherwise, findings);
            }
        }
    }

    fn print(&mut self, path: &VariablePath, span: Span, findings: &mut ConvertFindings<'_>) {
        let reference = VariableReference::new(path.keys.clone(), 0, span);
        if path.start == PathStart::Root && self.names.may_be_call(&reference) {
            self.by_name(&path.keys.join("."), span, findings.text());
            return;
        }
        let name = match self.open.scope.owner_of(path) {
            VariableOwner::Known => return,
            VariableOwner::Request(name) => name,
            VariableOwner::Inside(name) => {
                let what = format!("a field of the variable {name} of the request is printed");
                findings.reject(span, what);
                return;
            }
        };
        if let Some(why) = self.cannot_be_open(name) {
            findings.reject(span, format!("the variable {name} {why}"));
            return;
        }
        let known = self.open.names.iter().position(|known| known == name);
        let name = known.unwrap_or_else(|| {
            self.open.names.push(name.to_owned());
            self.open.names.len() - 1
        });
        self.open.prints.push(Print {
            template: self.template,
            span,
            name,
        });
    }

    /// Returns the reason why a client cannot fill in a request variable, if there is one.
    fn cannot_be_open(&self, name: &str) -> Option<&'static str> {
        if !is_plain(name) {
            return Some("has a name that clients read in different ways");
        }
        if self.prompt.rich.iter().any(|rich| &*rich.name == name) {
            return Some("is not text");
        }
        if self.declared.defaults.contains(name) {
            return Some("has a default, which no client fills in");
        }
        match self.declared.shape(name) {
            None | Some(VariableType::Unknown | VariableType::Text | VariableType::Integer) => None,
            Some(
                VariableType::Number
                | VariableType::Boolean
                | VariableType::List(_)
                | VariableType::Object(_),
            ) => Some(
                "is declared with a type other than text, and a client prints it in its own \
                way",
            ),
        }
    }

    /// Rejects a request variable that affects anything besides its own text.
    fn decides(
        &self,
        path: &VariablePath,
        what: &str,
        span: Span,
        findings: &mut ConvertFindings<'_>,
    ) {
        if let VariableOwner::Request(name) | VariableOwner::Inside(name) =
            self.open.scope.owner_of(path)
        {
            let what = format!("the variable {name} of the request {what}");
            findings.reject(span, what);
        }
    }

    fn by_name(&mut self, function: &str, span: Span, text: &str) {
        let what = format!(
            "{function} is called in a format in which tools take variables of the request by name"
        );
        let found = Diagnostic::error("convert.refused", &self.prompt.id, what);
        self.implicit.push(found.at(text, span));
    }
}

impl RequestScope {
    /// Owner of the variable at a path of the neutral tree.
    fn owner_of<'p>(&self, path: &'p VariablePath) -> VariableOwner<'p> {
        match path.start {
            PathStart::Root => self.of(&path.keys),
            PathStart::Item(_) | PathStart::Loop(..) => VariableOwner::Known,
        }
    }

    /// Owner of the variable at these keys.
    pub(super) fn of<'p>(&self, keys: &'p [String]) -> VariableOwner<'p> {
        let mut keys = keys.iter().map(String::as_str);
        let Some(first) = keys.next() else {
            // An empty path refers to all variables.
            return VariableOwner::Inside("");
        };
        if REQUEST_ROOTS.contains(&first) {
            return match (keys.next(), keys.next()) {
                (Some(name), None) => VariableOwner::Request(name),
                (name, _) => VariableOwner::Inside(name.unwrap_or(first)),
            };
        }
        let is_known =
            !self.at_root || (self.shared.contains(first) && !self.declared.contains(first));
        match keys.next() {
            _ if is_known => VariableOwner::Known,
            None => VariableOwner::Request(first),
            Some(_) => VariableOwner::Inside(first),
        }
    }
}
