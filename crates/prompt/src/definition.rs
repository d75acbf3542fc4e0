//! Stored prompt definitions: one text, or a list of messages.

use std::sync::Arc;

use quillet_core::chat::ChatOptions;
use quillet_core::{Diagnostic, Map, Role, nearest};
use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree};

use crate::checked::{CheckResult, located, parse_object};
use crate::error::VariableError;
use crate::options::chat_options;
use crate::parameters::{Checks, Parameters};
use crate::placeholder;
use crate::rich::{StructuredVariable, mark};
use crate::script::{self, SCRIPT_FORMAT, StoredScript};
use crate::template_location::TemplateLocation;

/// Body of a prompt: a template, messages or a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptBody {
    /// A text (`userPrompt`, or `prompt` in ai-prompt-shell).
    Text(Arc<str>),
    /// Messages.
    Messages(Vec<TemplateMessage>),
    /// A script. It is executed, not rendered as a template.
    Script(Box<StoredScript>),
}

/// A message whose content is a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateMessage {
    /// The speaker.
    pub role: Role,
    /// The template.
    pub content: Arc<str>,
}

/// A definition as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawDefinition {
    /// The complete definition.
    Whole(Arc<Tree>),
    /// Only the title and the description, to save memory in a large catalogue.
    /// [`Definition::raw`](crate::Definition::raw) parses the complete definition from the stored
    /// text.
    Said {
        /// The title.
        title: Option<Box<str>>,
        /// The description.
        description: Option<Box<str>>,
    },
}

impl RawDefinition {
    /// Returns the title, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::RawDefinition;
    /// use serde_json::json;
    ///
    /// let raw = RawDefinition::from(json!({"name": "greet", "displayName": "Greeting"}));
    /// assert_eq!(raw.title(), Some("Greeting"));
    /// assert_eq!(raw.description(), None);
    /// ```
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        match self {
            RawDefinition::Whole(tree) => text(tree, "displayName").or(text(tree, "name")),
            RawDefinition::Said { title, .. } => title.as_deref(),
        }
    }

    /// Returns the description, if there is one.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        match self {
            RawDefinition::Whole(tree) => text(tree, "description"),
            RawDefinition::Said { description, .. } => description.as_deref(),
        }
    }

    /// Returns the complete definition if it is in memory.
    #[must_use]
    pub fn definition_tree(&self) -> Option<&Arc<Tree>> {
        match self {
            RawDefinition::Whole(tree) => Some(tree),
            RawDefinition::Said { .. } => None,
        }
    }

    fn said(&self) -> Self {
        RawDefinition::Said {
            title: self.title().map(Box::from),
            description: self.description().map(Box::from),
        }
    }
}

fn text<'a>(tree: &'a Tree, name: &str) -> Option<&'a str> {
    tree.get(name).and_then(Tree::as_str)
}

impl From<Tree> for RawDefinition {
    fn from(tree: Tree) -> Self {
        RawDefinition::Whole(Arc::new(tree))
    }
}

/// A prompt that can be rendered.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The id in URLs.
    pub id: Arc<str>,
    /// The templates or the script.
    pub body: PromptBody,
    /// Template format, `go` by default.
    pub format: String,
    /// Handling of missing variables; strict by default.
    pub missing: Missing,
    /// Syntax that marks the start of messages in the template's own text; none by default.
    pub messages: MessageSyntax,
    /// Variables whose text may contain message markup.
    pub trusted: Vec<String>,
    /// Whether function results may contain message markup (a flag of Semantic Kernel for the whole
    /// prompt).
    pub trusted_results: bool,
    /// Declared parameters.
    pub parameters: Parameters,
    /// Variables that hold conversations or media and keep their structure in the text.
    pub rich: Vec<StructuredVariable>,
    /// The default model for `chat`.
    pub model: Option<String>,
    /// Default generation parameters for `chat`.
    pub options: Arc<ChatOptions>,
    /// Resolved front matter of a prompt file: schemas as JSON Schema, shorthands as objects. Empty
    /// for other definitions.
    pub metadata: Object<String, Tree>,
    /// The definition as it was written. For a prompt file, this is the front matter.
    pub raw: RawDefinition,
    /// Location of the template in its file, if the template is part of a file.
    pub place: Option<TemplateLocation>,
}

/// Known keys of a definition. Others are kept and reported, because a misspelled key would
/// otherwise have no visible effect.
const KEYS: [&str; 27] = [
    "name",
    "aliases",
    "displayName",
    "description",
    "messages",
    "userPrompt",
    "prompt",
    "format",
    "templateFormat",
    "template_format",
    "missing",
    "messageSyntax",
    "message_syntax",
    "trusted",
    "trustedResults",
    "model",
    "options",
    "parameters",
    "returns",
    "supports",
    "version",
    "author",
    "tags",
    "metadata",
    "icon",
    "languages",
    "$schema",
];

const TEXT_KEYS: [&str; 2] = ["userPrompt", "prompt"];

impl Prompt {
    /// Parses a stored text. A valid prompt may have warnings.
    ///
    /// # Errors
    /// Returns all errors, with locations where they are known.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Prompt;
    ///
    /// let text = r#"{"prompt": "Hello {{.variables.name}}!", "paramters": []}"#;
    /// let (prompt, warnings) = Prompt::parse("greet", "prompt greet", text).unwrap();
    /// assert_eq!(prompt.format, "go");
    /// assert_eq!(warnings[0].help.as_deref(), Some(r#"did you mean "parameters"?"#));
    ///
    /// let errors = Prompt::parse("greet", "prompt greet", "{}").unwrap_err();
    /// assert_eq!(errors[0].code, "prompt.definition");
    /// ```
    pub fn parse(id: &str, source: &str, text: &str) -> CheckResult<Self> {
        let tree = parse_object(source, text)?;
        Self::from_object(id, source, text, tree)
    }

    /// Parses a definition that is part of another definition, such as a prompt of an extension.
    ///
    /// # Errors
    /// The same as [`Prompt::parse`].
    pub fn from_object(
        id: &str,
        source: &str,
        text: &str,
        object: Object<String, Tree>,
    ) -> CheckResult<Self> {
        if script::source(&object).is_some() {
            let message =
                "a script cannot be part of another definition: store it as a separate prompt";
            let found = located("prompt.script", source, text, "format", message.to_owned());
            return Err(vec![found]);
        }
        // Collected, so that one check reports everything that is wrong.
        let mut errors = Vec::new();
        let mut keep = |result: Result<_, String>, key: &str| {
            result.map_err(|message| {
                errors.push(located("prompt.definition", source, text, key, message))
            })
        };
        let mut rich = Vec::new();
        let body = keep(body(&object, &mut rich), "messages");
        let parameters = Parameters::parse(object.get("parameters").unwrap_or(&Tree::Null));
        let missing = missing(object.get("missing"));
        let format = format(&object);
        let mut keep = |message: String, key: &str| {
            errors.push(located("prompt.definition", source, text, key, message));
        };
        let parameters = parameters.map_err(|message| keep(message, "parameters"));
        let missing = missing.map_err(|message| keep(message, "missing"));
        let format = format.map_err(|message| keep(message, "format"));
        let messages = syntax(&object).map_err(|message| keep(message, "messageSyntax"));
        let trusted = names(&object, "trusted").map_err(|message| keep(message, "trusted"));
        let trusted_results = truth(&object, "trustedResults");
        let trusted_results = trusted_results.map_err(|message| keep(message, "trustedResults"));
        let model = optional_text(&object, "model").map_err(|message| keep(message, "model"));
        let options = options(&object).map_err(|message| keep(message, "options"));
        let aliases = aliases(&object).map_err(|message| keep(message, "aliases"));
        let (Ok(body), Ok(parameters), Ok(missing), Ok(format)) =
            (body, parameters, missing, format)
        else {
            return Err(errors);
        };
        let (Ok(messages), Ok(trusted), Ok(trusted_results), Ok(model), Ok(options), Ok(_)) =
            (messages, trusted, trusted_results, model, options, aliases)
        else {
            return Err(errors);
        };
        let warnings = unknown_keys(source, text, &object);
        let prompt = Prompt {
            id: id.into(),
            body,
            format,
            missing,
            messages,
            trusted,
            trusted_results,
            parameters,
            rich,
            model,
            options: Arc::new(options),
            metadata: Object::new(),
            raw: Tree::Object(object).into(),
            place: None,
        };
        Ok((prompt, warnings))
    }

    /// Wraps a script as a prompt.
    pub(crate) fn script(id: &str, object: Object<String, Tree>, script: StoredScript) -> Self {
        Prompt {
            id: id.into(),
            body: PromptBody::Script(Box::new(script)),
            format: SCRIPT_FORMAT.to_owned(),
            missing: Missing::Strict,
            messages: MessageSyntax::Plain,
            trusted: Vec::new(),
            trusted_results: false,
            parameters: Parameters::default(),
            rich: Vec::new(),
            model: None,
            options: Arc::default(),
            metadata: Object::new(),
            raw: Tree::Object(object).into(),
            place: None,
        }
    }

    /// Drops the parts that can be parsed again from the text.
    pub(crate) fn without_source(self) -> Self {
        Prompt {
            raw: self.raw.said(),
            ..self
        }
    }

    /// Whether two prompts parsed from the same text are equal.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        // Resolved references are visible in the metadata only.
        self.raw == other.raw && self.metadata == other.metadata && self.body == other.body
    }

    /// Validates the variables of a request, adds defaults, and replaces rich values with their
    /// placeholders in the text.
    ///
    /// # Errors
    /// Returns an error for each invalid variable.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Map, Value};
    /// use quillet_prompt::Prompt;
    ///
    /// let text = r#"{
    ///     "prompt": "{{.variables.n}}",
    ///     "parameters": {"n": {"type": "int", "default": 3}}
    /// }"#;
    /// let (prompt, _) = Prompt::parse("count", "prompt count", text).unwrap();
    /// let bound = prompt.bind(&Map::default()).unwrap();
    /// assert_eq!(bound.get("n"), Some(&Value::Int(3)));
    /// ```
    pub fn bind(&self, variables: &Map) -> Result<Map, Vec<VariableError>> {
        self.bind_with(&Checks::default(), variables)
    }

    /// Like [`Prompt::bind`], but uses a cached validator.
    pub(crate) fn bind_with(
        &self,
        checks: &Checks,
        variables: &Map,
    ) -> Result<Map, Vec<VariableError>> {
        let bound = self.parameters.bind_with(checks, variables)?;
        mark(&self.rich, bound)
    }

    /// Maps a diagnostic in the template to the file that contains the template.
    #[must_use]
    pub fn locate(&self, found: Diagnostic) -> Diagnostic {
        let text = match &self.body {
            PromptBody::Text(text) => text,
            PromptBody::Messages(_) | PromptBody::Script(_) => return found,
        };
        match &self.place {
            Some(place) => place.locate(found, text),
            None => found,
        }
    }

    /// Names and templates in render order. A name is `ID.prompt`, or `ID.messages.0` and so on, as
    /// in the error messages of ai-prompt-shell.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Prompt;
    ///
    /// let text = r#"{"messages": [{"role": "user", "content": "Hello!"}]}"#;
    /// let (prompt, _) = Prompt::parse("greet", "prompt greet", text).unwrap();
    /// let templates = prompt.templates();
    /// assert_eq!(templates[0].0, "greet.messages.0");
    /// assert_eq!(&**templates[0].1, "Hello!");
    /// ```
    pub fn templates(&self) -> Vec<(String, &Arc<str>)> {
        match &self.body {
            PromptBody::Text(text) => vec![(format!("{}.prompt", self.id), text)],
            PromptBody::Messages(messages) => messages
                .iter()
                .enumerate()
                .map(|(i, message)| (format!("{}.messages.{i}", self.id), &message.content))
                .collect(),
            PromptBody::Script(_) => Vec::new(),
        }
    }
}

fn body(
    object: &Object<String, Tree>,
    rich: &mut Vec<StructuredVariable>,
) -> Result<PromptBody, String> {
    let text_keys: Vec<&str> = TEXT_KEYS
        .into_iter()
        .filter(|key| object.get(*key).is_some_and(|v| !v.is_null()))
        .collect();
    let messages = object.get("messages").filter(|value| !value.is_null());
    match (messages, text_keys.as_slice()) {
        (None, []) => Err("a prompt needs messages or userPrompt".into()),
        (Some(_), [key, ..]) => Err(format!("messages and {key} exclude each other: keep one")),
        (None, [_, second, ..]) => Err(format!(
            "userPrompt and {second} are the same field: keep one"
        )),
        (None, [key]) => match &object[*key] {
            Tree::String(text) => Ok(PromptBody::Text(text.as_str().into())),
            _ => Err(format!("{key} must be a string")),
        },
        (Some(Tree::Array(items)), []) if !items.is_empty() => {
            let format = format(object).unwrap_or_default();
            let items = items.iter().enumerate();
            let messages = items.map(|(index, item)| match placeholder::name(item) {
                Some(name) => Ok(TemplateMessage {
                    role: Role::User,
                    content: placeholder::text(index, name, &format, rich)?,
                }),
                None => message((index, item)),
            });
            Ok(PromptBody::Messages(messages.collect::<Result<_, _>>()?))
        }
        (Some(_), []) => Err("messages must be a list of at least one {role, content}".into()),
    }
}

fn message((index, item): (usize, &Tree)) -> Result<TemplateMessage, String> {
    let role = item.get("role").and_then(Tree::as_str);
    let role = role.ok_or_else(|| format!("messages[{index}] has no role"))?;
    let role = Role::parse(role).ok_or_else(|| {
        format!("messages[{index}] has the unknown role {role:?}; roles are system, developer, user, assistant, tool")
    })?;
    let content = item.get("content").and_then(Tree::as_str);
    let content = content.ok_or_else(|| format!("messages[{index}].content must be a string"))?;
    Ok(TemplateMessage {
        role,
        content: content.into(),
    })
}

fn missing(declared: Option<&Tree>) -> Result<Missing, String> {
    match declared.map(Tree::as_str) {
        None | Some(Some("strict")) => Ok(Missing::Strict),
        Some(Some("lenient")) => Ok(Missing::Default),
        _ => Err("missing must be \"strict\" or \"lenient\"".into()),
    }
}

fn format(object: &Object<String, Tree>) -> Result<String, String> {
    let declared = ["format", "templateFormat", "template_format"]
        .iter()
        .find_map(|key| object.get(*key));
    match declared {
        None | Some(Tree::Null) => Ok("go".into()),
        Some(Tree::String(name)) => Ok(name.clone()),
        Some(_) => Err("format must be a string such as \"go\"".into()),
    }
}

fn syntax(object: &Object<String, Tree>) -> Result<MessageSyntax, String> {
    let declared = ["messageSyntax", "message_syntax"]
        .iter()
        .find_map(|key| object.get(*key));
    match declared.map(Tree::as_str) {
        // Semantic Kernel always parses message elements.
        None if is_semantic_kernel(object) => Ok(MessageSyntax::Elements),
        None | Some(Some("plain")) => Ok(MessageSyntax::Plain),
        Some(Some("elements")) => Ok(MessageSyntax::Elements),
        Some(Some("role-lines")) => Ok(MessageSyntax::RoleLines),
        _ => Err("messageSyntax must be \"plain\", \"elements\" or \"role-lines\"".into()),
    }
}

fn is_semantic_kernel(object: &Object<String, Tree>) -> bool {
    let format = format(object).unwrap_or_default().to_ascii_lowercase();
    ["semantic-kernel", "sk-"]
        .iter()
        .any(|start| format.starts_with(start))
        || matches!(format.as_str(), "sk" | "skprompt")
}

fn truth(object: &Object<String, Tree>, key: &str) -> Result<bool, String> {
    match object.get(key) {
        None | Some(Tree::Null) => Ok(false),
        Some(Tree::Bool(on)) => Ok(*on),
        Some(_) => Err(format!("{key} must be true or false")),
    }
}

/// Aliases of a prompt: its names in other systems, such as `pmpt_…` at OpenAI.
///
/// # Errors
/// The value is not a list of strings.
pub(crate) fn aliases(object: &Object<String, Tree>) -> Result<Vec<String>, String> {
    texts(object, "aliases", "names")
}

fn names(object: &Object<String, Tree>, key: &str) -> Result<Vec<String>, String> {
    texts(object, key, "names of variables")
}

fn texts(object: &Object<String, Tree>, key: &str, what: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("{key} must be a list of {what}");
    match object.get(key) {
        None | Some(Tree::Null) => Ok(Vec::new()),
        Some(Tree::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

fn optional_text(object: &Object<String, Tree>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Tree::Null) => Ok(None),
        Some(Tree::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{key} must be a string")),
    }
}

fn options(object: &Object<String, Tree>) -> Result<ChatOptions, String> {
    match object.get("options") {
        None | Some(Tree::Null) => Ok(ChatOptions::default()),
        Some(Tree::Object(options)) => chat_options(options),
        Some(_) => Err("options must be an object such as {\"temperature\": 0}".into()),
    }
}

fn unknown_keys(source: &str, text: &str, object: &Object<String, Tree>) -> Vec<Diagnostic> {
    let unknown = object.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let warn = |key: &String| {
        // Only likely typos are reported, because the author may use other keys.
        let near = nearest(key, KEYS)?;
        let message = format!("unknown key {key:?}");
        let mut found = located("prompt.key", source, text, key, message);
        found.severity = quillet_core::Severity::Warning;
        Some(found.help(format!("did you mean {near:?}?")))
    };
    unknown.filter_map(warn).collect()
}

#[cfg(test)]
mod tests {
    use quillet_core::LineColumn;

    use super::*;

    #[test]
    fn bodies() {
        let cases = [
            (r#"{"userPrompt":"a"}"#, Ok(1)),
            (r#"{"prompt":"a"}"#, Ok(1)),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}"#,
                Ok(2),
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"}],"userPrompt":"b"}"#,
                Err("exclude each other"),
            ),
            (r#"{"prompt":"a","userPrompt":"b"}"#, Err("same field")),
            (r#"{"name":"x"}"#, Err("needs messages or userPrompt")),
            (
                r#"{"messages":[{"role":"usr","content":"a"}]}"#,
                Err("unknown role"),
            ),
            (r#"{"messages":[]}"#, Err("at least one")),
            (r#"{"userPrompt":1}"#, Err("must be a string")),
            (r#"{"userPrompt":"a","missing":"no"}"#, Err("strict")),
            (
                r#"{"userPrompt":"a","messageSyntax":"xml"}"#,
                Err("role-lines"),
            ),
            (
                r#"{"userPrompt":"a","messageSyntax":"elements","trusted":["b"]}"#,
                Ok(1),
            ),
            (r#"{"userPrompt":"a","trusted":"b"}"#, Err("trusted must")),
            (
                r#"{"userPrompt":"a","trustedResults":"yes"}"#,
                Err("trustedResults must"),
            ),
            (r#"{"userPrompt":"a","model":1}"#, Err("model must")),
            (
                r#"{"userPrompt":"a","options":{"temperature":"hot"}}"#,
                Err("temperature"),
            ),
            (r#"{"userPrompt":"a","aliases":["pmpt_1"]}"#, Ok(1)),
            (r#"{"userPrompt":"a","aliases":"b"}"#, Err("aliases must")),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"type":"placeholder","name":"h"}]}"#,
                Ok(2),
            ),
            (
                r#"{"messages":[{"type":"placeholder","name":"a b"}]}"#,
                Err("messages[0]"),
            ),
            (
                r#"{"format":"new","messages":[{"type":"placeholder","name":"h"}]}"#,
                Err("placeholder"),
            ),
            (
                r#"{"userPrompt":"a","parameters":7}"#,
                Err("parameters must be"),
            ),
            (r#"[]"#, Err("JSON object")),
            (r#"{"userPrompt": }"#, Err("not JSON")),
        ];
        for (text, expected) in cases {
            let got = Prompt::parse("p", "prompt p", text);
            match expected {
                Ok(count) => assert_eq!(got.unwrap().0.templates().len(), count, "{text}"),
                Err(part) => {
                    let found = got.unwrap_err();
                    assert!(
                        found.iter().any(|d| d.message.contains(part)),
                        "{text}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn several_errors_come_at_once_and_with_places() {
        let text = "{\n \"missing\": 1,\n \"parameters\": 7}";
        let found = Prompt::parse("p", "p", text).unwrap_err();
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].position, Some(LineColumn { line: 3, column: 2 }));
    }

    #[test]
    fn a_mistyped_key_is_reported_with_the_nearest() {
        let (_, warnings) =
            Prompt::parse("p", "p", r#"{"userPrompt":"a","paramters":[]}"#).unwrap();
        assert_eq!(
            warnings[0].help.as_deref(),
            Some("did you mean \"parameters\"?")
        );
    }
}
