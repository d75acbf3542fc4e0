//! Built-in scripts. A script with the same name in another library takes precedence.

use std::sync::{Arc, OnceLock};

use quillet_core::BoxFuture;

use super::{Library, name, read};
use crate::error::ScriptError;
use crate::syntax::{Script, ScriptSource};

/// Ids and texts in alphabetical order.
const SCRIPTS: [(&str, &str); 7] = [
    ("char", include_str!("builtin/char.ai.yaml")),
    ("file", include_str!("builtin/file.ai.yaml")),
    ("json", include_str!("builtin/json.ai.yaml")),
    ("summary", include_str!("builtin/summary.ai.yaml")),
    ("titleify", include_str!("builtin/titleify.ai.yaml")),
    ("translator", include_str!("builtin/translator.ai.yaml")),
    ("url", include_str!("builtin/url.ai.yaml")),
];

/// The built-in scripts. Each is parsed on first use.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinLibrary;

impl BuiltinLibrary {
    /// Returns the built-in script that has this id. The extension `.ai.yaml` is optional.
    ///
    /// # Errors
    /// Never fails; the return type is the same for all libraries.
    pub fn get(id: &str) -> Result<Option<Arc<Script>>, ScriptError> {
        static READ: [OnceLock<Result<Arc<Script>, ScriptError>>; SCRIPTS.len()] =
            [const { OnceLock::new() }; SCRIPTS.len()];
        let id = id.strip_suffix(name::EXTENSIONS[0]).unwrap_or(id);
        let mut slots = SCRIPTS.iter().zip(&READ);
        let Some(((_, text), slot)) = slots.find(|((known, _), _)| *known == id) else {
            return Ok(None);
        };
        let read = || {
            let name = format!("builtin/{id}.ai.yaml");
            let text = Arc::from(*text);
            let path = None;
            read::text_of(ScriptSource { name, path, text })
        };
        slot.get_or_init(read).clone().map(Some)
    }
}

impl Library for BuiltinLibrary {
    fn find<'a>(
        &'a self,
        name: &'a str,
        _: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        Box::pin(async move { BuiltinLibrary::get(name) })
    }

    fn file<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        Box::pin(async { Ok(None) })
    }

    fn ids(&self) -> Vec<String> {
        SCRIPTS.iter().map(|(id, _)| (*id).to_owned()).collect()
    }
}
