//! Sample values for a template: lists for loops, values of the declared type for declared
//! variables, and text for all others.

use indexmap::IndexMap;
use quillet_core::{Map, Value};
use quillet_template::convert::{
    NodeKind, PathStart, TreeCondition, TreeNode, TypeScope, VariablePath, VariableType,
};

/// A value under construction.
#[derive(Debug, Default)]
enum SampleValue {
    #[default]
    Unset,
    Leaf(Value),
    List(Box<SampleValue>),
    Object(IndexMap<String, SampleValue>),
}

/// One segment of a path into a value.
#[derive(Clone, Debug)]
enum PathStep {
    Key(String),
    Item,
}

struct Sampling<'s> {
    root: SampleValue,
    scope: TypeScope<'s>,
    /// Paths of the loop items in the enclosing loops.
    items: Vec<Vec<PathStep>>,
}

/// Creates variables for every path that a tree references.
pub(super) fn variables<'n>(
    trees: impl Iterator<Item = &'n [TreeNode]>,
    shapes: &VariableType,
) -> Map {
    let mut sampling = Sampling {
        root: SampleValue::Object(IndexMap::new()),
        scope: TypeScope::new(shapes),
        items: Vec::new(),
    };
    trees.for_each(|nodes| sampling.nodes(nodes));
    match sampling.root.into_value("") {
        Value::Map(map) => map,
        _ => Map::default(),
    }
}

impl Sampling<'_> {
    fn nodes(&mut self, nodes: &[TreeNode]) {
        for node in nodes {
            match &node.kind {
                NodeKind::Print(path) => self.leaf(path),
                NodeKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    self.visit_condition(condition);
                    self.nodes(then);
                    self.nodes(otherwise);
                }
                NodeKind::For {
                    list,
                    body,
                    otherwise,
                    ..
                } => {
                    let mut item = self.steps(list);
                    item.push(PathStep::Item);
                    // The list must exist even if the body prints nothing of its items.
                    self.root.value_at_path(&item);
                    self.items.push(item);
                    self.scope.enter(list);
                    self.nodes(body);
                    self.scope.leave();
                    self.items.pop();
                    self.nodes(otherwise);
                }
                NodeKind::Text(_)
                | NodeKind::Call(_)
                | NodeKind::Comment(_)
                | NodeKind::Role(_) => {}
            }
        }
    }

    /// A value that is compared with a text gets that text, so that the condition holds.
    fn visit_condition(&mut self, condition: &TreeCondition) {
        match &condition.equals {
            Some(text) => self.put(&condition.path, text.as_str().into()),
            None => self.leaf(&condition.path),
        }
    }

    fn leaf(&mut self, path: &VariablePath) {
        let value = match self.scope.shape(path) {
            VariableType::Integer => Value::Int(7),
            VariableType::Number => Value::Float(0.5),
            VariableType::Boolean => Value::Bool(true),
            // The text has no leading or trailing white space, because some file formats trim
            // messages and others do not.
            _ => format!("{} <b> & \"'{{}} {{{{x}}}}\nuser:\n.", path.keys.join(".")).into(),
        };
        self.put(path, value);
    }

    fn put(&mut self, path: &VariablePath, value: Value) {
        if matches!(path.start, PathStart::Loop(..)) {
            return;
        }
        let steps = self.steps(path);
        let place = self.root.value_at_path(&steps);
        if matches!(place, SampleValue::Unset) {
            *place = SampleValue::Leaf(value);
        }
    }

    fn steps(&self, path: &VariablePath) -> Vec<PathStep> {
        let start = match path.start {
            PathStart::Root | PathStart::Loop(..) => None,
            PathStart::Item(depth) => self.items.get(depth),
        };
        let keys = path.keys.iter().cloned().map(PathStep::Key);
        start
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .chain(keys)
            .collect()
    }
}

impl SampleValue {
    /// Returns the value at a path and creates it if it is missing.
    fn value_at_path(&mut self, steps: &[PathStep]) -> &mut SampleValue {
        let Some((step, rest)) = steps.split_first() else {
            return self;
        };
        match step {
            PathStep::Item => {
                if !matches!(self, SampleValue::List(_)) {
                    *self = SampleValue::List(Box::default());
                }
            }
            PathStep::Key(_) => {
                if !matches!(self, SampleValue::Object(_)) {
                    *self = SampleValue::Object(IndexMap::new());
                }
            }
        }
        match (self, step) {
            (SampleValue::List(item), _) => item.value_at_path(rest),
            (SampleValue::Object(fields), PathStep::Key(key)) => {
                fields.entry(key.clone()).or_default().value_at_path(rest)
            }
            (other, _) => other,
        }
    }

    fn into_value(self, name: &str) -> Value {
        match self {
            SampleValue::Unset => format!("{name}.").into(),
            SampleValue::Leaf(value) => value,
            SampleValue::List(item) => {
                let item = item.into_value(name);
                // Two items, so that a difference between iterations shows.
                Value::from(vec![item.clone(), item])
            }
            SampleValue::Object(fields) => {
                let fields = fields.into_iter();
                let field = |(name, sample): (String, SampleValue)| {
                    let value = sample.into_value(&name);
                    (name, value)
                };
                Value::Map(fields.map(field).collect())
            }
        }
    }
}
