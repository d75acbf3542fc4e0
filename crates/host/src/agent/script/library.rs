//! Scripts and files that a script reads. A replay returns the content of the first read.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quillet_core::BoxFuture;
use quillet_core::journal::JournalEvent;
use quillet_core::lock::lock;
use quillet_script::library::Library;
use quillet_script::syntax::{Script, ScriptSource};
use quillet_script::{ErrorKind, ScriptError, reader};

use crate::agent::durable::RunJournal;

/// Library with recorded content.
#[derive(Debug)]
pub(super) struct JournaledLibrary {
    inner: Arc<dyn Library>,
    book: Arc<RunJournal>,
    scripts: Mutex<HashMap<String, Arc<Script>>>,
}

impl JournaledLibrary {
    pub(super) fn new(inner: Arc<dyn Library>, book: Arc<RunJournal>) -> Self {
        JournaledLibrary {
            inner,
            book,
            scripts: Mutex::default(),
        }
    }

    fn known(&self, key: &str) -> Option<Arc<Script>> {
        lock(&self.scripts).get(key).cloned()
    }

    fn know(&self, key: String, script: &Arc<Script>) {
        lock(&self.scripts).insert(key, script.clone());
    }

    async fn script(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<Script>>, ScriptError> {
        let key = key("script", name, from);
        if let Some(script) = self.known(&key) {
            return Ok(Some(script));
        }
        let script = match self.book.read_before(&key) {
            Some(read) => {
                let source = ScriptSource {
                    name: read.source,
                    path: read.path.map(PathBuf::from),
                    text: read.text.into(),
                };
                reader::read(Arc::new(source))
                    .finish()
                    .map_err(|diagnostics| ScriptError {
                        diagnostics,
                        ..ScriptError::plain(ErrorKind::Script, "", "")
                    })
                    .map(Arc::new)?
            }
            None => {
                let Some(script) = self.inner.find(name, from).await? else {
                    return Ok(None);
                };
                let source = &script.source;
                let path = source.path.as_deref();
                let read = JournalEvent::Read {
                    name: key.clone(),
                    source: source.name.clone(),
                    path: path.map(|path| path.display().to_string()),
                    text: source.text.to_string(),
                };
                self.write(read, name).await?;
                script
            }
        };
        self.know(key, &script);
        Ok(Some(script))
    }

    async fn bytes(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<[u8]>>, ScriptError> {
        let key = key("file", name, from);
        if let Some(read) = self.book.read_before(&key) {
            let bytes = STANDARD.decode(read.text).map_err(|error| {
                let message = format!("invalid file in the run's journal: {error}");
                ScriptError::plain(ErrorKind::Aborted, name, message)
            })?;
            return Ok(Some(bytes.into()));
        }
        let Some(bytes) = self.inner.file(name, from).await? else {
            return Ok(None);
        };
        let read = JournalEvent::Read {
            name: key,
            source: name.to_owned(),
            path: None,
            text: STANDARD.encode(&bytes),
        };
        self.write(read, name).await?;
        Ok(Some(bytes))
    }

    async fn write(&self, read: JournalEvent, name: &str) -> Result<(), ScriptError> {
        self.book.write(read).await.map_err(|error| {
            let message = format!("cannot write the run's journal: {error}");
            ScriptError::plain(ErrorKind::Aborted, name, message)
        })
    }
}

/// Key of a read. It includes the folder, because a name may refer to different files in different
/// folders.
fn key(kind: &str, name: &str, from: Option<&ScriptSource>) -> String {
    match from {
        Some(from) => format!("{kind} {name}, named by {}", from.name),
        None => format!("{kind} {name}"),
    }
}

impl Library for JournaledLibrary {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        Box::pin(self.script(name, from))
    }

    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        Box::pin(self.bytes(name, from))
    }

    fn ids(&self) -> Vec<String> {
        self.inner.ids()
    }
}
