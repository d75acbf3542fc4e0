//! Renders `{{…}}` in fixtures before a test is parsed further. A text that consists only of
//! `{{name}}` becomes the value itself, whatever its type.

use quillet_core::{BoxFuture, Diagnostic, Map, Span, Value, nearest};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource as Text,
    render,
};
use quillet_yaml::{MapEntry, Node, NodeData, Scalar, ScalarFormat};

use super::compare::value_at_path;
use super::expected_value::node_of;
use crate::syntax::ScriptSource;

/// The template format of fixtures, which is the default of scripts.
const FORMAT: &str = "hf";
const HELP: &str = "variables are the keys of the test and of the front matter, and its input";

/// The variables of one test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variables<'a> {
    pub(super) source: &'a ScriptSource,
    pub(super) templates: &'a TemplateFactory,
    pub(super) values: &'a Map,
}

impl Variables<'_> {
    /// Renders the texts of a node.
    pub(super) fn fill<'f>(
        self,
        node: &'f Node,
        found: &'f mut Vec<Diagnostic>,
    ) -> BoxFuture<'f, Node>
    where
        Self: 'f,
    {
        Box::pin(async move {
            let data = match &node.data {
                NodeData::Scalar(scalar) if is_template(&scalar.text) => {
                    return self.text(node, &scalar.text, found).await;
                }
                NodeData::Scalar(_) => return node.clone(),
                NodeData::List(items) => {
                    let mut filled = Vec::with_capacity(items.len());
                    for item in items {
                        filled.push(self.fill(item, found).await);
                    }
                    NodeData::List(filled)
                }
                NodeData::Map(entries) => {
                    let mut filled = Vec::with_capacity(entries.len());
                    for entry in entries {
                        filled.push(MapEntry {
                            key: self.fill(&entry.key, found).await,
                            value: self.fill(&entry.value, found).await,
                        });
                    }
                    NodeData::Map(filled)
                }
            };
            Node {
                data,
                ..node.clone()
            }
        })
    }

    async fn text(self, node: &Node, text: &str, found: &mut Vec<Diagnostic>) -> Node {
        let filled = match placeholder(text) {
            Some(path) => self.value(path, node.span).map(|value| Node {
                tag: node.tag.clone(),
                ..node_of(value, node.span)
            }),
            None => self.rendered(node, text).await,
        };
        filled.unwrap_or_else(|wrong| {
            found.push(*wrong);
            node.clone()
        })
    }

    fn value(&self, path: &str, span: Span) -> Result<&Value, Box<Diagnostic>> {
        let root = path.split(['.', '[']).next().unwrap_or_default();
        let value = match self.values.get(root) {
            Some(value) => value_at_path(Some(value), path.get(root.len()..).unwrap_or_default()),
            None => None,
        };
        value.ok_or_else(|| {
            let message = format!("unknown variable {path} in this test");
            let wrong = self.source.error("test.variable", message, span);
            let known = self.values.iter().map(|(name, _)| &**name);
            let help = match nearest(root, known) {
                Some(near) if near != root => format!("did you mean {near}?"),
                _ => HELP.to_owned(),
            };
            Box::new(wrong.help(help))
        })
    }

    async fn rendered(&self, node: &Node, text: &str) -> Result<Node, Box<Diagnostic>> {
        let wrong = |why: String| Box::new(self.source.error("test.template", why, node.span));
        let name = "template";
        let source = Text::new(name, text);
        let template = self
            .templates
            .compile(FORMAT, &[source], &CompileOptions::default())
            .map_err(|error| wrong(error.to_string()))?;
        let rendered = render(&Render {
            template: template.as_ref(),
            entries: &[name],
            variables: self.values,
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
        })
        .await
        .map_err(|error| wrong(error.to_string()))?;
        let text: std::sync::Arc<str> = rendered.into_texts().concat().into();
        let scalar = Scalar {
            value: Value::Str(text.clone()),
            text,
            style: ScalarFormat::DoubleQuoted,
        };
        Ok(Node {
            data: NodeData::Scalar(scalar),
            ..node.clone()
        })
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Returns the path in a text that consists only of `{{path}}`.
fn placeholder(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '$');
    let is_name = inner.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && inner.chars().all(is_path)).then_some(inner)
}
