//! Go's slices and maps. They are shared core containers, or containers that a template built.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::rc::Rc;

use quillet_core::value::{MAX_DEPTH, MapTable};
use quillet_core::{Map, Value, ValueList};

use super::types::GoType;
use super::value::{GoStr, GoValue};

/// A Go slice. A slice is immutable, so subslices are copies.
///
/// # Examples
///
/// ```
/// use quillet_core::Value;
/// use quillet_template::format::go::{GoList, GoType};
///
/// let names = GoList::typed(GoType::String, vec!["Ada".into(), "Bob".into()]);
/// assert_eq!(names.go_type().to_string(), "[]string");
/// assert_eq!(names.get(1).map(|name| name.to_core()), Some(Value::from("Bob")));
/// assert!(names.get(2).is_none());
/// ```
#[derive(Clone)]
pub struct GoList(ListItems);

#[derive(Clone)]
enum ListItems {
    Core(ValueList),
    Built(Rc<BuiltList>),
}

struct BuiltList {
    element: GoType,
    items: Vec<GoValue>,
    depth: u32,
}

/// A Go map from strings, iterated in key order. As in Go, a map built by a template is a
/// reference: Sprig's `set` changes the map for all holders. Maps of the caller (core maps) never
/// change.
///
/// # Examples
///
/// ```
/// use quillet_template::format::go::{GoMap, GoValue};
///
/// let map = GoMap::new();
/// let (same, copy) = (map.clone(), map.copied());
/// map.insert("name".into(), GoValue::from("Ada"))?;
/// assert_eq!((same.len(), copy.len()), (1, 0));
/// assert!(same.is(&map) && !copy.is(&map));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct GoMap(MapEntries);

#[derive(Clone)]
enum MapEntries {
    Core(Map),
    Built(Rc<BuiltMap>),
}

struct BuiltMap {
    element: GoType,
    table: RefCell<BTreeMap<GoStr, GoValue>>,
}

impl GoList {
    /// Creates a `[]interface {}` that shares a core list.
    #[must_use]
    pub fn core(list: ValueList) -> Self {
        GoList(ListItems::Core(list))
    }

    /// Creates a `[]interface {}` that contains these items.
    #[must_use]
    pub fn new(items: Vec<GoValue>) -> Self {
        // In Go, built lists with elements of different types have the type `[]interface {}`.
        GoList::typed(GoType::Any, items)
    }

    /// Creates a slice of this element type. All items must have this type.
    #[must_use]
    pub fn typed(element: GoType, items: Vec<GoValue>) -> Self {
        // Lists are immutable, so their depth is computed once.
        let depth = 1 + items.iter().map(GoValue::depth).max().unwrap_or(0);
        GoList(ListItems::Built(Rc::new(BuiltList {
            element,
            items,
            depth,
        })))
    }

    /// Returns the type of the elements.
    #[must_use]
    pub fn element(&self) -> GoType {
        match &self.0 {
            ListItems::Core(_) => GoType::Any,
            ListItems::Built(built) => built.element,
        }
    }

    /// Returns the type of the slice.
    #[must_use]
    pub fn go_type(&self) -> GoType {
        match self.element() {
            GoType::Any => GoType::LIST,
            GoType::String => GoType::STRINGS,
            GoType::Int => GoType::Slice(&GoType::Int),
            GoType::Int32 => GoType::Slice(&GoType::Int32),
            GoType::Int64 => GoType::Slice(&GoType::Int64),
            GoType::Uint8 => GoType::Slice(&GoType::Uint8),
            GoType::Float64 => GoType::Slice(&GoType::Float64),
            GoType::Bool => GoType::Slice(&GoType::Bool),
            GoType::Slice(&GoType::Any) => GoType::Slice(&GoType::LIST),
            GoType::Slice(&GoType::String) => GoType::Slice(&GoType::STRINGS),
            // Type references must be static, so only these element types are possible.
            _ => GoType::Slice(&GoType::MAP),
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            ListItems::Core(list) => list.len(),
            ListItems::Built(built) => built.items.len(),
        }
    }

    /// Returns whether the slice is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<GoValue> {
        match &self.0 {
            ListItems::Core(list) => list.get(index).map(GoValue::from),
            ListItems::Built(built) => built.items.get(index).cloned(),
        }
    }

    /// Iterates over the elements in order.
    pub fn iter(&self) -> impl Iterator<Item = GoValue> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the core list that the slice shares, if any.
    #[must_use]
    pub fn as_core(&self) -> Option<&ValueList> {
        match &self.0 {
            ListItems::Core(list) => Some(list),
            ListItems::Built(_) => None,
        }
    }

    /// Returns the nesting depth, including this container.
    #[must_use]
    pub fn depth(&self) -> u32 {
        match &self.0 {
            ListItems::Core(list) => list.depth(),
            ListItems::Built(built) => built.depth,
        }
    }

    /// Converts the slice to a core list.
    #[must_use]
    pub fn to_core(&self) -> ValueList {
        match &self.0 {
            ListItems::Core(list) => list.clone(),
            ListItems::Built(built) => built.items.iter().map(GoValue::to_core).collect(),
        }
    }
}

impl GoMap {
    /// Creates a `map[string]interface {}` that shares a core map.
    #[must_use]
    pub fn core(map: Map) -> Self {
        GoMap(MapEntries::Core(map))
    }

    /// Creates an empty `map[string]interface {}`.
    #[must_use]
    pub fn new() -> Self {
        GoMap::typed(GoType::Any)
    }

    /// Creates an empty map for values of this type.
    #[must_use]
    pub fn typed(element: GoType) -> Self {
        GoMap::of(element, BTreeMap::new())
    }

    /// Creates a map that contains these entries. All values must have this type. There is no check
    /// for cycles, because no value can contain the new map yet.
    #[must_use]
    pub fn of(element: GoType, table: BTreeMap<GoStr, GoValue>) -> Self {
        GoMap(MapEntries::Built(Rc::new(BuiltMap {
            element,
            table: RefCell::new(table),
        })))
    }

    /// Returns the type of the values.
    #[must_use]
    pub fn element(&self) -> GoType {
        match &self.0 {
            MapEntries::Core(_) => GoType::Any,
            MapEntries::Built(built) => built.element,
        }
    }

    /// Returns the type of the map.
    #[must_use]
    pub fn go_type(&self) -> GoType {
        match self.element() {
            GoType::String => GoType::Map(&GoType::String),
            GoType::Int => GoType::Map(&GoType::Int),
            GoType::Bool => GoType::Map(&GoType::Bool),
            _ => GoType::MAP,
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            MapEntries::Core(map) => map.len(),
            MapEntries::Built(built) => built.table.borrow().len(),
        }
    }

    /// Returns whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<GoValue> {
        match &self.0 {
            // Keys of core maps are UTF-8, so other bytes cannot match.
            MapEntries::Core(map) => map.get(std::str::from_utf8(key).ok()?).map(GoValue::from),
            MapEntries::Built(built) => built.table.borrow().get(key).cloned(),
        }
    }

    /// Returns the entries in key order.
    #[must_use]
    pub fn sorted(&self) -> Vec<(GoStr, GoValue)> {
        match &self.0 {
            MapEntries::Core(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                // Core maps keep insertion order; Go iterates in key order.
                entries.sort_unstable_by_key(|(key, _)| *key);
                let own = |(key, value): (&std::sync::Arc<str>, &Value)| {
                    (GoStr::Text(key.clone()), GoValue::from(value))
                };
                // The keys are shared, not copied.
                entries.into_iter().map(own).collect()
            }
            MapEntries::Built(built) => {
                let table = built.table.borrow();
                table.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
            }
        }
    }

    /// Returns the core map that this map shares, if any.
    #[must_use]
    pub fn as_core(&self) -> Option<&Map> {
        match &self.0 {
            MapEntries::Core(map) => Some(map),
            MapEntries::Built(_) => None,
        }
    }

    /// Returns whether both values are the same map, so that a change to one affects the other.
    #[must_use]
    pub fn is(&self, other: &GoMap) -> bool {
        // Core maps are immutable, so their identity never matters.
        match (&self.0, &other.0) {
            (MapEntries::Built(a), MapEntries::Built(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Creates an independent map that contains the same entries.
    #[must_use]
    pub fn copied(&self) -> GoMap {
        GoMap::of(self.element(), self.sorted().into_iter().collect())
    }

    /// Inserts an entry. All holders of this map see the change.
    ///
    /// # Errors
    /// Returns an error for the caller's map, which never changes, and if the value contains this
    /// map or is nested too deeply.
    pub fn insert(&self, key: GoStr, value: GoValue) -> Result<(), String> {
        let MapEntries::Built(built) = &self.0 else {
            return Err("cannot change a variable of the caller; copy it first".to_owned());
        };
        // A scalar has no depth and cannot form a cycle.
        if !is_container(&value) {
            built.table.borrow_mut().insert(key, value);
            return Ok(());
        }
        // The depth is checked before the insertion, because recursive functions would overflow the
        // stack on deeper values.
        if value.depth() >= MAX_DEPTH {
            return Err(format!("value nested deeper than {MAX_DEPTH} levels"));
        }
        // A cycle would leak memory and make printing endless.
        if contains(&value, built) {
            return Err("a map cannot contain itself".to_owned());
        }
        built.table.borrow_mut().insert(key, value);
        Ok(())
    }

    /// Removes an entry. All holders of this map see the change.
    ///
    /// # Errors
    /// Returns an error for the caller's map, which never changes.
    pub fn remove(&self, key: &[u8]) -> Result<Option<GoValue>, String> {
        match &self.0 {
            MapEntries::Built(built) => Ok(built.table.borrow_mut().remove(key)),
            MapEntries::Core(_) => {
                Err("cannot change a variable of the caller; copy it first".to_owned())
            }
        }
    }

    /// Returns the nesting depth, including this container. Counting stops one level above
    /// [`MAX_DEPTH`].
    #[must_use]
    pub fn depth(&self) -> u32 {
        match &self.0 {
            MapEntries::Core(map) => map.depth(),
            MapEntries::Built(_) => built_depth(self),
        }
    }

    /// Converts the map to a core map. Containers that are nested more than [`MAX_DEPTH`] levels
    /// deep become `null`.
    #[must_use]
    pub fn to_core(&self) -> Map {
        let MapEntries::Built(built) = &self.0 else {
            return self.as_core().cloned().unwrap_or_default();
        };
        // A map's depth may have grown since it was inserted into another map.
        if self.depth() > MAX_DEPTH {
            return Map::default();
        }
        let table = built.table.borrow();
        let core: MapTable = table
            .iter()
            .map(|(key, value)| (key.to_shared(), value.to_core()))
            .collect();
        Map::new(core)
    }
}

impl Default for GoMap {
    fn default() -> Self {
        GoMap::new()
    }
}

/// Whether a value contains a map at any depth. Visits each built container once.
fn contains(value: &GoValue, wanted: &Rc<BuiltMap>) -> bool {
    let mut seen: HashSet<*const ()> = HashSet::new();
    let mut work = vec![value.clone()];
    while let Some(value) = work.pop() {
        match value {
            GoValue::Map(GoMap(MapEntries::Built(map))) => {
                // Maps are compared by address, because equal maps are still different objects.
                if Rc::ptr_eq(&map, wanted) {
                    return true;
                }
                // Maps may share values, so without `seen` the search could take exponential time.
                if seen.insert(Rc::as_ptr(&map).cast()) {
                    work.extend(map.table.borrow().values().cloned());
                }
            }
            GoValue::List(GoList(ListItems::Built(list)))
                // Lists of scalars contain no maps.
                if list.depth > 1 && seen.insert(Rc::as_ptr(&list).cast()) =>
            {
                work.extend(list.items.iter().cloned());
            }
            _ => {}
        }
    }
    false
}

/// Returns the nesting depth of a built map. The count is breadth first and visits each container
/// once per level.
fn built_depth(map: &GoMap) -> u32 {
    let mut level = vec![GoValue::Map(map.clone())];
    let mut depth = 0;
    let mut deepest = 0;
    while !level.is_empty() && depth <= MAX_DEPTH {
        depth += 1;
        deepest = deepest.max(depth);
        // Each level has its own set, because a container may occur at several depths, and the
        // deepest one counts.
        let mut seen: HashSet<*const ()> = HashSet::new();
        let mut next = Vec::new();
        for value in level {
            match value {
                GoValue::Map(GoMap(MapEntries::Built(map))) => {
                    if seen.insert(Rc::as_ptr(&map).cast()) {
                        let table = map.table.borrow();
                        next.extend(table.values().filter(|v| is_container(v)).cloned());
                    }
                }
                other => deepest = deepest.max(depth - 1 + other.depth()),
            }
        }
        level = next;
    }
    deepest
}

fn is_container(value: &GoValue) -> bool {
    matches!(value, GoValue::List(_) | GoValue::Map(_))
}

// Drops a chain of maps without recursion. A template can build the chain from the outside in, so
// only the limits of a render bound its length.
impl Drop for BuiltMap {
    fn drop(&mut self) {
        // The table is moved out first, because dropping the values may drop other maps.
        let table = std::mem::take(&mut *self.table.borrow_mut());
        if table.values().any(is_container) {
            take_apart(table.into_values().collect());
        }
    }
}

fn take_apart(mut work: Vec<GoValue>) {
    while let Some(value) = work.pop() {
        match value {
            // A map with other holders is not dropped here.
            GoValue::Map(GoMap(MapEntries::Built(map))) if Rc::strong_count(&map) == 1 => {
                work.extend(std::mem::take(&mut *map.table.borrow_mut()).into_values());
            }
            GoValue::List(GoList(ListItems::Built(list))) => {
                // `None` if the list is shared. In that case its last holder drops the items.
                if let Some(list) = Rc::into_inner(list) {
                    work.extend(list.items);
                }
            }
            _ => {}
        }
    }
}

impl fmt::Debug for GoList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for GoMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.sorted()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: &GoMap) -> GoValue {
        GoValue::Map(value.clone())
    }

    #[test]
    fn a_map_cannot_contain_itself() {
        let (outer, inner) = (GoMap::new(), GoMap::new());
        outer.insert("inner".into(), map(&inner)).unwrap();
        assert!(outer.insert("self".into(), map(&outer)).is_err());
        assert!(inner.insert("outer".into(), map(&outer)).is_err());
        let list = GoList::new(vec![map(&outer)]);
        assert!(inner.insert("list".into(), GoValue::List(list)).is_err());
    }

    #[test]
    fn a_change_is_seen_by_all_who_hold_the_map() {
        let (outer, inner) = (GoMap::new(), GoMap::new());
        outer.insert("inner".into(), map(&inner)).unwrap();
        inner.insert("k".into(), GoValue::Int(1)).unwrap();
        let found = outer.get(b"inner").unwrap();
        assert!(found.as_map().unwrap().get(b"k").is_some());
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_maps_is_dropped_without_recursion() {
        let first = GoMap::new();
        let mut last = first.clone();
        for _ in 0..100_000 {
            let next = GoMap::new();
            last.insert("k".into(), map(&next)).unwrap();
            last = next;
        }
        drop(last);
        assert_eq!(first.depth(), MAX_DEPTH + 1);
        assert!(first.to_core().is_empty());
    }

    #[test]
    fn entries_come_in_the_order_of_their_keys() {
        let core: Map = [("b", Value::Int(1)), ("a", Value::Int(2))]
            .into_iter()
            .collect();
        let keys: Vec<GoStr> = GoMap::core(core)
            .sorted()
            .into_iter()
            .map(|e| e.0)
            .collect();
        assert_eq!(keys, [GoStr::from("a"), GoStr::from("b")]);
    }
}
