//! Reads Python values directly, without intermediate JSON.

use std::fmt::Write;
use std::sync::{Arc, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};
use quillet_core::value::MAX_DEPTH;
use quillet_core::{Map, MapTable, Value, ValueList};

use crate::error::ExceptionFields;
use crate::keys::StringInterner;
use crate::memory::{self, CachedVariable, Memory};

/// Maximum values in one set of variables. A list that contains another list ten times is read ten
/// times, so nested repetitions grow exponentially.
const MOST_VALUES: usize = 2_000_000;

/// A value that cannot be read, and the reason.
#[derive(Debug)]
pub struct ConversionError {
    /// Path from the value to the root, innermost step first.
    path: Vec<String>,
    reason: String,
    hint: &'static str,
    /// Whether the value must be read in the careful mode to determine the error, if any.
    needs_care: bool,
}

/// Hint after the name of a type that templates do not support.
const CONVERT: &str = "give text, numbers, booleans, None, lists, tuples and dicts: a dataclass by \
    dataclasses.asdict(x), a pydantic model by x.model_dump(), anything else by str(x)";

impl ConversionError {
    fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        ConversionError {
            path: Vec::new(),
            reason: reason.into(),
            hint,
            needs_care: false,
        }
    }

    /// The same hint for a value inside a container.
    pub(crate) fn inside(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    /// Describes the problem; `root` is the name of the value.
    pub fn message(&self, root: &str) -> String {
        let mut place = root.to_owned();
        // The path is truncated, because it is very long if a value contains itself.
        for step in self.path.iter().rev().take(12) {
            place.push_str(step);
        }
        if self.path.len() > 12 {
            place.push('…');
        }
        let place = place.trim_start_matches('.');
        if place.is_empty() {
            return self.reason.clone();
        }
        format!("{place}: {}", self.reason)
    }

    /// Creates the exception; `root` is the name of the value.
    pub fn raise(&self, py: Python<'_>, root: &str) -> PyErr {
        ExceptionFields {
            class: "VariableError",
            code: "variables.invalid",
            message: &self.message(root),
            source: "",
            position: None,
            hint: Some(self.hint).filter(|hint| !hint.is_empty()),
            diagnostics: &[],
        }
        .raise(py)
    }
}

pub(crate) type ConversionResult<T> = Result<T, ConversionError>;

/// Reads a value.
///
/// # Errors
/// Templates do not support the value, or a value in it.
pub fn read(value: &Bound<'_, PyAny>) -> Result<Value, ConversionError> {
    with_reader(|reader| reader.value(value, 0))
}

/// Reads the variables of a render from a mapping and from keyword arguments, which take
/// precedence. `memory` caches the template's last variables.
///
/// # Errors
/// As [`read`].
pub fn variables(
    mapping: Option<&Bound<'_, PyAny>>,
    named: Option<&Bound<'_, PyDict>>,
    memory: Option<&Memory>,
) -> Result<Map, ConversionError> {
    with_reader(|reader| {
        let mut memory = memory.filter(|_| !reader.careful).and_then(Memory::lock);
        reader.variables(mapping, named, memory.as_deref_mut())
    })
}

/// First reads in the fast mode, which does not run Python code, so values cannot change meanwhile.
/// If that is not possible, reads in the careful mode.
fn with_reader<T>(read: impl Fn(&mut ValueReader) -> ConversionResult<T>) -> ConversionResult<T> {
    match read(&mut ValueReader::new(false)) {
        Err(error) if error.needs_care => read(&mut ValueReader::new(true)),
        other => other,
    }
}

pub(crate) struct ValueReader {
    keys: Option<MutexGuard<'static, StringInterner>>,
    left: usize,
    /// Whether Python code may run, so that values may change while they are read.
    careful: bool,
}

impl ValueReader {
    fn new(careful: bool) -> Self {
        ValueReader {
            keys: StringInterner::lock(),
            left: MOST_VALUES,
            careful,
        }
    }

    fn variables(
        &mut self,
        mapping: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
        mut memory: Option<&mut Vec<CachedVariable>>,
    ) -> ConversionResult<Map> {
        let named = named.filter(|named| !named.is_empty());
        let Some(mapping) = mapping.filter(|mapping| !mapping.is_none()) else {
            return match named {
                Some(named) => self.root(named, memory),
                None => Ok(Map::default()),
            };
        };
        let first = match mapping.cast_exact::<PyDict>() {
            Ok(dict) => Value::Map(self.root(dict, memory.as_deref_mut())?),
            Err(_) => self.value(mapping, 0)?,
        };
        let Value::Map(first) = first else {
            return Err(ConversionError::new(
                format!(
                    "variables must be a mapping of names to values, not {}",
                    type_of(mapping)
                ),
                "give a dict, or the variables by name: render(name=\"Ada\")",
            ));
        };
        let Some(named) = named else {
            return Ok(first);
        };
        let mut table = first.to_table();
        table.extend(self.root(named, memory)?.to_table());
        Ok(Map::new(table))
    }

    /// The variables of a dict, some of them cached.
    fn root(
        &mut self,
        dict: &Bound<'_, PyDict>,
        memory: Option<&mut Vec<CachedVariable>>,
    ) -> ConversionResult<Map> {
        let Some(memory) = memory else {
            return self.dict(dict, 0);
        };
        self.enter(0, dict.len())?;
        let mut table = MapTable::with_capacity_and_hasher(dict.len(), Default::default());
        for (key, value) in dict.iter() {
            let name = self.key(&key)?;
            let read = memory::read(memory, self, &name, &value);
            let value = read.map_err(|error| error.inside(step(&name)))?;
            table.insert(name, value);
        }
        Ok(Map::new(table))
    }

    pub(crate) fn value(
        &mut self,
        value: &Bound<'_, PyAny>,
        depth: u32,
    ) -> ConversionResult<Value> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            return Ok(Value::Str(self.text(text)?));
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return Ok(Value::Map(self.dict(dict, depth)?));
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.list(list.iter(), depth);
        }
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            return Ok(Value::Bool(truth.is_true()));
        }
        if let Ok(number) = value.cast::<PyInt>() {
            return integer(number);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            return Ok(Value::Float(number.value()));
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.list(tuple.iter(), depth);
        }
        self.of_other_type(value, depth)
    }

    #[cold]
    fn of_other_type(&mut self, value: &Bound<'_, PyAny>, depth: u32) -> ConversionResult<Value> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Value::Str(self.text(text)?));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return Ok(Value::Map(self.dict(dict, depth)?));
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.list(list.iter(), depth);
        }
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Err(ConversionError::new(
                "bytes cannot be passed to a template",
                "decode them: x.decode(\"utf-8\"), or base64.b64encode(x).decode()",
            ));
        }
        if !self.careful {
            return Err(ConversionError {
                needs_care: true,
                ..ConversionError::new("", "")
            });
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            return self.mapping(mapping, depth);
        }
        let reason = format!(
            "values of type {} cannot be passed to a template",
            type_of(value)
        );
        Err(ConversionError::new(reason, CONVERT))
    }

    /// Reads any mapping through its own code, which may raise exceptions or render.
    fn mapping(&mut self, mapping: &Bound<'_, PyMapping>, depth: u32) -> ConversionResult<Value> {
        let keys = self.keys.take();
        drop(keys);
        let copied = mapping.items().and_then(|items| {
            let copy = PyDict::new(mapping.py());
            for item in items.iter() {
                let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
                copy.set_item(key, value)?;
            }
            Ok(copy)
        });
        self.keys = StringInterner::lock();
        match copied {
            Ok(copy) => Ok(Value::Map(self.dict(&copy, depth)?)),
            Err(error) => {
                let what = type_of(mapping.as_any());
                let reason = format!("the mapping of type {what} cannot be read: {error}");
                Err(ConversionError::new(reason, "give a dict"))
            }
        }
    }

    fn list<'py>(
        &mut self,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        depth: u32,
    ) -> ConversionResult<Value> {
        self.enter(depth, items.len())?;
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.enumerate() {
            let item = self.value(&item, depth + 1);
            list.push(item.map_err(|error| error.inside(format!("[{index}]")))?);
        }
        Ok(Value::List(ValueList::new(list)))
    }

    pub(crate) fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: u32) -> ConversionResult<Map> {
        self.enter(depth, dict.len())?;
        let mut table = MapTable::with_capacity_and_hasher(dict.len(), Default::default());
        if !self.careful {
            for (key, value) in dict.iter() {
                self.entry(&mut table, &key, &value, depth)?;
            }
            return Ok(Map::new(table));
        }
        // Copied, because a nested mapping may run code that changes this one.
        let items: Vec<_> = dict.iter().collect();
        for (key, value) in &items {
            self.entry(&mut table, key, value, depth)?;
        }
        Ok(Map::new(table))
    }

    fn entry(
        &mut self,
        table: &mut MapTable,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        depth: u32,
    ) -> ConversionResult<()> {
        let name = self.key(key)?;
        match self.value(value, depth + 1) {
            Ok(value) => table.insert(name, value),
            Err(error) => return Err(error.inside(step(&name))),
        };
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> ConversionResult<Arc<str>> {
        match &mut self.keys {
            Some(keys) => keys.text(text).map_err(|_| surrogate()),
            None => self::text(text),
        }
    }

    pub(crate) fn key(&mut self, key: &Bound<'_, PyAny>) -> ConversionResult<Arc<str>> {
        let Ok(key) = key.cast::<PyString>() else {
            return Err(ConversionError::new(
                format!("a key is of type {}, but keys must be text", type_of(key)),
                "make it text: {str(key): value for key, value in x.items()}",
            ));
        };
        match &mut self.keys {
            Some(keys) => keys.name(key).map_err(|_| surrogate()),
            None => self::text(key),
        }
    }

    /// Enters a container with this many values.
    pub(crate) fn enter(&mut self, depth: u32, count: usize) -> ConversionResult<()> {
        if depth >= MAX_DEPTH {
            return Err(ConversionError::new(
                format!("values are nested deeper than {MAX_DEPTH} levels"),
                "does one contain itself?",
            ));
        }
        match self.left.checked_sub(count) {
            Some(left) => self.left = left,
            None => {
                return Err(ConversionError::new(
                    format!("too many values: more than {MOST_VALUES}"),
                    "pass only what the template prints",
                ));
            }
        }
        Ok(())
    }
}

/// Converts a Python string.
pub fn text(text: &Bound<'_, PyString>) -> ConversionResult<Arc<str>> {
    match text.to_str() {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(surrogate()),
    }
}

fn surrogate() -> ConversionError {
    ConversionError::new(
        "the text has an unpaired surrogate, which UTF-8 cannot encode",
        "fix it where it was read: x.encode(\"utf-16\", \"surrogatepass\").decode(\"utf-16\", \
         \"replace\")",
    )
}

fn integer(number: &Bound<'_, PyInt>) -> ConversionResult<Value> {
    match number.extract::<i64>() {
        Ok(number) => Ok(Value::Int(number)),
        Err(_) => Err(ConversionError::new(
            "the integer has more than 64 bits",
            "pass it as text: str(x), or as float(x)",
        )),
    }
}

fn type_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().fully_qualified_name();
    name.map_or_else(|_| "unknown".to_owned(), |name| name.to_string())
}

/// Formats a step of a path: `.name`, or `["two words"]`.
pub(crate) fn step(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut step = String::new();
    let _ = if plain {
        write!(step, ".{name}")
    } else {
        let shown: String = name.chars().take(40).collect();
        write!(step, "[{shown:?}]")
    };
    step
}
