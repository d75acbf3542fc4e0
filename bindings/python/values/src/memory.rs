//! The last variables of a template.
//!
//! A conversation is usually rendered again with one more message and the same tools. Comparing
//! unchanged values takes a tenth of the time to convert them. Python's strings and numbers are
//! immutable, so the same object has the same value while it is kept alive. Lists and dicts may
//! change, so their items are compared one by one. The cache never keeps a list or dict alive, nor
//! any object that could refer back to the template.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use quillet_core::{Map, MapTable, Value, ValueList};

use crate::value::{ConversionResult, ValueReader, step};

/// Lists and dicts with fewer entries are not cached.
const LEAST: usize = 3;
/// Maximum size of cached values in bytes, because each template has its own cache.
const LARGEST: usize = 1 << 20;
/// After this many renders without a match, a variable is no longer cached.
const PATIENCE: u32 = 8;

/// The last variables of one template.
#[derive(Default)]
pub struct Memory(Mutex<Vec<CachedVariable>>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// One variable.
pub(crate) struct CachedVariable {
    name: Arc<str>,
    /// Address of the source object: a variable is cached only when the same object is passed
    /// twice.
    address: usize,
    kept: Option<CachedNode>,
    misses: u32,
}

/// A value and its source objects.
struct CachedNode {
    value: Value,
    of: NodeOrigin,
}

enum NodeOrigin {
    /// An immutable object.
    Object(Py<PyAny>),
    List(Vec<CachedNode>),
    Dict(Vec<(Py<PyString>, Arc<str>, CachedNode)>),
    /// Value that is read again each time.
    Other,
}

impl Memory {
    /// Returns the cache, unless another thread is using it.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, Vec<CachedVariable>>> {
        self.0.try_lock().ok()
    }
}

/// Reads the value of a variable, reusing unchanged parts of the last one.
pub(crate) fn read(
    slots: &mut Vec<CachedVariable>,
    reader: &mut ValueReader,
    name: &Arc<str>,
    object: &Bound<'_, PyAny>,
) -> ConversionResult<Value> {
    if !is_container(object) {
        return reader.value(object, 1);
    }
    let address = object.as_ptr() as usize;
    let Some(slot) = slots.iter_mut().find(|slot| slot.name == *name) else {
        slots.push(CachedVariable {
            name: Arc::clone(name),
            address,
            kept: None,
            misses: 0,
        });
        return reader.value(object, 1);
    };
    let is_same_place = std::mem::replace(&mut slot.address, address) == address;
    if slot.misses >= PATIENCE || slot.kept.is_none() && !is_same_place {
        return reader.value(object, 1);
    }
    let mut same = 0;
    // The value is removed from the cache first, so that a partly read value is not kept.
    let node = match slot.kept.take() {
        Some(mut node) => {
            node.refresh(reader, object, 1, &mut same)?;
            node
        }
        None => CachedNode::new(reader, object, 1)?,
    };
    slot.misses = if same == 0 { slot.misses + 1 } else { 0 };
    let value = node.value.clone();
    if slot.misses < PATIENCE && value.weight() <= LARGEST {
        slot.kept = Some(node);
    }
    Ok(value)
}

fn is_container(object: &Bound<'_, PyAny>) -> bool {
    let length = match object.cast_exact::<PyList>() {
        Ok(list) => list.len(),
        Err(_) => object.cast_exact::<PyDict>().map_or(0, PyDictMethods::len),
    };
    length >= LEAST
}

impl CachedNode {
    fn new(
        reader: &mut ValueReader,
        object: &Bound<'_, PyAny>,
        depth: u32,
    ) -> ConversionResult<Self> {
        let mut node = CachedNode {
            value: Value::Null,
            of: NodeOrigin::Other,
        };
        node.refresh(reader, object, depth, &mut 0)?;
        Ok(node)
    }

    /// Updates the entry to the value of an object. Returns whether it changed, and counts
    /// unchanged lists and dicts.
    fn refresh(
        &mut self,
        reader: &mut ValueReader,
        object: &Bound<'_, PyAny>,
        depth: u32,
        same: &mut usize,
    ) -> ConversionResult<bool> {
        if let NodeOrigin::Object(kept) = &self.of
            && kept.is(object)
        {
            return Ok(false);
        }
        if let Ok(list) = object.cast_exact::<PyList>() {
            return self.refresh_list(reader, list, depth, same);
        }
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            return self.refresh_dict(reader, dict, depth, same);
        }
        self.value = reader.value(object, depth)?;
        self.of = if never_changes(object) {
            NodeOrigin::Object(object.clone().unbind())
        } else {
            NodeOrigin::Other
        };
        Ok(true)
    }

    fn refresh_list(
        &mut self,
        reader: &mut ValueReader,
        list: &Bound<'_, PyList>,
        depth: u32,
        same: &mut usize,
    ) -> ConversionResult<bool> {
        reader.enter(depth, list.len())?;
        let is_list = matches!(self.of, NodeOrigin::List(_));
        if !is_list {
            self.of = NodeOrigin::List(Vec::with_capacity(list.len()));
        }
        let NodeOrigin::List(items) = &mut self.of else {
            return Ok(true);
        };
        let mut changed = !is_list || items.len() != list.len();
        items.truncate(list.len());
        for (index, object) in list.iter().enumerate() {
            let inside = |error: crate::value::ConversionError| error.inside(format!("[{index}]"));
            if let Some(item) = items.get_mut(index) {
                let other = item.refresh(reader, &object, depth + 1, same);
                changed |= other.map_err(inside)?;
            } else {
                items.push(CachedNode::new(reader, &object, depth + 1).map_err(inside)?);
            }
        }
        if changed {
            let values = items.iter().map(|item| item.value.clone());
            self.value = Value::List(ValueList::new(values.collect()));
        } else {
            *same += 1;
        }
        Ok(changed)
    }

    fn refresh_dict(
        &mut self,
        reader: &mut ValueReader,
        dict: &Bound<'_, PyDict>,
        depth: u32,
        same: &mut usize,
    ) -> ConversionResult<bool> {
        reader.enter(depth, dict.len())?;
        let is_dict = matches!(self.of, NodeOrigin::Dict(_));
        if !is_dict {
            self.of = NodeOrigin::Dict(Vec::with_capacity(dict.len()));
        }
        let NodeOrigin::Dict(entries) = &mut self.of else {
            return Ok(true);
        };
        let mut changed = !is_dict || entries.len() != dict.len();
        entries.truncate(dict.len());
        for (index, (key, object)) in dict.iter().enumerate() {
            if let Some((kept, name, entry)) = entries.get_mut(index)
                && kept.is(&key)
            {
                let other = entry.refresh(reader, &object, depth + 1, same);
                changed |= other.map_err(|error| error.inside(step(name)))?;
                continue;
            }
            changed = true;
            entries.truncate(index);
            let name = reader.key(&key)?;
            let entry = CachedNode::new(reader, &object, depth + 1);
            let entry = entry.map_err(|error| error.inside(step(&name)))?;
            match key.cast_exact::<PyString>() {
                Ok(key) => entries.push((key.clone().unbind(), name, entry)),
                // A key of another type may change, so it is read again each time.
                Err(_) => {
                    self.of = NodeOrigin::Other;
                    self.value = Value::Map(reader.dict(dict, depth)?);
                    return Ok(true);
                }
            }
        }
        if changed {
            let values = entries.iter();
            let values = values.map(|(_, name, entry)| (Arc::clone(name), entry.value.clone()));
            self.value = Value::Map(Map::new(values.collect::<MapTable>()));
        } else {
            *same += 1;
        }
        Ok(changed)
    }
}

/// Whether an object is immutable and refers to no other object.
fn never_changes(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyBool>()
}
