//! Values for a template whose kinds nobody needs to guess: what a loop runs
//! over is a list, what is declared is of its kind, and everything else is text.

use indexmap::IndexMap;
use quillet_core::{Map, Value};
use quillet_template::convert::{Condition, Node, NodeKind, Path, Scope, Shape, Start};

/// A value in the making.
#[derive(Debug, Default)]
enum Sample {
    #[default]
    Unset,
    Leaf(Value),
    List(Box<Sample>),
    Object(IndexMap<String, Sample>),
}

/// One step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item,
}

struct Sampling<'s> {
    root: Sample,
    scope: Scope<'s>,
    /// Where the items of the loops around stand.
    items: Vec<Vec<Step>>,
}

/// Variables for everything that a tree mentions.
pub(super) fn variables<'n>(trees: impl Iterator<Item = &'n [Node]>, shapes: &Shape) -> Map {
    let mut sampling = Sampling {
        root: Sample::Object(IndexMap::new()),
        scope: Scope::new(shapes),
        items: Vec::new(),
    };
    trees.for_each(|nodes| sampling.nodes(nodes));
    match sampling.root.into_value("") {
        Value::Map(map) => map,
        _ => Map::default(),
    }
}

impl Sampling<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match &node.kind {
                NodeKind::Print(path) => self.leaf(path),
                NodeKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    self.asked(condition);
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
                    item.push(Step::Item);
                    self.root.at(&item);
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

    /// What is compared with a text is that text.
    fn asked(&mut self, condition: &Condition) {
        match &condition.equals {
            Some(text) => self.put(&condition.path, text.as_str().into()),
            None => self.leaf(&condition.path),
        }
    }

    fn leaf(&mut self, path: &Path) {
        let value = match self.scope.shape(path) {
            Shape::Integer => Value::Int(7),
            Shape::Number => Value::Float(0.5),
            Shape::Boolean => Value::Bool(true),
            // It neither begins nor ends with white space: some kinds of files
            // trim messages, and others do not.
            _ => format!("{} <b> & \"'{{}} {{{{x}}}}\nuser:\n.", path.keys.join(".")).into(),
        };
        self.put(path, value);
    }

    fn put(&mut self, path: &Path, value: Value) {
        if matches!(path.start, Start::Loop(..)) {
            return;
        }
        let steps = self.steps(path);
        let place = self.root.at(&steps);
        if matches!(place, Sample::Unset) {
            *place = Sample::Leaf(value);
        }
    }

    fn steps(&self, path: &Path) -> Vec<Step> {
        let start = match path.start {
            Start::Root | Start::Loop(..) => None,
            Start::Item(depth) => self.items.get(depth),
        };
        let keys = path.keys.iter().cloned().map(Step::Key);
        start
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .chain(keys)
            .collect()
    }
}

impl Sample {
    /// What stands there; it is made if nothing does.
    fn at(&mut self, steps: &[Step]) -> &mut Sample {
        let Some((step, rest)) = steps.split_first() else {
            return self;
        };
        match step {
            Step::Item => {
                if !matches!(self, Sample::List(_)) {
                    *self = Sample::List(Box::default());
                }
            }
            Step::Key(_) => {
                if !matches!(self, Sample::Object(_)) {
                    *self = Sample::Object(IndexMap::new());
                }
            }
        }
        match (self, step) {
            (Sample::List(item), _) => item.at(rest),
            (Sample::Object(fields), Step::Key(key)) => {
                fields.entry(key.clone()).or_default().at(rest)
            }
            (other, _) => other,
        }
    }

    fn into_value(self, name: &str) -> Value {
        match self {
            Sample::Unset => format!("{name}.").into(),
            Sample::Leaf(value) => value,
            Sample::List(item) => {
                let item = item.into_value(name);
                Value::from(vec![item.clone(), item])
            }
            Sample::Object(fields) => {
                let fields = fields.into_iter();
                let field = |(name, sample): (String, Sample)| {
                    let value = sample.into_value(&name);
                    (name, value)
                };
                Value::Map(fields.map(field).collect())
            }
        }
    }
}
