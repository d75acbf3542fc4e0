//! A template format as a third party would write one: `$name` prints a
//! variable, `(f a b)` calls a function, and arguments may be calls. It knows
//! nothing about waiting, and gets concurrency, sharing and limits all the same.

use std::sync::Arc;

use quillet_core::{Diagnostic, Value};
use quillet_template::{
    Arguments, Called, CompileError, CompileOptions, ErrorKind, Pass, References, RenderError,
    Source, Stop, Template, TemplateFormat,
};

#[derive(Debug)]
pub(crate) struct Custom;

#[derive(Debug)]
struct Compiled {
    sources: Vec<(String, Vec<Node>)>,
    references: References,
}

#[derive(Debug)]
enum Node {
    Text(String),
    Variable(String),
    Call(String, Vec<Node>),
}

impl TemplateFormat for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn compile(
        &self,
        sources: &[Source<'_>],
        _: &CompileOptions,
    ) -> Result<Arc<dyn Template>, CompileError> {
        let parse = |s: &Source<'_>| Ok((s.name.to_owned(), parse(s.name, &mut &*s.text, false)?));
        Ok(Arc::new(Compiled {
            sources: sources.iter().map(parse).collect::<Result<_, _>>()?,
            references: References::default(),
        }))
    }
}

fn parse(name: &str, rest: &mut &str, inside: bool) -> Result<Vec<Node>, CompileError> {
    let mut nodes = Vec::new();
    while let Some(first) = rest.chars().next() {
        let special = |c: char| "$() ".contains(c);
        let word = |text: &str| text.find(special).unwrap_or(text.len());
        let take = |rest: &mut &str, from: usize| {
            let end = from + word(&rest[from..]);
            let taken = rest[from..end].to_owned();
            *rest = &rest[end..];
            taken
        };
        match first {
            '$' => nodes.push(Node::Variable(take(rest, 1))),
            '(' => {
                let function = take(rest, 1);
                nodes.push(Node::Call(function, parse(name, rest, true)?));
            }
            ')' if inside => {
                *rest = &rest[1..];
                return Ok(nodes);
            }
            ' ' if inside => *rest = &rest[1..],
            ' ' | ')' => nodes.push(Node::Text(take(rest, 1)).after(first)),
            _ => nodes.push(Node::Text(take(rest, 0))),
        }
    }
    match inside {
        false => Ok(nodes),
        true => Err(CompileError::new(
            "a call is not closed",
            Diagnostic::error("template.syntax", name, "a call is not closed"),
        )),
    }
}

impl Node {
    fn after(self, first: char) -> Node {
        match self {
            Node::Text(text) => Node::Text(format!("{first}{text}")),
            other => other,
        }
    }

    fn evaluate(&self, pass: &mut Pass<'_>) -> Result<Called, Stop> {
        pass.step()?;
        match self {
            Node::Text(text) => Ok(Called::Ready(text.as_str().into())),
            Node::Variable(name) => match pass.variables().get(name) {
                Some(value) => Ok(Called::Ready(value.clone())),
                None => Err(RenderError::new(ErrorKind::MissingVariable, name.clone()).into()),
            },
            Node::Call(name, nodes) => {
                let mut arguments = Vec::new();
                for node in nodes {
                    match node.evaluate(pass)? {
                        Called::Ready(value) => arguments.push(value),
                        Called::Pending => return Err(Stop::Suspended),
                    }
                }
                pass.call(name, Arguments::from(arguments))
            }
        }
    }
}

impl Template for Compiled {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), Stop> {
        let found = self.sources.iter().find(|(name, _)| name == entry);
        for node in found.into_iter().flat_map(|(_, nodes)| nodes) {
            match node.evaluate(pass)? {
                Called::Ready(Value::Str(text)) => pass.write(&text)?,
                Called::Ready(value) => pass.write(&format!("{value:?}"))?,
                Called::Pending => {}
            }
        }
        Ok(())
    }
}
