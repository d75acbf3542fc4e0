//! Reads the fields of an object and collects all errors with their locations.

use std::time::Duration;

use quillet_core::{Diagnostic, Span, Value, nearest};
use quillet_yaml::{MapEntry, Node, NodeData};

/// Maximum duration in seconds: a day.
const MOST_SECONDS: f64 = 86_400.0;

/// Source text with the diagnostics so far.
pub(super) struct DefinitionDiagnostics<'t> {
    source: &'t str,
    text: &'t str,
    list: Vec<Diagnostic>,
}

impl<'t> DefinitionDiagnostics<'t> {
    pub(super) fn new(source: &'t str, text: &'t str) -> Self {
        DefinitionDiagnostics {
            source,
            text,
            list: Vec::new(),
        }
    }

    /// Adds an error at a byte offset.
    pub(super) fn add(&mut self, at: usize, message: impl Into<String>, help: Option<String>) {
        let mut found = Diagnostic::error("agent.definition", self.source, message)
            .at(self.text, Span { start: at, end: at });
        found.help = help;
        self.list.push(found);
    }

    /// Returns the value if there are no errors.
    pub(super) fn finish<T>(self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.list.is_empty() {
            Ok(value)
        } else {
            Err(self.list)
        }
    }
}

/// Fields of an object by camelCase name.
pub(super) struct ObjectFields<'n> {
    /// Prefix of field names in messages: empty, or `limits.`.
    prefix: &'static str,
    entries: Vec<(String, &'n MapEntry)>,
}

impl<'n> ObjectFields<'n> {
    /// Reads the fields of an object. Names may be camelCase or snake_case, and each may occur
    /// once. If `known` is given, other names are errors.
    pub(super) fn of(
        node: &'n Node,
        prefix: &'static str,
        known: Option<&[&str]>,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Self {
        let mut fields = ObjectFields {
            prefix,
            entries: Vec::new(),
        };
        let NodeData::Map(entries) = &node.data else {
            let what = prefix.trim_end_matches('.');
            let what = if what.is_empty() { "an agent" } else { what };
            findings.add(
                node.span.start,
                format!("{what}: expected an object, found {}", node.kind()),
                None,
            );
            return fields;
        };
        for entry in entries {
            let name = camel_case(entry.name());
            if let Some(known) = known.filter(|known| !known.contains(&name.as_str())) {
                unknown(prefix, entry, &name, known, findings);
            } else if fields.entries.iter().any(|(other, _)| *other == name) {
                let at = entry.key.span.start;
                findings.add(at, format!("{prefix}{name}: duplicate field"), None);
            } else {
                fields.entries.push((name, entry));
            }
        }
        fields
    }

    /// Returns a field; `null` counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        let mut entries = self.entries.iter();
        let (_, entry) = entries.find(|(other, _)| other == name)?;
        Some(&entry.value).filter(|value| !value.is_null())
    }

    /// Returns all fields by camelCase name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'n MapEntry)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), *entry))
    }

    pub(super) fn text(
        &self,
        name: &str,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Option<String> {
        let node = self.get(name)?;
        match node.as_str() {
            Some(text) => Some(text.to_owned()),
            None => self.expected("a string", name, node, findings),
        }
    }

    pub(super) fn flag(
        &self,
        name: &str,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Option<bool> {
        let node = self.get(name)?;
        match node.value() {
            Value::Bool(flag) => Some(flag),
            _ => self.expected("true or false", name, node, findings),
        }
    }

    /// Reads an integer of at least `least`.
    pub(super) fn count(
        &self,
        name: &str,
        least: u64,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Option<u64> {
        let node = self.get(name)?;
        let number = match node.value() {
            Value::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        match number.filter(|number| *number >= least) {
            Some(number) => Some(number),
            None => self.expected(
                &format!("an integer of at least {least}"),
                name,
                node,
                findings,
            ),
        }
    }

    /// Reads a duration in seconds, which may have a fraction.
    pub(super) fn seconds(
        &self,
        name: &str,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Option<Duration> {
        let node = self.get(name)?;
        let seconds = number(node);
        match seconds.filter(|seconds| *seconds > 0.0 && *seconds <= MOST_SECONDS) {
            Some(seconds) => Some(Duration::from_secs_f64(seconds)),
            None => self.expected(
                "seconds, more than 0 and at most 86400",
                name,
                node,
                findings,
            ),
        }
    }

    /// Reads a list. A single value counts as a list of one.
    pub(super) fn list(&self, name: &str) -> Vec<&'n Node> {
        match self.get(name) {
            None => Vec::new(),
            Some(node) => match &node.data {
                NodeData::List(items) => items.iter().collect(),
                _ => vec![node],
            },
        }
    }

    /// Adds an error about an unexpected type.
    pub(super) fn expected<T>(
        &self,
        what: &str,
        name: &str,
        node: &Node,
        findings: &mut DefinitionDiagnostics<'_>,
    ) -> Option<T> {
        let message = format!(
            "{}{name}: expected {what}, found {}",
            self.prefix,
            shown(node)
        );
        findings.add(node.span.start, message, None);
        None
    }
}

/// Returns the source text of a number, or the type name of another node.
fn shown(node: &Node) -> String {
    match number(node).and_then(|_| node.text()) {
        Some(written) => written.to_owned(),
        None => node.kind().to_owned(),
    }
}

/// Returns the number of a node.
#[expect(
    clippy::cast_precision_loss,
    reason = "the caller rejects seconds beyond 2^53"
)]
fn number(node: &Node) -> Option<f64> {
    match &node.data {
        NodeData::Scalar(scalar) => match scalar.value {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        },
        NodeData::List(_) | NodeData::Map(_) => None,
    }
}

fn unknown(
    prefix: &str,
    entry: &MapEntry,
    name: &str,
    known: &[&str],
    findings: &mut DefinitionDiagnostics<'_>,
) {
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("expected one of {}", known.join(", ")),
    };
    // Bounded, because the name comes from the file and could be very long.
    let key: String = entry.name().chars().take(80).collect();
    let at = entry.key.span.start;
    findings.add(at, format!("unknown field {prefix}{key}"), Some(help));
}

/// Converts `max_tool_calls` to `maxToolCalls`.
pub(super) fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut raise = false;
    for c in name.chars() {
        match c {
            // A leading underscore does not separate words, so it is preserved.
            '_' if !out.is_empty() => raise = true,
            _ if raise => {
                out.extend(c.to_uppercase());
                raise = false;
            }
            _ => out.push(c),
        }
    }
    out
}
