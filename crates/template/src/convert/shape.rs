//! What is known of the kinds of values before a render.

use quillet_core::Value;

use super::tree::{Knows, Path, Start};

/// The kind of a value, as far as it is declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Nobody says.
    #[default]
    Unknown,
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list, and the kind of its items.
    List(Box<Shape>),
    /// An object, and the kinds of its fields.
    Object(Vec<(String, Shape)>),
}

impl Shape {
    /// The kind that a JSON Schema declares: `type`, `properties`, `items`, and
    /// `enum` of texts. Anything else is unknown.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Self {
        let at = |key: &str| schema.as_map().and_then(|map| map.get(key));
        match at("type").and_then(Value::as_str) {
            Some("string") => Shape::Text,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            Some("array") => {
                let items = at("items").map(Shape::of_schema).unwrap_or_default();
                Shape::List(Box::new(items))
            }
            Some("object") => Shape::Object(fields(at("properties"))),
            Some(_) => Shape::Unknown,
            None if at("properties").is_some() => Shape::Object(fields(at("properties"))),
            None => of_choices(at("enum")),
        }
    }

    /// The kind of that name, as JSON Schema and a command line write it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "text" | "string" => Shape::Text,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "boolean" => Shape::Boolean,
            "list" | "array" => Shape::List(Box::default()),
            "object" => Shape::Object(Vec::new()),
            _ => return None,
        })
    }

    /// Declares what a path of fields leads to; `items[].title` is the title of each item.
    pub fn declare(&mut self, path: &str, shape: Shape) {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let (name, items) = match first.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (first, false),
        };
        let mut target = self.field_mut(name);
        if items {
            target = target.items_mut();
        }
        match rest {
            "" => *target = shape,
            rest => target.declare(rest, shape),
        }
    }

    pub(super) fn field_mut(&mut self, name: &str) -> &mut Shape {
        if !matches!(self, Shape::Object(_)) {
            *self = Shape::Object(Vec::new());
        }
        let Shape::Object(fields) = self else {
            return self;
        };
        let at = match fields.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                fields.push((name.to_owned(), Shape::Unknown));
                fields.len() - 1
            }
        };
        &mut fields[at].1
    }

    pub(super) fn items_mut(&mut self) -> &mut Shape {
        if !matches!(self, Shape::List(_)) {
            *self = Shape::List(Box::default());
        }
        match self {
            Shape::List(items) => items,
            other => other,
        }
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> &Shape {
        let Shape::Object(fields) = self else {
            return &Shape::Unknown;
        };
        let found = fields.iter().find(|(known, _)| known == name);
        found.map_or(&Shape::Unknown, |(_, shape)| shape)
    }

    /// Whether an object is declared to have that field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        matches!(self, Shape::Object(fields) if fields.iter().any(|(known, _)| known == name))
    }

    /// The items of a list.
    #[must_use]
    pub fn items(&self) -> &Shape {
        match self {
            Shape::List(items) => items,
            _ => &Shape::Unknown,
        }
    }
}

fn fields(properties: Option<&Value>) -> Vec<(String, Shape)> {
    let Some(Value::Map(properties)) = properties else {
        return Vec::new();
    };
    let field = |(name, schema): (&std::sync::Arc<str>, &Value)| {
        (name.to_string(), Shape::of_schema(schema))
    };
    properties.iter().map(field).collect()
}

fn of_choices(choices: Option<&Value>) -> Shape {
    match choices {
        Some(Value::List(list))
            if !list.is_empty() && list.iter().all(|one| one.as_str().is_some()) =>
        {
            Shape::Text
        }
        _ => Shape::Unknown,
    }
}

/// The kinds of everything that a name can mean at one place of a tree.
#[derive(Clone, Debug)]
pub struct Scope<'s> {
    declared: Frames<'s>,
    /// What loops run over, for what nobody declares.
    lists: Frames<'s>,
}

/// Kinds of the variables, and of the items of the loops around.
#[derive(Clone, Debug)]
struct Frames<'s> {
    root: &'s Shape,
    items: Vec<&'s Shape>,
}

impl<'s> Frames<'s> {
    fn new(root: &'s Shape) -> Self {
        Frames {
            root,
            items: Vec::new(),
        }
    }

    fn shape(&self, path: &Path) -> &'s Shape {
        let start = match path.start {
            Start::Root => self.root,
            Start::Item(depth) => self.items.get(depth).copied().unwrap_or(&Shape::Unknown),
            Start::Loop(_, Knows::Index | Knows::Number) => &Shape::Integer,
            Start::Loop(_, Knows::First | Knows::Last) => &Shape::Boolean,
        };
        path.keys.iter().fold(start, |shape, key| shape.field(key))
    }

    fn enter(&mut self, list: &Path) {
        let items = self.shape(list).items();
        self.items.push(items);
    }
}

impl<'s> Scope<'s> {
    /// Outside of every loop.
    #[must_use]
    pub fn new(root: &'s Shape) -> Self {
        Scope::with_lists(root, &Shape::Unknown)
    }

    /// The same where some of what nobody declares is known to be a list.
    pub(super) fn with_lists(root: &'s Shape, lists: &'s Shape) -> Self {
        Scope {
            declared: Frames::new(root),
            lists: Frames::new(lists),
        }
    }

    /// The kind of a path.
    #[must_use]
    pub fn shape(&self, path: &Path) -> &'s Shape {
        let declared = self.declared.shape(path);
        match self.lists.shape(path) {
            list @ Shape::List(_) if *declared == Shape::Unknown => list,
            _ => declared,
        }
    }

    /// Goes into a loop over a list.
    pub fn enter(&mut self, list: &Path) {
        self.declared.enter(list);
        self.lists.enter(list);
    }

    /// Leaves the innermost loop.
    pub fn leave(&mut self) {
        self.declared.items.pop();
        self.lists.items.pop();
    }

    /// How many loops are around.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.declared.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_and_declarations() {
        let schema = quillet_core::json::parse(
            r#"{"type":"object","properties":{"n":{"type":"integer"},"c":{"enum":["a","b"]},"x":{},
            "l":{"type":"array","items":{"properties":{"t":{"type":"string"}}}}}}"#,
        )
        .unwrap();
        let mut shape = Shape::of_schema(&schema);
        shape.declare("m.flag", Shape::Boolean);
        shape.declare("k[].n", Shape::Number);
        let mut scope = Scope::new(&shape);
        let cases = [
            (Path::root(&["n"]), Shape::Integer),
            (Path::root(&["c"]), Shape::Text),
            (Path::root(&["x"]), Shape::Unknown),
            (Path::root(&["none", "at"]), Shape::Unknown),
            (Path::root(&["m", "flag"]), Shape::Boolean),
        ];
        for (path, expected) in cases {
            assert_eq!(scope.shape(&path), &expected, "{path:?}");
        }
        scope.enter(&Path::root(&["l"]));
        scope.enter(&Path::root(&["k"]));
        assert_eq!(scope.shape(&Path::item(0, &["t"])), &Shape::Text);
        assert_eq!(scope.shape(&Path::item(1, &["n"])), &Shape::Number);
    }
}
