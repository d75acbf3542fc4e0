//! Parses messages: `role: content`, and objects with a role and other fields.

use quillet_core::nearest;
use quillet_yaml::{MapEntry, Node, NodeData, YamlProblem};

use super::item::Classifier;
use super::located_scalar::LocatedScalar;
use crate::syntax::{ItemKind, MessageTemplate, ScriptText};

/// Standard roles, which need no declaration.
const ROLES: [&str; 5] = ["system", "user", "assistant", "tool", "developer"];

/// Keys of a message object besides `role` and `content`.
const FIELDS: [&str; 6] = [
    "templateFormat",
    "name",
    "private",
    "toRole",
    "content",
    "role",
];

/// Returns the roles that a script can use: the standard roles, its own name, and those of its
/// group chat.
pub(crate) fn roles(config: &Node) -> Vec<String> {
    let mut roles: Vec<String> = ROLES.map(str::to_owned).into();
    roles.extend(config.get("name").and_then(Node::as_str).map(str::to_owned));
    match config.get("roles").map(|node| &node.data) {
        Some(NodeData::Map(entries)) => {
            roles.extend(entries.iter().map(|entry| entry.name().to_owned()))
        }
        Some(NodeData::List(items)) => {
            roles.extend(items.iter().filter_map(Node::as_str).map(str::to_owned))
        }
        _ => {}
    }
    roles
}

impl Classifier<'_> {
    pub(super) fn message(&mut self, node: &Node, entries: &[MapEntry]) -> Option<ItemKind> {
        let message = match entries {
            [] => {
                self.wrong(YamlProblem::new(
                    node.span,
                    "invalid instruction: empty object",
                ));
                return None;
            }
            // `content: …` without other keys is an object without a role, not a message of the
            // role `content`.
            [entry] if !FIELDS.contains(&entry.name()) => {
                self.short(&entry.key, &entry.value, Vec::new())
            }
            entries => self.long(node, entries)?,
        };
        if matches!(message.content.data, NodeData::List(_)) && self.opens_hole(&message.content) {
            return None;
        }
        Some(ItemKind::Message(message))
    }

    /// Parses `role: content`.
    fn short(&mut self, key: &Node, content: &Node, fields: Vec<MapEntry>) -> MessageTemplate {
        let (role, to) = match key.text() {
            Some(text) => addressed(LocatedScalar::of(key, text, self.file())),
            None => (None, None),
        };
        MessageTemplate {
            role,
            to,
            content: content.clone(),
            fields,
        }
    }

    /// Parses `{role, content, …}`, `{content, …}`, or `role: content` with other fields.
    fn long(&mut self, node: &Node, entries: &[MapEntry]) -> Option<MessageTemplate> {
        if node.get("role").is_some() || node.get("content").is_some() {
            return self.object(node, entries);
        }
        let field = |entry: &&MapEntry| FIELDS.contains(&entry.name());
        let mut others = entries.iter().filter(|entry| !field(entry));
        match (others.next(), others.next()) {
            (Some(entry), None) => {
                let fields = entries.iter().filter(field).cloned().collect();
                Some(self.short(&entry.key, &entry.value, fields))
            }
            (Some(first), Some(second)) => {
                self.wrong(several(first, second));
                None
            }
            _ => {
                let message = "this message has no role and no content";
                self.wrong(YamlProblem::new(node.span, message));
                None
            }
        }
    }

    /// Parses `{role, content, …}`. Without a role it is a user message.
    fn object(&mut self, node: &Node, entries: &[MapEntry]) -> Option<MessageTemplate> {
        let (role, to) = match node.get("role").map(|role| (role, role.as_str())) {
            None => (None, None),
            Some((role, Some(text))) => addressed(LocatedScalar::of(role, text, self.file())),
            Some((role, None)) => {
                let message = format!("a role must be a name, not {}", role.kind());
                self.wrong(YamlProblem::new(role.span, message));
                return None;
            }
        };
        let content = node.get("content").cloned();
        let field = |entry: &&MapEntry| !matches!(entry.name(), "role" | "content");
        let fields: Vec<MapEntry> = entries.iter().filter(field).cloned().collect();
        for problem in fields.iter().filter_map(misspelt) {
            self.wrong(problem);
        }
        Some(MessageTemplate {
            role,
            to,
            content: content.unwrap_or_else(|| Node::nothing(node.span)),
            fields,
        })
    }
}

/// Reports a field that is unknown but resembles a field of messages.
fn misspelt(field: &MapEntry) -> Option<YamlProblem> {
    let name = field.name();
    if FIELDS.contains(&name) {
        return None;
    }
    let near = nearest(name, FIELDS)?;
    let problem = YamlProblem::new(
        field.key.span,
        format!("unknown field `{name}` of a message"),
    );
    Some(problem.help(format!("did you mean `{near}`?")))
}

fn several(first: &MapEntry, second: &MapEntry) -> YamlProblem {
    let message = format!(
        "`{}` and `{}` are in the same list item, which has neither a directive nor a `role`",
        first.name(),
        second.name()
    );
    let problem = YamlProblem::new(second.key.span, message);
    match nearest(second.name(), FIELDS) {
        Some(field) => problem.help(format!("did you mean `{field}`?")),
        None => problem.help("start each message with its role at the left edge, or with `- `"),
    }
}

/// Splits `user[@dobby(PM), @other]` into the role and the recipients.
fn addressed(key: LocatedScalar<'_>) -> (Option<ScriptText>, Option<ScriptText>) {
    let open = key.text.find(['[', '［', '【']);
    let Some(open) = open.filter(|_| key.text.ends_with([']', '］', '】'])) else {
        return (Some(key.trim().to_text()), None);
    };
    let width = |text: Option<char>| text.map_or(0, char::len_utf8);
    let begin = open + width(key.text.get(open..).and_then(|rest| rest.chars().next()));
    let end = key.text.len() - width(key.text.chars().next_back());
    (
        Some(key.cut(0, open).to_text()),
        Some(key.cut(begin, end).to_text()),
    )
}
