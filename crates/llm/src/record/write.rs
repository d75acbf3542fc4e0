//! Records requests and answers of a model.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use serde::Serialize;
use tokio::time::Instant;

use super::canonical;
use super::exchange::{RecordedEnd, RecordedItem, RecordingHeader, RecordingLine};
use super::scrub;

/// Maximum size of a recording in bytes. A longer exchange is not recorded.
const MOST_BYTES: usize = 64 << 20;
/// Maximum length of the model name in a file name, in characters.
const NAME_CHARACTERS: usize = 40;

/// A model that records each request and its answer in a file. A failed recording (a full disk,
/// more than 64 MiB) is logged and does not affect the answer.
///
/// Writes are small and buffered, but they block the task that reads the answer. Use this model for
/// development and tests, not on a busy server.
#[derive(Debug)]
pub struct Record {
    model: Arc<dyn ChatModel>,
    folder: PathBuf,
}

impl Record {
    /// Records the answers of this model in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(model: Arc<dyn ChatModel>, folder: impl Into<PathBuf>) -> Result<Self, ModelError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(|error| {
            let message = format!("cannot write recordings to {}: {error}", folder.display());
            ModelError::new(ModelErrorKind::Configuration, message)
        })?;
        Ok(Record { model, folder })
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let mut recording = Recording::begin(&self.folder, &request);
        let answer = self.model.stream(request).await;
        if let Err(error) = &answer {
            recording.item(Err(error));
        }
        Ok(recorded(answer?, recording))
    }
}

impl ChatModel for Record {
    fn describe(&self) -> String {
        format!("{}, recorded", self.model.describe())
    }

    fn is_configured(&self) -> bool {
        self.model.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// Records a stream while it is read.
fn recorded(answer: ChatStream, recording: Recording) -> ChatStream {
    Box::pin(stream::unfold(
        (answer, recording),
        |(mut answer, mut recording)| async move {
            let item = answer.next().await;
            match &item {
                Some(item) => recording.item(item.as_ref()),
                None => recording.end(RecordedEnd::Done),
            }
            item.map(|item| (item, (answer, recording)))
        },
    ))
}

/// Recording of one exchange. Dropping it before the end records a cancellation.
struct Recording {
    /// `None` when the recording is complete or has failed.
    file: Option<AtomicFile>,
    begun: Instant,
    finished: bool,
}

/// A file that gets its final name when it is complete.
struct AtomicFile {
    writer: BufWriter<File>,
    draft: PathBuf,
    path: PathBuf,
    bytes: usize,
}

impl Recording {
    fn begin(folder: &Path, request: &ChatRequest) -> Self {
        let form = canonical::form(request);
        let head = RecordingHeader {
            quillet: "exchange".to_owned(),
            version: 1,
            request: form,
        };
        let draft = AtomicFile::create(folder, request.model.as_deref().unwrap_or("default"));
        let mut recording = Recording {
            file: None,
            begun: Instant::now(),
            finished: false,
        };
        match draft {
            Ok(draft) => recording.file = Some(draft),
            Err(error) => complain(folder, &error),
        }
        recording.write(&head);
        recording
    }

    fn item(&mut self, item: Result<&ChatEvent, &ModelError>) {
        self.finished |= matches!(item, Ok(ChatEvent::Finish { .. }));
        let failed = item.is_err();
        self.write(&RecordingLine::new(
            self.begun.elapsed(),
            RecordedItem::item(item),
        ));
        if failed {
            self.keep();
        }
    }

    fn end(&mut self, end: RecordedEnd) {
        self.write(&RecordingLine::new(
            self.begun.elapsed(),
            RecordedItem::End(end),
        ));
        self.keep();
    }

    fn write(&mut self, line: &impl Serialize) {
        let Some(draft) = &mut self.file else {
            return;
        };
        if let Err(error) = draft.line(line) {
            complain(&draft.path, &error);
            let _ = fs::remove_file(&draft.draft);
            self.file = None;
        }
    }

    fn keep(&mut self) {
        if let Some(mut draft) = self.file.take()
            && let Err(error) = draft.keep()
        {
            complain(&draft.path, &error);
        }
    }
}

/// A caller that stops after the finish event has read the whole answer.
impl Drop for Recording {
    fn drop(&mut self) {
        if self.file.is_some() {
            self.end(if self.finished {
                RecordedEnd::Done
            } else {
                RecordedEnd::Cancelled
            });
        }
    }
}

impl AtomicFile {
    fn create(folder: &Path, model: &str) -> io::Result<Self> {
        // Version 7 UUIDs sort by time, even within one millisecond of one process.
        let id = uuid::Uuid::now_v7().simple();
        let name = format!("{id}-{}", safe(model));
        let draft = folder.join(format!(".{name}.part"));
        let file = File::options().write(true).create_new(true).open(&draft)?;
        Ok(AtomicFile {
            writer: BufWriter::new(file),
            draft,
            path: folder.join(format!("{name}.jsonl")),
            bytes: 0,
        })
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_value(line)?;
        scrub::value(&mut line);
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            let message = format!("the exchange is longer than {MOST_BYTES} bytes");
            return Err(io::Error::other(message));
        }
        self.writer.write_all(&text)
    }

    fn keep(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        fs::rename(&self.draft, &self.path)
    }
}

fn complain(path: &Path, error: &io::Error) {
    tracing::warn!(target: "quillet::llm", "no recording {}: {error}", path.display());
}

/// Replaces characters of a model name that are not safe in a file name.
fn safe(model: &str) -> String {
    let keep = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
        '.' => c,
        _ => '_',
    };
    model.chars().take(NAME_CHARACTERS).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_in_the_folder() {
        for (model, name) in [
            ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
            ("../../etc/passwd", ".._.._etc_passwd"),
            ("a\0b\nc:d", "a_b_c_d"),
            ("模型", "__"),
            ("", ""),
        ] {
            assert_eq!(safe(model), name);
        }
        assert_eq!(safe(&"x".repeat(5000)).len(), NAME_CHARACTERS);
    }
}
