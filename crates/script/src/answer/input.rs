//! The declaration of a script's inputs (`input`), and the binding of arguments to them.

use std::fmt;

use quillet_core::{Map, MapTable, Value, nearest};
use serde_json::{Map as JsonMap, Value as Json, json};

use super::coerce::coerce;
use super::schema::{AnswerSchema, normal};
use crate::run::ScriptInput;

/// The declared inputs of a script in order.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The inputs.
    pub fields: Vec<InputField>,
}

/// One input.
#[derive(Debug)]
pub struct InputField {
    /// Its name.
    pub name: String,
    /// Whether the input is required.
    pub required: bool,
    /// Its position among positional arguments, from 0.
    pub index: Option<usize>,
    /// Value if the caller passes none.
    pub default: Option<Value>,
    /// Its description.
    pub description: String,
    /// Example values for documentation.
    pub examples: Vec<Value>,
    /// Whether the input is hidden from models.
    pub hidden: bool,
    schema: AnswerSchema,
}

/// A problem with one input, or with the value given for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// The input.
    pub field: String,
    /// The problem in one sentence.
    pub message: String,
    /// How to fix the problem.
    pub help: Option<String>,
}

/// Arguments after binding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundArguments {
    /// Values by name, including defaults and names that match no input.
    pub values: Map,
    /// A single value that matches no input. It becomes a user message.
    pub rest: Option<Value>,
}

/// Keys of an input that are not part of JSON Schema.
const OWN: [&str; 9] = [
    "name", "required", "index", "default", "value", "example", "examples", "hidden", "title",
];

/// Common keywords of JSON Schema. Other keywords are accepted, but not used to detect typos.
const SCHEMA: [&str; 18] = [
    "type",
    "description",
    "enum",
    "const",
    "items",
    "properties",
    "additionalProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "anyOf",
    "oneOf",
    "required",
];

impl Inputs {
    /// Parses `input`: a list of names and objects, an object of inputs, or a single name.
    ///
    /// # Errors
    /// Returns all problems, each with the name of the input.
    pub fn read(input: &Value) -> Result<Inputs, Vec<InputProblem>> {
        let mut inputs = Inputs::default();
        let mut problems = Vec::new();
        match input {
            Value::Null => {}
            Value::Str(names) => {
                // Chinese input methods type the full-width comma, so both commas separate names.
                for name in names.split([',', '，']) {
                    inputs.add(name, &Value::Null, &mut problems);
                }
            }
            Value::Map(map) => inputs.add_all(map, &mut problems),
            Value::List(items) => {
                for item in items.iter() {
                    inputs.add_item(item, &mut problems);
                }
            }
            other => problems.push(problem(
                "input",
                format!("expected a list of names and objects, not {}", other.kind()),
            )),
        }
        inputs.check_indices(&mut problems);
        if problems.is_empty() {
            Ok(inputs)
        } else {
            Err(problems)
        }
    }

    fn add_item(&mut self, item: &Value, problems: &mut Vec<InputProblem>) {
        match item {
            Value::Str(name) => self.add(name, &Value::Null, problems),
            Value::Map(map) => match map.get("name") {
                // `{name: x}` without other keys declares an input called `name`. With further
                // keys, it describes an input called `x`.
                Some(Value::Str(name)) if map.len() > 1 => self.add(name, item, problems),
                _ => self.add_all(map, problems),
            },
            other => problems.push(problem(
                "input",
                format!(
                    "expected names and objects in the list, not {}",
                    other.kind()
                ),
            )),
        }
    }

    fn add_all(&mut self, map: &Map, problems: &mut Vec<InputProblem>) {
        for (name, about) in map {
            self.add(name, about, problems);
        }
    }

    /// Adds an input. A later declaration replaces an earlier one with the same name.
    fn add(&mut self, name: &str, about: &Value, problems: &mut Vec<InputProblem>) {
        let name = name.trim();
        if name.is_empty() {
            return;
        }
        match InputField::read(name, about) {
            Ok(field) => {
                // Inherited declarations come first, so a later one with the same name overrides
                // them.
                self.fields.retain(|other| other.name != field.name);
                self.fields.push(field);
            }
            Err(message) => problems.push(problem(name, message)),
        }
    }

    fn check_indices(&self, problems: &mut Vec<InputProblem>) {
        for (at, field) in self.fields.iter().enumerate() {
            let before = self.fields.iter().take(at);
            let same = |other: &&InputField| other.index == field.index;
            if let (Some(index), Some(other)) = (field.index, before.clone().find(same)) {
                let message = format!("duplicate index {index}: {} has the same index", other.name);
                problems.push(problem(&field.name, message));
            }
        }
    }

    /// Returns the input at a position.
    #[must_use]
    pub fn field_at_index(&self, index: usize) -> Option<&InputField> {
        self.fields.iter().find(|field| field.index == Some(index))
    }

    /// Returns the input with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&InputField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Binds arguments to the declared inputs. An input with a value in the front matter
    /// (`configured`) is not missing.
    ///
    /// # Errors
    /// Returns each missing or invalid input.
    pub fn bind(
        &self,
        input: ScriptInput,
        configured: &Map,
    ) -> Result<BoundArguments, Vec<InputProblem>> {
        let (given, rest) = self.named(input);
        // Names that match no input are included. `misspelt` reports probable typos.
        let mut values = given.to_table();
        let mut problems = Vec::new();
        for field in &self.fields {
            let value = given.get(&field.name);
            match field.bind(value, configured.get(&field.name)) {
                Ok(Some(value)) => {
                    values.insert(field.name.as_str().into(), value);
                }
                Ok(None) => {}
                Err(message) => problems.push(self.explain(field, message, &given)),
            }
        }
        if problems.is_empty() {
            Ok(BoundArguments {
                values: Map::new(values),
                rest,
            })
        } else {
            Err(problems)
        }
    }

    /// Returns an argument name that is probably a typo of an input without a value. Names in the
    /// front matter (`configured`) and names that resemble no input are accepted.
    #[must_use]
    pub fn misspelt(&self, given: &Map, configured: &Map) -> Option<InputProblem> {
        let known = |name: &str| self.get(name).is_some() || configured.get(name).is_some();
        let absent = self
            .fields
            .iter()
            .filter(|field| given.get(&field.name).is_none());
        let absent: Vec<&str> = absent.map(|field| field.name.as_str()).collect();
        let unknown = given.table().keys().filter(|name| !known(name));
        unknown.into_iter().find_map(|name| {
            // Only inputs without a value are candidates. A name is unlikely to be a typo of an
            // input that has a value.
            let near = nearest(name, absent.iter().copied())?;
            Some(InputProblem {
                help: Some(format!("did you mean `{near}`?")),
                ..problem(name, "unknown input")
            })
        })
    }

    /// Splits the input into arguments by name and a value without a name.
    fn named(&self, input: ScriptInput) -> (Map, Option<Value>) {
        match input {
            ScriptInput::None => (Map::default(), None),
            ScriptInput::Named(map) | ScriptInput::Single(Value::Map(map)) => (map, None),
            ScriptInput::Single(value) => match (&value, self.field_at_index(0)) {
                // A list fills the positional inputs, unless the first input takes the list itself.
                (Value::List(items), first) if !first.is_some_and(InputField::takes_list) => {
                    let placed = items.iter().enumerate();
                    let placed = placed.filter_map(|(at, item)| {
                        Some((self.field_at_index(at)?.name.as_str(), item.clone()))
                    });
                    (placed.collect(), None)
                }
                (_, Some(field)) => ([(field.name.as_str(), value)].into_iter().collect(), None),
                (_, None) => (Map::default(), Some(value)),
            },
        }
    }

    /// Reports a missing input, with a hint if an argument name is probably a typo of it.
    fn explain(&self, field: &InputField, message: String, given: &Map) -> InputProblem {
        let unknown = given.table().keys().map(|name| &**name);
        let mut unknown = unknown.filter(|name| self.get(name).is_none());
        let near = unknown.find(|name| nearest(name, [field.name.as_str()]).is_some());
        let help =
            near.map(|name| format!("unknown argument {name}: did you mean {}?", field.name));
        InputProblem {
            help: help.or_else(|| self.usage(field)),
            ..problem(&field.name, message)
        }
    }

    fn usage(&self, field: &InputField) -> Option<String> {
        let about = &field.description;
        (!about.is_empty()).then(|| format!("{}: {about}", field.name))
    }

    /// Returns the JSON Schema of the arguments, for a script as a tool. Positional inputs come
    /// first, in order; hidden inputs are omitted.
    #[must_use]
    pub fn to_parameters_schema(&self) -> Json {
        let shown = self.fields.iter().filter(|field| !field.hidden);
        let mut shown: Vec<&InputField> = shown.collect();
        // Positional inputs come first, so that models see the arguments in call order.
        shown.sort_by_key(|field| field.index.unwrap_or(usize::MAX));
        let required = shown.iter().filter(|field| field.is_needed());
        let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
        let properties = shown
            .iter()
            .map(|field| (field.name.clone(), field.to_schema()));
        let properties: JsonMap<String, Json> = properties.collect();
        if required.is_empty() {
            json!({"type": "object", "properties": properties})
        } else {
            json!({"type": "object", "properties": properties, "required": required})
        }
    }
}

impl InputField {
    fn read(name: &str, about: &Value) -> Result<InputField, String> {
        let empty = Map::default();
        let (map, default) = match about {
            Value::Map(map) => (map, map.get("default").or_else(|| map.get("value"))),
            Value::Null => (&empty, None),
            scalar => (&empty, Some(scalar)),
        };
        let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
        let description = match text("description") {
            "" => text("title"),
            description => description,
        };
        let field = InputField {
            name: name.to_owned(),
            required: flag(map, "required")?,
            index: index(map)?,
            default: default.cloned(),
            description: description.to_owned(),
            examples: examples(map),
            hidden: flag(map, "hidden")?,
            schema: AnswerSchema::new(&schema_of(map)?)?,
        };
        field.check_default()?;
        Ok(field)
    }

    /// Checks that a default value is valid or is a template.
    fn check_default(&self) -> Result<(), String> {
        match &self.default {
            // The value is known only when the script runs.
            Some(Value::Str(text)) if text.contains("{{") || text.starts_with("?=") => Ok(()),
            Some(default) => self
                .fit(default.clone())
                .map(drop)
                .map_err(|message| format!("invalid default: {message}")),
            None => Ok(()),
        }
    }

    fn takes_list(&self) -> bool {
        self.schema.tree().get("type") == Some(&"array".into())
    }

    /// Returns whether the caller must pass a value.
    fn is_needed(&self) -> bool {
        self.required && self.default.is_none()
    }

    /// Converts a value to the type of the input.
    ///
    /// # Errors
    /// Returns the reason why the value is invalid.
    pub fn fit(&self, value: Value) -> Result<Value, String> {
        let value = coerce(value, self.schema.tree());
        match self.schema.check(&value) {
            Ok(()) => Ok(value),
            Err(findings) => Err(findings.join("; ")),
        }
    }

    fn bind(
        &self,
        given: Option<&Value>,
        configured: Option<&Value>,
    ) -> Result<Option<Value>, String> {
        // Null for a required input counts as missing, so its default still applies.
        let given = given.filter(|value| !(self.required && **value == Value::Null));
        match (given, configured) {
            // Null is a valid value of an optional input.
            (Some(Value::Null), _) => Ok(Some(Value::Null)),
            (Some(value), _) => self.fit(value.clone()).map(Some),
            // The front matter supplies the value, so the input is not missing.
            (None, Some(_)) => Ok(None),
            (None, None) => match &self.default {
                // Not checked again, because `check_default` did that. A template matches the type
                // only after rendering.
                Some(default) => Ok(Some(coerce(default.clone(), self.schema.tree()))),
                None if self.required => Err("missing required value".to_owned()),
                None => Ok(None),
            },
        }
    }

    /// Returns the JSON Schema for models. The type defaults to text.
    fn to_schema(&self) -> Json {
        let mut out = self.schema.tree().clone();
        let Json::Object(fields) = &mut out else {
            return out;
        };
        let typed = ["type", "enum", "anyOf", "const"]
            .iter()
            .any(|name| fields.contains_key(*name));
        if !typed {
            // A model cannot see the type of an untyped input, so it is derived from the default
            // value.
            let kind = self.default.as_ref().map_or("string", Value::kind);
            fields.insert("type".to_owned(), kind.into());
        }
        if !self.description.is_empty() {
            fields.insert("description".to_owned(), self.description.as_str().into());
        }
        if let Some(default) = &self.default {
            fields.insert("default".to_owned(), default.into());
        }
        if !self.examples.is_empty() {
            let examples: Vec<Json> = self.examples.iter().map(Json::from).collect();
            fields.insert("examples".to_owned(), examples.into());
        }
        out
    }
}

fn flag(map: &Map, name: &str) -> Result<bool, String> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        // As in JSON Schema, a list under `required` names the required fields of an object.
        Some(Value::List(_)) if name == "required" => Ok(false),
        Some(other) => Err(format!(
            "{name} must be true or false, not {}",
            other.kind()
        )),
    }
}

fn index(map: &Map) -> Result<Option<usize>, String> {
    match map.get("index") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(index)) if *index >= 0 => Ok(usize::try_from(*index).ok()),
        Some(other) => Err(format!(
            "index must be a whole number from 0, not {}",
            quillet_core::json::to_string(other)
        )),
    }
}

fn examples(map: &Map) -> Vec<Value> {
    let given = map.get("examples").or_else(|| map.get("example"));
    match given {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::List(items)) => items.to_vec(),
        Some(one) => vec![one.clone()],
    }
}

/// Returns the JSON Schema of an input without the keys in `OWN`. Reports probable typos of keys.
fn schema_of(map: &Map) -> Result<Json, String> {
    let mut out: MapTable = MapTable::default();
    for (name, value) in map {
        // As in JSON Schema, a list under `required` names the required fields of an object.
        let own = OWN.contains(&&**name) && !(&**name == "required" && value.kind() == "array");
        if own || &**name == "description" {
            continue;
        }
        if !SCHEMA.contains(&&**name) {
            let known = OWN.iter().chain(&SCHEMA).copied();
            // Unknown keys are allowed in JSON Schema; only probable typos are errors.
            if let Some(near) = nearest(name, known) {
                return Err(format!("unknown key {name} (did you mean {near}?)"));
            }
        }
        out.insert(name.clone(), value.clone());
    }
    normal(&Json::from(&Value::Map(Map::new(out))))
}

fn problem(field: &str, message: impl Into<String>) -> InputProblem {
    InputProblem {
        field: field.to_owned(),
        message: message.into(),
        help: None,
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input {}: {}", self.field, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputProblem {}
