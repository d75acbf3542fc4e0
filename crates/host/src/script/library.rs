//! Library of the scripts in a snapshot, built once per snapshot.

use std::sync::{Arc, Mutex, Weak};

use quillet_core::Diagnostic;
use quillet_core::lock::lock;
use quillet_prompt::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry, script_source};
use quillet_script::library::{BuiltinLibrary, LayeredLibrary, Library, Memory};
use quillet_script::syntax::Script;
use quillet_script::{ErrorKind, ScriptError};

use super::reader;

/// Library of the latest snapshot.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    last: Mutex<Option<CachedLibrary>>,
}

type CachedLibrary = (Weak<CatalogueSnapshot>, Arc<dyn Library>);

impl Libraries {
    pub(super) fn of(&self, snapshot: &Arc<CatalogueSnapshot>) -> Arc<dyn Library> {
        let mut last = lock(&self.last);
        // The weak pointer keeps the allocation, so its address is not reused, and equal pointers
        // mean the same snapshot.
        if let Some((known, library)) = last.as_ref()
            && Weak::as_ptr(known) == Arc::as_ptr(snapshot)
        {
            return library.clone();
        }
        let library = library(snapshot);
        *last = Some((Arc::downgrade(snapshot), library.clone()));
        library
    }
}

fn library(snapshot: &CatalogueSnapshot) -> Arc<dyn Library> {
    let mut stored = Memory::default();
    for definition in snapshot.prompts.values() {
        if let Some((file, script)) = to_loaded_script(definition) {
            stored.add(&definition.id, file, script);
        }
    }
    Arc::new(LayeredLibrary::new(vec![
        Arc::new(stored),
        Arc::new(BuiltinLibrary),
    ]))
}

type LoadedScript = (String, Result<Arc<Script>, ScriptError>);

/// Loads a script by its file name. Loading an invalid script is an error for the caller.
fn to_loaded_script(definition: &Definition<PromptEntry>) -> Option<LoadedScript> {
    match &definition.state {
        DefinitionState::Valid(entry) => {
            let stored = entry.script()?;
            Some((stored.name.to_string(), Ok(reader::script(stored)?)))
        }
        DefinitionState::Invalid => {
            script_source(&definition.text)?;
            let file = format!("{}.ai.yaml", definition.id.replace('.', "/"));
            Some((file, Err(broken(&definition.diagnostics))))
        }
    }
}

fn broken(diagnostics: &[Diagnostic]) -> ScriptError {
    ScriptError {
        diagnostics: diagnostics.to_vec(),
        ..ScriptError::plain(ErrorKind::Script, "", "")
    }
}
