//! Parses script text to a syntax tree: front matter, line rules, YAML, classification of items.
//!
//! Parsing always returns a script, which contains everything that is valid, together with all
//! errors. It does not check whether names exist.

mod blocks;
mod call;
mod function;
mod item;
mod layout;
mod lines;
mod located_scalar;
mod message;
mod misspelled_role;

use std::sync::Arc;

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{Duplicates, MappedText, Node, NodeData, Options, Reader, Tags, YamlProblem};

use crate::syntax::{
    CallExpr, FunctionDeclaration, Instruction, InstructionBlock, ItemKind, Script, ScriptSource,
};
pub(crate) use function::is_function;
use item::Classifier;
pub(crate) use layout::{LayoutLine, after_dashes, classified, wide_colon};
pub(crate) use lines::{LineGroup, PartKind, split};
use located_scalar::LocatedScalar;
pub(crate) use message::roles;

/// A parsed script and its problems.
#[derive(Clone, Debug)]
pub struct ParsedScript {
    /// The script. The script is complete if there are no errors.
    pub script: Script,
    /// Number of items at the top level of the file: instructions, separators and functions.
    pub items: usize,
    /// All problems, sorted by location; at most 100 diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedScript {
    /// Returns the script if there are no diagnostics.
    ///
    /// # Errors
    /// Returns all its diagnostics if there are any.
    pub fn finish(self) -> Result<Script, Vec<Diagnostic>> {
        if self.diagnostics.is_empty() {
            Ok(self.script)
        } else {
            Err(self.diagnostics)
        }
    }
}

/// Maximum number of diagnostics for one script.
const MOST_FINDINGS: usize = 100;

/// Size limits of a script. 10,000 messages are 30,000 values.
const OPTIONS: Options = Options {
    code: "script.syntax",
    most_nodes: 200_000,
    most_depth: 100,
    most_bytes: 8 << 20,
    tags: Tags::Keep,
    duplicates: Duplicates::Refuse,
};

/// Parses a script.
#[must_use]
pub fn read(source: Arc<ScriptSource>) -> ParsedScript {
    let (name, text) = (source.name.clone(), Arc::clone(&source.text));
    let mut yaml = Reader::new(&name, &text, OPTIONS);
    let split = split(&text);
    let config = config(&mut yaml, &text, split.front);
    let roles = roles(&config);
    let has_front_matter = split.front.is_some();
    let mut read = read_parts(yaml, source, config, has_front_matter, &split.parts, &roles);
    let room = MOST_FINDINGS.saturating_sub(read.diagnostics.len());
    let misspelt = misspelled_role::roles(&read.script, &roles);
    read.diagnostics.extend(misspelt.into_iter().take(room));
    read.diagnostics
        .sort_by_key(|found| found.span.map(|span| span.start));
    if let (None, Some(at)) = (split.front, lines::open_front_matter(&text)) {
        let message = "possibly unclosed front matter: these lines are read as messages";
        let finding = read
            .script
            .source
            .warning("script.front_matter", message, at);
        let finding = finding.help("close it with the line `---`");
        // Inserted first, because an unclosed front matter may explain the later errors.
        read.diagnostics.insert(0, finding);
    }
    read
}

/// Parses instructions without a front matter, for a script with these roles.
pub(crate) fn read_alone(text: &str, roles: &[String]) -> Result<Script, Vec<Diagnostic>> {
    let source = Arc::new(ScriptSource {
        name: String::new(),
        path: None,
        text: text.into(),
    });
    let yaml = Reader::new("", text, OPTIONS);
    let config = Node::new(Span::default(), NodeData::Map(Vec::new()));
    let parts = lines::parts(text, 0);
    read_parts(yaml, source, config, false, &parts, roles).finish()
}

/// Parses only a front matter. Returns `None` if it is invalid.
pub(crate) fn config_alone(text: &str) -> Option<Node> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let mut yaml = Reader::new("", text, OPTIONS);
    let node = config(&mut yaml, text, Some(whole));
    yaml.finish().is_empty().then_some(node)
}

fn read_parts(
    mut yaml: Reader<'_>,
    source: Arc<ScriptSource>,
    config: Node,
    has_front_matter: bool,
    parts: &[LineGroup],
    roles: &[String],
) -> ParsedScript {
    let text = Arc::clone(&source.text);
    let mut classifier = Classifier::new(&text);
    let mut body = Vec::new();
    let mut items = 0;
    for part in parts {
        items += read_part(&mut yaml, &mut classifier, roles, part, &mut body);
        // After the limits are exceeded, each further part would fail in the same way.
        if yaml.exhausted() {
            break;
        }
    }
    let functions = function::distinct(classifier.functions, &mut classifier.problems);
    for problem in classifier.problems {
        yaml.report(problem);
    }
    let mut diagnostics = yaml.finish();
    diagnostics.sort_by_key(|found| found.span.map(|span| span.start));
    ParsedScript {
        script: Script {
            config,
            has_front_matter,
            body: InstructionBlock { items: body },
            functions,
            source,
        },
        items,
        diagnostics,
    }
}

/// Returns a one-line chain in its canonical layout, and the offset after the line.
pub(crate) fn chain_line(file: &str, part: Span) -> Option<(String, usize)> {
    let (span, first) = lines::rows(file, part).next()?;
    let (dash, row) = match first.strip_prefix("- ") {
        Some(row) => ("- ", row.trim_start()),
        None => ("", first),
    };
    let text = call::uncommented(row);
    if !text.starts_with("->") {
        return None;
    }
    let comment = row.get(text.len()..)?.trim();
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let links = call::chain(LocatedScalar::raw(text, whole)).ok()?;
    let written = |link: &CallExpr| {
        text.get(link.span.start..link.span.end)
            .unwrap_or_default()
            .to_owned()
    };
    let links: Vec<String> = links.iter().map(written).collect();
    let line = format!("{dash}-> {} {comment}", links.join(" -> "));
    Some((line.trim_end().to_owned(), span.end))
}

/// Parses the front matter as a mapping.
fn config(yaml: &mut Reader<'_>, file: &str, front: Option<Span>) -> Node {
    let span = front.unwrap_or_default();
    let empty = Node::new(span, NodeData::Map(Vec::new()));
    let node = match yaml.read(&MappedText::of(file, span)) {
        Ok(node) => node,
        Err(problem) => {
            yaml.report(problem);
            None
        }
    };
    match node {
        Some(node) if matches!(node.data, NodeData::Map(_)) => node,
        Some(node) if !node.is_null() => {
            let message = format!(
                "front matter must be `key: value` lines, not {}",
                node.kind()
            );
            yaml.report(YamlProblem::new(node.span, message));
            empty
        }
        _ => empty,
    }
}

/// Parses the instructions of a part and returns the number of its items.
fn read_part(
    yaml: &mut Reader<'_>,
    classifier: &mut Classifier<'_>,
    roles: &[String],
    part: &LineGroup,
    body: &mut Vec<Instruction>,
) -> usize {
    let file = classifier.file();
    let span = LocatedScalar::raw(file, part.span).trim().whole;
    match part.kind {
        PartKind::Blank => return 0,
        PartKind::Separator { pin } => {
            let kind = ItemKind::Separator { pin };
            body.push(Instruction { span, kind });
            return 1;
        }
        PartKind::Instruction => {}
    }
    // Detected before the YAML parser runs, because it would split a call at `: ` or ` #` in its
    // arguments.
    if let Some(item) = classifier.line(part.span) {
        body.extend(item);
        return 1;
    }
    match read_yaml(yaml, file, part.span, roles) {
        Ok(Some(node)) => read_node(classifier, &node, body),
        Ok(None) => {
            yaml.report(
                YamlProblem::new(span, "YAML reads this as the end of the text")
                    .help("put it in quotes"),
            );
            0
        }
        Err(problem) => {
            yaml.report(problem);
            0
        }
    }
}

/// Converts the items of a list, or a single node. A flow list `[…]` is a single node.
fn read_node(classifier: &mut Classifier<'_>, node: &Node, body: &mut Vec<Instruction>) -> usize {
    match &node.data {
        NodeData::List(nodes) if !written_in_brackets(node, classifier.file()) => {
            body.extend(classifier.block(node).items);
            nodes.iter().filter(|node| !node.is_null()).count()
        }
        _ => {
            body.extend(classifier.item(node));
            usize::from(!node.is_null())
        }
    }
}

fn written_in_brackets(node: &Node, file: &str) -> bool {
    file.get(node.span.start..)
        .is_some_and(|written| written.starts_with('['))
}

/// Parses a part unchanged. If that fails, parses it with the keys below `$for: 3` moved to its
/// column.
fn read_yaml(
    yaml: &mut Reader<'_>,
    file: &str,
    part: Span,
    roles: &[String],
) -> Result<Option<Node>, YamlProblem> {
    let first = match yaml.read(&layout::written(file, part, roles)) {
        Ok(node) => return Ok(node),
        Err(problem) => problem,
    };
    match layout::beside(file, part, roles) {
        Some(piece) if !yaml.exhausted() => yaml.read(&piece),
        // The first error refers to the text as the author wrote it.
        _ => Err(first),
    }
}

/// Converts a YAML node to an instruction, for values such as `$if: {$isOK: true}` or
/// `then: $break`. `null` is an empty block.
///
/// # Errors
/// The node is invalid, or declares a function.
pub fn item(node: &Node, source: &Arc<ScriptSource>) -> Result<Instruction, Vec<Diagnostic>> {
    let mut items = block(node, source)?.items;
    let single = items.len() == 1 && !matches!(node.data, NodeData::List(_));
    match items.pop().filter(|_| single) {
        Some(item) => Ok(item),
        None => Ok(Instruction {
            span: node.span,
            kind: ItemKind::Block(block(node, source)?),
        }),
    }
}

/// Converts a YAML node to instructions: one for each item of a list, or a single instruction.
///
/// # Errors
/// Returns the same errors as [`item`].
pub fn block(node: &Node, source: &Arc<ScriptSource>) -> Result<InstructionBlock, Vec<Diagnostic>> {
    let mut classifier = Classifier::new(&source.text);
    let block = classifier.block(node);
    classifier.finish(source)?;
    Ok(block)
}

/// Converts a string to an instruction. `span` is the location of the string in the file.
///
/// # Errors
/// Returns the same errors as [`item`].
pub fn text_item(
    text: &str,
    span: Span,
    source: &Arc<ScriptSource>,
) -> Result<Instruction, Vec<Diagnostic>> {
    item(
        &Node::new(span, NodeData::Scalar(item::words(text))),
        source,
    )
}

/// Parses a function that is a value, as in `callback: !fn |- …`. Returns `None` if the value is
/// not a function.
///
/// # Errors
/// A `!fn` has no code.
pub fn function(
    node: &Node,
    source: &Arc<ScriptSource>,
) -> Result<Option<FunctionDeclaration>, Vec<Diagnostic>> {
    if !function::is_function(node) {
        return Ok(None);
    }
    let read = function::function(node, &source.text);
    read.map(Some)
        .map_err(|problem| report(source, vec![problem]))
}

fn report(source: &ScriptSource, problems: Vec<YamlProblem>) -> Vec<Diagnostic> {
    let mut reader = Reader::new(&source.name, &source.text, OPTIONS);
    for problem in problems {
        reader.report(problem);
    }
    reader.finish()
}
