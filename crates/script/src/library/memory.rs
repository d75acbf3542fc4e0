//! Scripts in memory, for stores and tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::BoxFuture;

use super::name;
use super::{Library, read};
use crate::error::ScriptError;
use crate::syntax::{Script, ScriptSource};

/// Scripts and files by name. Names are paths such as `char/dobby.ai.yaml`; a script's `path` is
/// its name.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<String, Arc<[u8]>>,
    scripts: BTreeMap<String, Result<Arc<Script>, ScriptError>>,
    ids: BTreeMap<String, String>,
}

impl Memory {
    /// Creates a library from the names and contents of files. Files with a script extension are
    /// parsed immediately.
    #[must_use]
    pub fn new<N: Into<String>, T: AsRef<[u8]>>(files: impl IntoIterator<Item = (N, T)>) -> Self {
        let mut memory = Memory::default();
        for (name, text) in files {
            memory.insert(name.into(), text.as_ref());
        }
        memory
    }

    /// Adds a parsed script or its error. The script can be found by its file name, by its own
    /// `_id` and by `id`.
    pub fn add(&mut self, id: &str, file: String, script: Result<Arc<Script>, ScriptError>) {
        self.ids.insert(id.to_owned(), file.clone());
        if let Ok(script) = &script {
            let bytes = Arc::<[u8]>::from(script.source.text.clone());
            self.files.insert(file.clone(), bytes);
            let own = name::id(script).to_owned();
            self.ids.entry(own).or_insert_with(|| file.clone());
        }
        self.scripts.insert(file, script);
    }

    fn insert(&mut self, file: String, bytes: &[u8]) {
        self.files.insert(file.clone(), bytes.into());
        let Some(stem) = name::stem(&file) else {
            return;
        };
        self.ids
            .entry(stem.to_owned())
            .or_insert_with(|| file.clone());
        let script = read::script(file.clone(), Some(PathBuf::from(&file)), bytes.to_vec());
        if let Ok(script) = &script {
            let id = name::id(script).to_owned();
            self.ids.entry(id).or_insert_with(|| file.clone());
        }
        self.scripts.insert(file, script);
    }

    /// Returns the possible paths of a name in order.
    fn places(&self, name: &str, from: Option<&ScriptSource>) -> Result<Vec<String>, ScriptError> {
        let own = from.filter(|source| self.files.contains_key(&source.name));
        let own = own.map(|source| name::join(name::folder(&source.name), name));
        let root = (from.is_none() || !name::is_explicit(name)).then(|| name::join("", name));
        let paths: Vec<_> = own.into_iter().chain(root).collect();
        let found: Vec<String> = paths.iter().flatten().cloned().collect();
        let refusal = paths.into_iter().find_map(Result::err);
        match refusal {
            Some(why) if found.is_empty() => Err(name::denied(name, from, why)),
            _ => Ok(found),
        }
    }

    fn get(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<Script>>, ScriptError> {
        let places = self.places(name, from)?;
        let candidates = places.iter().flat_map(|path| name::candidates(path));
        let mut found = candidates.filter_map(|file| self.scripts.get(&file));
        let by_id = || self.scripts.get(self.ids.get(name)?);
        found.next().or_else(by_id).cloned().transpose()
    }

    fn bytes(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<[u8]>>, ScriptError> {
        let places = self.places(name, from)?;
        let mut found = places.iter().filter_map(|path| self.files.get(path));
        Ok(found.next().cloned())
    }
}

impl Library for Memory {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        Box::pin(async move { self.get(name, from) })
    }

    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        Box::pin(async move { self.bytes(name, from) })
    }

    fn ids(&self) -> Vec<String> {
        self.ids.keys().cloned().collect()
    }
}
