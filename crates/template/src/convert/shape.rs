//! Kinds of values that are known before a render.

use quillet_core::Value;

use super::tree::{LoopPosition, PathStart, VariablePath};

/// Declared kind of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum VariableType {
    /// An undeclared kind.
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
    /// A list with the kind of its items.
    List(Box<VariableType>),
    /// An object with the kinds of its fields.
    Object(Vec<(String, VariableType)>),
}

impl VariableType {
    /// Returns the kind that a JSON Schema declares with `type`, `properties`, `items`, or an
    /// `enum` of strings. For other schemas, the kind is unknown.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Self {
        let at = |key: &str| schema.as_map().and_then(|map| map.get(key));
        match at("type").and_then(Value::as_str) {
            Some("string") => VariableType::Text,
            Some("integer") => VariableType::Integer,
            Some("number") => VariableType::Number,
            Some("boolean") => VariableType::Boolean,
            Some("array") => {
                let items = at("items").map(VariableType::of_schema).unwrap_or_default();
                VariableType::List(Box::new(items))
            }
            Some("object") => VariableType::Object(fields(at("properties"))),
            Some(_) => VariableType::Unknown,
            None if at("properties").is_some() => VariableType::Object(fields(at("properties"))),
            None => of_choices(at("enum")),
        }
    }

    /// Returns the kind with this name, as spelled in JSON Schema and on the command line.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::convert::VariableType;
    ///
    /// assert_eq!(VariableType::of_name("string"), Some(VariableType::Text));
    /// assert_eq!(VariableType::of_name("varchar"), None);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "text" | "string" => VariableType::Text,
            "integer" => VariableType::Integer,
            "number" => VariableType::Number,
            "boolean" => VariableType::Boolean,
            "list" | "array" => VariableType::List(Box::default()),
            "object" => VariableType::Object(Vec::new()),
            _ => return None,
        })
    }

    /// Declares the kind of the value at a path of fields. For example, `items[].title` is the path
    /// of each item's title.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::convert::VariableType;
    ///
    /// let mut variables = VariableType::default();
    /// variables.declare("books[].title", VariableType::Text);
    /// assert_eq!(variables.field("books").items().field("title"), &VariableType::Text);
    /// ```
    pub fn declare(&mut self, path: &str, shape: VariableType) {
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

    pub(super) fn field_mut(&mut self, name: &str) -> &mut VariableType {
        if !matches!(self, VariableType::Object(_)) {
            *self = VariableType::Object(Vec::new());
        }
        let VariableType::Object(fields) = self else {
            return self;
        };
        let at = match fields.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                fields.push((name.to_owned(), VariableType::Unknown));
                fields.len() - 1
            }
        };
        &mut fields[at].1
    }

    pub(super) fn items_mut(&mut self) -> &mut VariableType {
        if !matches!(self, VariableType::List(_)) {
            *self = VariableType::List(Box::default());
        }
        match self {
            VariableType::List(items) => items,
            other => other,
        }
    }

    /// Returns the kind of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> &VariableType {
        let VariableType::Object(fields) = self else {
            return &VariableType::Unknown;
        };
        let found = fields.iter().find(|(known, _)| known == name);
        found.map_or(&VariableType::Unknown, |(_, shape)| shape)
    }

    /// Returns whether this kind is an object that is declared to have the field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        matches!(self, VariableType::Object(fields) if fields.iter().any(|(known, _)| known == name))
    }

    /// Returns the kind of a list's items.
    #[must_use]
    pub fn items(&self) -> &VariableType {
        match self {
            VariableType::List(items) => items,
            _ => &VariableType::Unknown,
        }
    }
}

fn fields(properties: Option<&Value>) -> Vec<(String, VariableType)> {
    let Some(Value::Map(properties)) = properties else {
        return Vec::new();
    };
    let field = |(name, schema): (&std::sync::Arc<str>, &Value)| {
        (name.to_string(), VariableType::of_schema(schema))
    };
    properties.iter().map(field).collect()
}

fn of_choices(choices: Option<&Value>) -> VariableType {
    match choices {
        Some(Value::List(list))
            if !list.is_empty() && list.iter().all(|one| one.as_str().is_some()) =>
        {
            VariableType::Text
        }
        _ => VariableType::Unknown,
    }
}

/// Kinds of all names that are visible at one position of a tree.
#[derive(Clone, Debug)]
pub struct TypeScope<'s> {
    declared: Frames<'s>,
    /// Lists inferred from loops, for undeclared variables.
    lists: Frames<'s>,
}

/// Kinds of the variables, and of the items of the enclosing loops.
#[derive(Clone, Debug)]
struct Frames<'s> {
    root: &'s VariableType,
    items: Vec<&'s VariableType>,
}

impl<'s> Frames<'s> {
    fn new(root: &'s VariableType) -> Self {
        Frames {
            root,
            items: Vec::new(),
        }
    }

    fn shape(&self, path: &VariablePath) -> &'s VariableType {
        let start = match path.start {
            PathStart::Root => self.root,
            PathStart::Item(depth) => self
                .items
                .get(depth)
                .copied()
                .unwrap_or(&VariableType::Unknown),
            PathStart::Loop(_, LoopPosition::Index | LoopPosition::Number) => {
                &VariableType::Integer
            }
            PathStart::Loop(_, LoopPosition::First | LoopPosition::Last) => &VariableType::Boolean,
        };
        path.keys.iter().fold(start, |shape, key| shape.field(key))
    }

    fn enter(&mut self, list: &VariablePath) {
        let items = self.shape(list).items();
        self.items.push(items);
    }
}

impl<'s> TypeScope<'s> {
    /// Creates the scope outside all loops.
    #[must_use]
    pub fn new(root: &'s VariableType) -> Self {
        TypeScope::with_lists(root, &VariableType::Unknown)
    }

    /// Like [`TypeScope::new`], but with a list kind for undeclared variables in loops.
    pub(super) fn with_lists(root: &'s VariableType, lists: &'s VariableType) -> Self {
        TypeScope {
            declared: Frames::new(root),
            lists: Frames::new(lists),
        }
    }

    /// Returns the kind of the value at a path.
    #[must_use]
    pub fn shape(&self, path: &VariablePath) -> &'s VariableType {
        let declared = self.declared.shape(path);
        match self.lists.shape(path) {
            list @ VariableType::List(_) if *declared == VariableType::Unknown => list,
            _ => declared,
        }
    }

    /// Adds the scope of a loop over a list.
    pub fn enter(&mut self, list: &VariablePath) {
        self.declared.enter(list);
        self.lists.enter(list);
    }

    /// Removes the scope of the innermost loop.
    pub fn leave(&mut self) {
        self.declared.items.pop();
        self.lists.items.pop();
    }

    /// Returns the number of enclosing loops.
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
        let mut shape = VariableType::of_schema(&schema);
        shape.declare("m.flag", VariableType::Boolean);
        shape.declare("k[].n", VariableType::Number);
        let mut scope = TypeScope::new(&shape);
        let cases = [
            (VariablePath::root(&["n"]), VariableType::Integer),
            (VariablePath::root(&["c"]), VariableType::Text),
            (VariablePath::root(&["x"]), VariableType::Unknown),
            (VariablePath::root(&["none", "at"]), VariableType::Unknown),
            (VariablePath::root(&["m", "flag"]), VariableType::Boolean),
        ];
        for (path, expected) in cases {
            assert_eq!(scope.shape(&path), &expected, "{path:?}");
        }
        scope.enter(&VariablePath::root(&["l"]));
        scope.enter(&VariablePath::root(&["k"]));
        assert_eq!(
            scope.shape(&VariablePath::item(0, &["t"])),
            &VariableType::Text
        );
        assert_eq!(
            scope.shape(&VariablePath::item(1, &["n"])),
            &VariableType::Number
        );
    }
}
