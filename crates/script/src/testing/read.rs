//! Converts the nodes of a fixture file to tests.

use std::sync::Arc;

use quillet_core::value::MapTable;
use quillet_core::{Diagnostic, Map, Span, Value, nearest};
use quillet_template::TemplateFactory;
use quillet_yaml::{MapEntry, Node, NodeData};

use super::answers;
use super::expect;
use super::fixture::{Answers, Expectation, Fixture, TestCase};
use super::variables::Variables;
use crate::run::ScriptInput;
use crate::syntax::ScriptSource;

/// Keys of a test and of the front matter. Any other key is a variable.
pub(super) const KEYS: [&str; 16] = [
    "cassette",
    "checkSchema",
    "expect",
    "input",
    "not",
    "only",
    "output",
    "outputSchema",
    "parameters",
    "replies",
    "script",
    "scripts",
    "seed",
    "skip",
    "strict",
    "title",
];

/// Keys of the reference implementation's fixtures that are not supported.
const UNSUPPORTED: [&str; 13] = [
    "allowOperatorOverride",
    "autoConfidence",
    "diff",
    "diffPermissive",
    "disableHeuristicSchema",
    "maxScore",
    "operators",
    "passScore",
    "scoring",
    "toolTester",
    "tools",
    "totalUnassignedWeight",
    "unassignedWeight",
];

/// Parses the tests of a fixture.
///
/// # Errors
/// Returns all errors in it, with locations.
pub(super) async fn fixture(
    source: Arc<ScriptSource>,
    front: Option<Node>,
    body: Option<&Node>,
    templates: &TemplateFactory,
) -> Result<Fixture, Vec<Diagnostic>> {
    let mut reader = FixtureReader {
        source: &source,
        templates,
        front: front.as_ref().and_then(Node::entries).unwrap_or_default(),
        found: Vec::new(),
    };
    reader.look_at_front(front.as_ref());
    let scripts = reader.scripts();
    let mut cases = Vec::new();
    for (number, item) in (1..).zip(reader.items(body)) {
        cases.push(reader.case(number, item).await);
    }
    let (errors, warnings): (Vec<_>, Vec<_>) = reader
        .found
        .into_iter()
        .partition(|found| found.severity == quillet_core::Severity::Error);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Fixture {
        source: source.clone(),
        scripts,
        cases,
        warnings,
    })
}

struct FixtureReader<'a> {
    source: &'a ScriptSource,
    templates: &'a TemplateFactory,
    front: &'a [MapEntry],
    found: Vec<Diagnostic>,
}

impl<'a> FixtureReader<'a> {
    fn error(&mut self, message: impl Into<String>, at: Span) {
        let found = self.source.error("test.fixture", message, at);
        self.found.push(found);
    }

    fn look_at_front(&mut self, front: Option<&Node>) {
        if let Some(front) = front
            && front.entries().is_none()
            && !front.is_null()
        {
            let message = format!("the front matter must be an object, not {}", front.kind());
            self.error(message, front.span);
        }
        self.look_at_keys(self.front);
    }

    /// Warns about unsupported keys and probable misspellings.
    fn look_at_keys(&mut self, entries: &[MapEntry]) {
        for entry in entries {
            let name = entry.name();
            let at = entry.key.span;
            if UNSUPPORTED.contains(&name) {
                let message = format!("{name} is not supported yet and has no effect");
                let found = self.source.warning("test.unsupported", message, at);
                self.found.push(found);
            } else if !KEYS.contains(&name)
                // Short names resemble too many keys to count as typos.
                && name.chars().count() > 3
                && let Some(near) = nearest(name, KEYS)
            {
                let message = format!("{name} is read as a template variable");
                let found = self.source.warning("test.fixture", message, at);
                self.found.push(found.help(format!("did you mean {near}?")));
            }
        }
    }

    fn scripts(&mut self) -> Vec<String> {
        let front = self.front;
        let named = front
            .iter()
            .find(|entry| matches!(entry.name(), "script" | "scripts"));
        let Some(entry) = named else {
            return Vec::new();
        };
        let nodes = match entry.value.items() {
            Some(items) => items,
            None => std::slice::from_ref(&entry.value),
        };
        let names = nodes.iter().filter_map(Node::text).map(str::to_owned);
        names.collect()
    }

    fn items<'b>(&mut self, body: Option<&'b Node>) -> &'b [Node] {
        let Some(body) = body else { return &[] };
        match &body.data {
            NodeData::List(items) => items,
            _ if body.is_null() => &[],
            _ => {
                let message = format!("a fixture must be a list of tests, not {}", body.kind());
                self.error(message, body.span);
                &[]
            }
        }
    }

    async fn case(&mut self, number: usize, item: &Node) -> TestCase {
        // A test that consists only of an input needs no key.
        let entries = item.entries().unwrap_or_default();
        self.look_at_keys(entries);
        let fields = TestFields {
            front: self.front,
            entries,
        };
        let own = self.variables(fields).await;
        let input = match (item.entries(), fields.get("input")) {
            (None, _) => Some(self.fill(item, &own).await),
            (_, Some(node)) => Some(self.fill(&node.clone(), &own).await),
            (_, None) => None,
        };
        let input = input.map_or(ScriptInput::None, |node| input_of(&node));
        let variables = with_input(&own, &input);
        let strict = self.flag(fields, "strict");
        let mut case = TestCase {
            number,
            title: TestCase::title_of(&input),
            span: item.span,
            script: None,
            skip: self.flag_of(entries, "skip"),
            only: self.flag_of(entries, "only"),
            input,
            parameters: Map::default(),
            seed: None,
            answers: Answers::Model,
            own_replies: fields.own("replies").map(|node| node.span),
            wants_output: fields.get("output").is_some(),
            strict,
            expectations: Vec::new(),
            variables,
        };
        self.settings(&mut case, fields).await;
        case.answers = self.answers(&case, fields).await;
        case.expectations = self.expectations(&case, fields).await;
        if case.expectations.is_empty() {
            let message = "this test expects nothing: it passes whenever the script finishes";
            let found = self.source.warning("test.fixture", message, item.span);
            self.found.push(found.help("add output: or expect:"));
        }
        case
    }

    async fn settings(&mut self, case: &mut TestCase, fields: TestFields<'_>) {
        if let Some(title) = fields.own("title") {
            let title = self.fill(title, &case.variables).await;
            case.title = title.text().unwrap_or_default().to_owned();
        }
        let script = fields.own("script").and_then(Node::text);
        case.script = script.map(str::to_owned);
        if let Some(node) = fields.get("parameters") {
            let filled = self.fill(node, &case.variables).await;
            case.parameters = filled.value().as_map().cloned().unwrap_or_default();
        }
        if let Some(node) = fields.get("seed") {
            match node.value() {
                Value::Int(seed) if seed >= 0 => case.seed = u64::try_from(seed).ok(),
                other => {
                    let message =
                        format!("seed must be a whole number from 0, not {}", other.kind());
                    self.error(message, node.span);
                }
            }
        }
    }

    async fn fill(&mut self, node: &Node, values: &Map) -> Node {
        let variables = Variables {
            source: self.source,
            templates: self.templates,
            values,
        };
        variables.fill(node, &mut self.found).await
    }

    /// Returns the variables of the front matter, overridden by those of the test.
    async fn variables(&mut self, fields: TestFields<'_>) -> Map {
        let mut table = MapTable::default();
        for entry in fields.front.iter().chain(fields.entries) {
            let name = entry.name();
            if KEYS.contains(&name) || UNSUPPORTED.contains(&name) {
                continue;
            }
            // A variable may use the previous ones, so each variable is rendered with those.
            let so_far = Map::new(table.clone());
            let value = self.fill(&entry.value, &so_far).await.value();
            table.insert(name.into(), value);
        }
        Map::new(table)
    }

    async fn answers(&mut self, case: &TestCase, fields: TestFields<'_>) -> Answers {
        let replies = fields.own("replies");
        if let Some(node) = replies.or_else(|| fields.unless_own("cassette", "replies")) {
            let filled = self.fill(node, &case.variables).await;
            return Answers::Replies(answers::read(self.source, &filled, &mut self.found));
        }
        match fields.get("cassette").and_then(Node::text) {
            Some(folder) => Answers::Cassette(folder.to_owned()),
            None => Answers::Model,
        }
    }

    async fn expectations(&mut self, case: &TestCase, fields: TestFields<'_>) -> Vec<Expectation> {
        let mut found = Vec::new();
        let mut reader = expect::Expectations::new(self.source, case.number);
        let is_negated = self.flag(fields, "not");
        if let Some(node) = fields.get("output") {
            let node = self.fill(node, &case.variables).await;
            reader.output(&node, is_negated);
        }
        let checks_schema = match fields.get("checkSchema").map(Node::value) {
            Some(Value::Bool(checks)) => checks,
            _ => true,
        };
        if let Some(node) = fields.get("outputSchema").filter(|_| checks_schema) {
            reader.schema(node);
        }
        for entry in fields.all("expect") {
            let node = self.fill(&entry.value, &case.variables).await;
            reader.all(&node);
        }
        found.append(&mut reader.found);
        self.found.append(&mut found);
        reader.expectations
    }

    fn flag(&mut self, fields: TestFields<'_>, name: &str) -> bool {
        let own = fields.entries.iter().any(|entry| entry.name() == name);
        if own {
            self.flag_of(fields.entries, name)
        } else {
            self.flag_of(fields.front, name)
        }
    }

    fn flag_of(&mut self, entries: &[MapEntry], name: &str) -> bool {
        let Some(entry) = entries.iter().find(|entry| entry.name() == name) else {
            return false;
        };
        match entry.value.value() {
            Value::Bool(flag) => flag,
            Value::Null => false,
            other => {
                let message = format!("{name} must be true or false, not {}", other.kind());
                self.error(message, entry.value.span);
                false
            }
        }
    }
}

/// The keys of a test, with those of the front matter as defaults.
#[derive(Clone, Copy)]
struct TestFields<'a> {
    front: &'a [MapEntry],
    entries: &'a [MapEntry],
}

impl<'a> TestFields<'a> {
    fn own(self, name: &str) -> Option<&'a Node> {
        let found = self.entries.iter().find(|entry| entry.name() == name);
        found.map(|entry| &entry.value)
    }

    fn default(self, name: &str) -> Option<&'a Node> {
        let found = self.front.iter().find(|entry| entry.name() == name);
        found.map(|entry| &entry.value)
    }

    fn get(self, name: &str) -> Option<&'a Node> {
        self.own(name).or_else(|| self.default(name))
    }

    /// Returns the default of `name`, unless the test has its own key `other`.
    fn unless_own(self, other: &str, name: &str) -> Option<&'a Node> {
        match self.own(other) {
            Some(_) => None,
            None => self.default(name),
        }
    }

    /// Returns both the default and the test's own value.
    fn all(self, name: &str) -> impl Iterator<Item = &'a MapEntry> {
        let entries = self.front.iter().chain(self.entries);
        entries.filter(move |entry| entry.name() == name)
    }
}

fn input_of(node: &Node) -> ScriptInput {
    match node.value() {
        Value::Null => ScriptInput::None,
        Value::Map(map) => ScriptInput::Named(map),
        value => ScriptInput::Single(value),
    }
}

/// Returns the variables, the input under its name, and the fields of the input that no variable
/// hides.
fn with_input(own: &Map, input: &ScriptInput) -> Map {
    let mut table = MapTable::default();
    match input {
        ScriptInput::None => {}
        ScriptInput::Named(map) => {
            table.extend(map.iter().map(|(key, value)| (key.clone(), value.clone())));
            table.insert("input".into(), Value::Map(map.clone()));
        }
        ScriptInput::Single(value) => {
            table.insert("input".into(), value.clone());
        }
    }
    // Added last, so that a variable overrides an input field with the same name.
    table.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
    Map::new(table)
}
