//! Tools of a store and of other owners, and the tool behind each function name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::store::{EntryKey, StoreEntry};
use quillet_core::tool::Tool;

use crate::build::{Builder, report};
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, ToolEntry};

/// A changed entry; `None` if it was removed.
pub(crate) type EntryChange = (EntryKey, Option<StoreEntry>);

/// Tools and their function names.
#[derive(Debug, Default)]
pub(crate) struct ToolRegistry {
    /// Stored tools by id. Several keys can map to one id; the greatest key takes precedence.
    stored: BTreeMap<Arc<str>, BTreeMap<EntryKey, StoredTool>>,
    /// Keys and ids of stored tools, by function name.
    names: BTreeMap<Arc<str>, BTreeMap<EntryKey, Arc<str>>>,
    /// Tools that are not in the store, by name.
    offered: BTreeMap<Arc<str>, BuiltinTool>,
    /// Names with capital letters, by their lowercase form.
    capitals: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

#[derive(Debug)]
struct BuiltinTool {
    owner: &'static str,
    tool: Arc<dyn Tool>,
}

#[derive(Debug)]
struct StoredTool {
    entry: StoreEntry,
    built: Arc<Definition<ToolEntry>>,
}

impl ToolRegistry {
    pub(crate) fn keys(&self) -> BTreeSet<EntryKey> {
        let keys = self.stored.values().flat_map(BTreeMap::keys);
        keys.cloned().collect()
    }

    pub(crate) fn holds(&self, id: &str, entry: &StoreEntry) -> bool {
        let same = self.stored.get(id).and_then(|same| same.get(&entry.key));
        same.is_some_and(|stored| stored.entry == *entry)
    }

    /// Applies changes to a snapshot.
    pub(crate) fn change(
        &mut self,
        builder: &Builder,
        next: &mut CatalogueSnapshot,
        changes: Vec<EntryChange>,
    ) {
        let mut touched = BTreeSet::new();
        for (key, entry) in changes {
            let id: Arc<str> = key.id().into();
            let name: Arc<str> = key.function_name().into();
            match entry {
                Some(entry) => {
                    let built = Arc::new(builder.tool(&entry, &id, &name));
                    let names = self.names.entry(name.clone()).or_default();
                    names.insert(key.clone(), id.clone());
                    let same = self.stored.entry(id.clone()).or_default();
                    same.insert(key, StoredTool { entry, built });
                }
                None => self.forget(&id, &name, &key),
            }
            if !self.stored.contains_key(&id) {
                next.tools.remove(&id);
            }
            touched.insert(name);
        }
        for name in touched {
            self.define(next, &name);
            self.call(next, &name);
        }
    }

    /// Replaces the tools of an owner that are not in the store. If two owners offer the same name,
    /// the first one keeps it.
    pub(crate) fn offer(
        &mut self,
        next: &mut CatalogueSnapshot,
        owner: &'static str,
        tools: Vec<Arc<dyn Tool>>,
    ) {
        let mut touched = BTreeSet::new();
        self.offered.retain(|name, offered| {
            let stays = offered.owner != owner;
            if !stays {
                touched.insert(name.clone());
            }
            stays
        });
        for tool in tools {
            let name: Arc<str> = tool.spec().name.as_str().into();
            touched.insert(name.clone());
            self.offered
                .entry(name)
                .or_insert(BuiltinTool { owner, tool });
        }
        for name in touched {
            self.call(next, &name);
        }
    }

    fn forget(&mut self, id: &str, name: &str, key: &EntryKey) {
        if let Some(same) = self.stored.get_mut(id) {
            same.remove(key);
            if same.is_empty() {
                self.stored.remove(id);
            }
        }
        if let Some(names) = self.names.get_mut(name) {
            names.remove(key);
            if names.is_empty() {
                self.names.remove(name);
            }
        }
    }

    /// Lists the tools that claim a name. The first valid tool gets the name, and later ones get an
    /// error.
    fn define(&self, next: &mut CatalogueSnapshot, name: &str) {
        let mut owner: Option<&EntryKey> = None;
        for (key, id) in self.names.get(name).into_iter().flatten() {
            let Some(same) = self.stored.get(id) else {
                continue;
            };
            let Some(stored) = same.get(key) else {
                continue;
            };
            let mut definition = stored.built.clone();
            if let Some(owner) = owner {
                let message = format!(
                    "the name {name} belongs to the tool {owner}, so this one cannot be called"
                );
                let found = Diagnostic::warning("tool.name", &format!("tool {id}"), message);
                Arc::make_mut(&mut definition).diagnostics.push(found);
            } else if let DefinitionState::Valid(_) = definition.state {
                owner = Some(key);
            }
            let counts = same.last_key_value().is_some_and(|(last, _)| last == key);
            let known = next.tools.get(id);
            if counts && known.is_none_or(|known| !Arc::ptr_eq(known, &definition)) {
                report("tool", &definition);
                next.tools.insert(id.clone(), definition);
            }
        }
    }

    /// Updates the tool behind a name. Its lowercase form becomes an alias unless another tool has
    /// that name, because some clients convert function names to lower case.
    fn call(&mut self, next: &mut CatalogueSnapshot, name: &Arc<str>) {
        let lower = name.to_lowercase();
        if *lower != **name {
            let lower: Arc<str> = lower.into();
            let capitals = self.capitals.entry(lower.clone()).or_default();
            if self.names.contains_key(name) || self.offered.contains_key(name) {
                capitals.insert(name.clone());
            } else {
                capitals.remove(name);
            }
            if capitals.is_empty() {
                self.capitals.remove(&lower);
            }
            self.set(next, &lower);
        }
        self.set(next, name);
    }

    fn set(&self, next: &mut CatalogueSnapshot, name: &Arc<str>) {
        let alias = || {
            let mut capitals = self.capitals.get(name).into_iter().flatten();
            capitals.find_map(|name| self.own(name))
        };
        match self.own(name).or_else(alias) {
            Some(tool) => drop(next.functions.insert(name.clone(), tool.clone())),
            None => drop(next.functions.remove(name)),
        }
    }

    /// Returns the tool with exactly this name. A stored tool takes precedence.
    fn own(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let keys = self.names.get(name).into_iter().flatten();
        let mut stored = keys.filter_map(|(key, id)| self.stored.get(id)?.get(key));
        let usable = stored.find_map(|stored| match &stored.built.state {
            DefinitionState::Valid(entry) => Some(&entry.tool),
            DefinitionState::Invalid => None,
        });
        usable.or_else(|| self.offered.get(name).map(|offered| &offered.tool))
    }
}
