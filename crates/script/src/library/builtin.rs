//! Scripts that are part of the program. A script of the same name in any other library
//! comes first.

use std::sync::{Arc, OnceLock};

use quillet_core::BoxFuture;

use super::{Library, name, read};
use crate::error::ScriptError;
use crate::syntax::{Script, ScriptSource};

/// Ids and texts, in alphabetical order.
const SCRIPTS: [(&str, &str); 7] = [
    ("char", include_str!("builtin/char.ai.yaml")),
    ("file", include_str!("builtin/file.ai.yaml")),
    ("json", include_str!("builtin/json.ai.yaml")),
    ("summary", include_str!("builtin/summary.ai.yaml")),
    ("titleify", include_str!("builtin/titleify.ai.yaml")),
    ("translator", include_str!("builtin/translator.ai.yaml")),
    ("url", include_str!("builtin/url.ai.yaml")),
];

/// The built-in scripts. Each is read when it is first asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinLibrary;

impl BuiltinLibrary {
    /// The built-in script of an id, with or without `.ai.yaml`.
    ///
    /// # Errors
    /// None of those that are part of the program; the type is that of every library.
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
