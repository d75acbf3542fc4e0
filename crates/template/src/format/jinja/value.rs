//! Values of an evaluation. Variables are borrowed and converted lazily. Only the values that a
//! template builds are new.
//!
//! Values cannot contain themselves, so there are no leaks or endless recursion through cycles.
//! Mutable state (`namespace`) belongs to the evaluator, and values refer to it by number.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core as core;

use super::ast::{For, Macro};
use super::functions::FunctionEntry;

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A missing value, with the requested path if it is known.
    Undefined(Option<Arc<str>>),
    /// Value of a name that depends on a pending call. An expression that reads such a name is
    /// suspended, so no other value is a hole.
    Hole,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    List(List),
    Dict(Dict),
    Macro(Rc<MacroValue>),
    Function(&'static FunctionEntry),
    /// A method of a value, before it is called.
    Method(Rc<(Value, Arc<str>)>),
    /// A namespace, by its index in the evaluator.
    Namespace(usize),
    /// The names of an imported source, by the index of their table in the evaluator.
    Module(usize),
    Loop(Rc<LoopState>),
    Cycler(Rc<(List, Cell<usize>)>),
    Joiner(Rc<(Arc<str>, Cell<bool>)>),
    /// `super`, which is the next definition of the block: the name of the block, and the index in
    /// its chain.
    Super(Rc<(Arc<str>, usize)>),
    /// `self`, which calls blocks by name.
    Blocks,
}

/// Kind of a list, for printing and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    List,
    Tuple,
    /// The result of `keys()`, `values()` or `items()`. Python prints the name of its type.
    View(DictView),
    Range,
    /// The result of a lazy filter, which only supports iteration.
    Iterator,
}

/// The part of an object that a view contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DictView {
    Keys,
    Values,
    Items,
}

impl DictView {
    /// Returns Python's name of the view's type.
    pub(super) fn name(self) -> &'static str {
        match self {
            DictView::Keys => "dict_keys",
            DictView::Values => "dict_values",
            DictView::Items => "dict_items",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) sort: Sort,
    items: ListItems,
}

#[derive(Clone, Debug)]
enum ListItems {
    Core(core::ValueList),
    Own(Rc<(Vec<Value>, u32)>),
    Range(Rc<RangeObject>),
}

/// The numbers from `start` up to `stop`, which is excluded.
#[derive(Debug)]
struct RangeObject {
    start: i64,
    stop: i64,
    step: i64,
    len: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Dict {
    Core(core::Map),
    Own(Rc<(IndexMap<DictKey, Value>, u32)>),
}

/// Key of an object that a template builds. As in Python, `1`, `1.0` and `True` are the same key,
/// and the object keeps the first one.
#[derive(Clone, Debug)]
pub(super) enum DictKey {
    Undefined,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Tuple(Rc<[DictKey]>),
}

#[derive(Debug)]
pub(super) struct MacroValue {
    pub(super) declared: Arc<Macro>,
    /// Index of the macro's table of global names.
    pub(super) base: usize,
    /// Index of the macro's source.
    pub(super) source: usize,
    /// Names in the scopes around the declaration.
    pub(super) captured: Vec<(Arc<str>, Value)>,
}

/// State of the variable `loop`.
#[derive(Debug)]
pub(super) struct LoopState {
    pub(super) items: List,
    pub(super) index: Cell<usize>,
    pub(super) depth: usize,
    /// The body that `loop(…)` repeats, if the loop is recursive.
    pub(super) repeats: Option<Arc<For>>,
    /// Last argument of `loop.changed`. It is cleared at the end of the loop.
    pub(super) changed: RefCell<Option<Value>>,
}

impl From<&core::Value> for Value {
    fn from(value: &core::Value) -> Self {
        match value {
            core::Value::Null => Value::None,
            core::Value::Bool(bool) => Value::Bool(*bool),
            core::Value::Int(int) => Value::Int(*int),
            core::Value::Float(float) => Value::Float(*float),
            core::Value::Str(text) => Value::Str(Arc::clone(text)),
            core::Value::List(list) => Value::List(List {
                sort: Sort::List,
                items: ListItems::Core(list.clone()),
            }),
            core::Value::Map(map) => Value::Dict(Dict::Core(map.clone())),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Str(text.into())
    }
}

impl Value {
    pub(super) const UNDEFINED: Value = Value::Undefined(None);

    pub(super) fn int(number: usize) -> Value {
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
            Value::Int(int) => Some(*int as f64),
            Value::Float(float) => Some(*float),
            _ => None,
        }
    }

    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Bool(bool) => Some(i64::from(*bool)),
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// Returns the nesting depth, as [`core::Value::depth`] does.
    pub(super) fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth(),
            Value::Dict(dict) => dict.depth(),
            Value::Cycler(cycler) => cycler.0.depth() + 1,
            Value::Method(method) => method.0.depth() + 1,
            Value::Loop(state) => state.items.depth() + 1,
            Value::Macro(declared) => {
                let deepest = declared.captured.iter().map(|(_, value)| value.depth());
                1 + deepest.max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Returns Python's truth value.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(bool) => *bool,
            Value::Int(int) => *int != 0,
            Value::Float(float) => *float != 0.0,
            Value::Str(text) => !text.is_empty(),
            // Python treats every iterator as true, because it cannot know whether the iterator is
            // empty.
            Value::List(list) => list.len() > 0 || list.sort == Sort::Iterator,
            Value::Dict(dict) => match dict.meant() {
                Some(meant) => meant.is_true(),
                None => dict.len() > 0,
            },
            _ => true,
        }
    }

    /// Returns the empty value for access inside a fallback value.
    pub(super) fn nothing() -> Value {
        Value::from(&core::Value::Null.into_fallback())
    }

    /// Whether the value replaces the result of a failed call.
    pub(super) fn is_fallback(&self) -> bool {
        matches!(self, Value::Dict(Dict::Core(map)) if map.is_fallback())
    }

    /// Whether the value is an object that represents a value of another type.
    pub(super) fn is_meant_otherwise(&self) -> bool {
        matches!(self, Value::Dict(Dict::Core(map)) if map.represented_value().is_some())
    }

    /// Returns the value for operations, see [`core::Value::represented_value`].
    pub(super) fn meant(&self) -> Value {
        match self {
            Value::Dict(dict) => dict.meant().unwrap_or_else(|| self.clone()),
            other => other.clone(),
        }
    }

    /// Returns Python's type name, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Undefined(_) | Value::Hole => "undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::List(list) => match list.sort {
                Sort::List => "list",
                Sort::Tuple => "tuple",
                Sort::View(view) => view.name(),
                Sort::Range => "range",
                Sort::Iterator => "generator",
            },
            Value::Dict(_) => "dict",
            Value::Macro(_) => "Macro",
            Value::Function(_) | Value::Super(_) => "function",
            Value::Method(_) => "method",
            Value::Namespace(_) => "Namespace",
            Value::Module(_) => "Module",
            Value::Loop(_) => "LoopContext",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
            Value::Blocks => "TemplateReference",
        }
    }
}

impl List {
    /// Creates a list. The caller has charged for the items and checked their depth.
    pub(super) fn new(sort: Sort, items: Vec<Value>) -> List {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        List {
            sort,
            items: ListItems::Own(Rc::new((items, depth))),
        }
    }

    /// Creates a range from `start` up to `stop`, which is excluded. `step` must not be 0.
    pub(super) fn range(start: i64, stop: i64, step: i64) -> List {
        let span = i128::from(stop) - i128::from(start);
        let step_wide = i128::from(step);
        let len = (span + step_wide - step_wide.signum()) / step_wide;
        List {
            sort: Sort::Range,
            items: ListItems::Range(Rc::new(RangeObject {
                start,
                stop,
                step,
                len: usize::try_from(len.max(0)).unwrap_or(usize::MAX),
            })),
        }
    }

    /// Returns the start, end and step of a range.
    pub(super) fn as_range(&self) -> Option<(i64, i64, i64)> {
        match &self.items {
            ListItems::Range(range) => Some((range.start, range.stop, range.step)),
            _ => None,
        }
    }

    /// Whether the list supports indexes and slices, as in `list[0]` and `list[1:]`.
    pub(super) fn has_places(&self) -> bool {
        matches!(self.sort, Sort::List | Sort::Tuple | Sort::Range)
    }

    pub(super) fn len(&self) -> usize {
        match &self.items {
            ListItems::Core(list) => list.len(),
            ListItems::Own(own) => own.0.len(),
            ListItems::Range(range) => range.len,
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value> {
        match &self.items {
            ListItems::Core(list) => list.get(index).map(Value::from),
            ListItems::Own(own) => own.0.get(index).cloned(),
            ListItems::Range(range) if index < range.len => {
                let offset = i64::try_from(index).ok()?.checked_mul(range.step)?;
                range.start.checked_add(offset).map(Value::Int)
            }
            ListItems::Range(_) => None,
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Value> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(super) fn depth(&self) -> u32 {
        match &self.items {
            ListItems::Core(list) => list.depth(),
            ListItems::Own(own) => own.1,
            ListItems::Range(_) => 1,
        }
    }
}

impl Dict {
    pub(super) fn new(table: IndexMap<DictKey, Value>) -> Dict {
        let values = table.values().map(Value::depth);
        let depth = 1 + values
            .chain(table.keys().map(DictKey::depth))
            .max()
            .unwrap_or(0);
        Dict::Own(Rc::new((table, depth)))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Dict::Core(map) => map.len(),
            Dict::Own(own) => own.0.len(),
        }
    }

    pub(super) fn depth(&self) -> u32 {
        match self {
            Dict::Core(map) => map.depth(),
            Dict::Own(own) => own.1,
        }
    }

    pub(super) fn get_str(&self, key: &str) -> Option<Value> {
        match self {
            Dict::Core(map) => map.get(key).map(Value::from),
            Dict::Own(own) => own.0.get(&DictKey::Str(key.into())).cloned(),
        }
    }

    pub(super) fn get(&self, key: &DictKey) -> Option<Value> {
        match (self, key) {
            (Dict::Core(map), DictKey::Str(key)) => map.get(key).map(Value::from),
            (Dict::Core(_), _) => None,
            (Dict::Own(own), key) => own.0.get(key).cloned(),
        }
    }

    fn at(&self, index: usize) -> Option<(Value, Value)> {
        match self {
            Dict::Core(map) => {
                let (key, value) = map.table().get_index(index)?;
                Some((Value::Str(Arc::clone(key)), value.into()))
            }
            Dict::Own(own) => {
                let (key, value) = own.0.get_index(index)?;
                Some((key.value(), value.clone()))
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// Returns the represented value, see [`core::Map::represented_value`].
    pub(super) fn meant(&self) -> Option<Value> {
        match self {
            Dict::Core(map) => map.represented_value().map(Value::from),
            Dict::Own(_) => None,
        }
    }

    /// Returns the value that replaces this object in print, see [`core::Map::display_value`].
    pub(super) fn printed(&self) -> Option<Value> {
        match self {
            Dict::Core(map) => map.display_value().map(Value::from),
            Dict::Own(_) => None,
        }
    }
}

impl DictKey {
    /// Returns the key for a scalar, or `None` for other values.
    pub(super) fn of(value: &Value) -> Option<DictKey> {
        Some(match value {
            Value::Undefined(_) => DictKey::Undefined,
            Value::None => DictKey::None,
            Value::Bool(bool) => DictKey::Bool(*bool),
            Value::Int(int) => DictKey::Int(*int),
            Value::Float(float) => DictKey::Float(*float),
            Value::Str(text) => DictKey::Str(Arc::clone(text)),
            _ => return None,
        })
    }

    fn depth(&self) -> u32 {
        match self {
            DictKey::Tuple(keys) => 1 + keys.iter().map(DictKey::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns a key as a number. Equal numbers are equal keys even if their types differ.
    fn number(&self) -> Option<f64> {
        match self {
            DictKey::Bool(bool) => Some(f64::from(u8::from(*bool))),
            DictKey::Int(int) => Some(*int as f64),
            // Adding 0.0 makes both zeros the same key.
            DictKey::Float(float) => Some(*float + 0.0),
            _ => None,
        }
    }

    fn whole(&self) -> Option<i64> {
        match self {
            DictKey::Bool(bool) => Some(i64::from(*bool)),
            DictKey::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            DictKey::Undefined => Value::UNDEFINED,
            DictKey::None => Value::None,
            DictKey::Bool(bool) => Value::Bool(*bool),
            DictKey::Int(int) => Value::Int(*int),
            DictKey::Float(float) => Value::Float(*float),
            DictKey::Str(text) => Value::Str(Arc::clone(text)),
            DictKey::Tuple(keys) => {
                let items = keys.iter().map(DictKey::value).collect();
                Value::List(List::new(Sort::Tuple, items))
            }
        }
    }
}

impl PartialEq for DictKey {
    fn eq(&self, other: &Self) -> bool {
        if let (Some(left), Some(right)) = (self.whole(), other.whole()) {
            return left == right;
        }
        match (self, other) {
            (DictKey::Undefined, DictKey::Undefined) | (DictKey::None, DictKey::None) => true,
            (DictKey::Str(left), DictKey::Str(right)) => left == right,
            (DictKey::Tuple(left), DictKey::Tuple(right)) => left == right,
            (left, right) => {
                let bits = |key: &DictKey| key.number().map(f64::to_bits);
                bits(left).is_some() && bits(left) == bits(right)
            }
        }
    }
}

impl Eq for DictKey {}

impl Hash for DictKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            DictKey::Undefined => 0_u8.hash(state),
            DictKey::None => 1_u8.hash(state),
            DictKey::Str(text) => text.hash(state),
            DictKey::Tuple(keys) => keys.hash(state),
            number => number.number().map(f64::to_bits).hash(state),
        }
    }
}
