//! Replays recorded exchanges.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use quillet_core::lock::lock;
use serde_json::Value;
use tokio::time::Instant;

use super::canonical::{self, Differences};
use super::exchange::{RecordedEnd, RecordedItem, RecordingHeader, RecordingLine};

/// Maximum size of a recording in bytes.
const MOST_BYTES: u64 = 128 << 20;

/// Speed of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplaySpeed {
    /// Each event at its recorded time after the request.
    #[default]
    AsRecorded,
    /// All events immediately.
    AtOnce,
}

/// A model that replays recordings. If a request was recorded several times, the recordings are
/// used in order, and the last recording is repeated.
#[derive(Debug)]
pub struct Replay {
    folder: PathBuf,
    pace: ReplaySpeed,
    tapes: Vec<ReplayIndex>,
    /// Indexes of the recordings by canonical request, and the position of the next one.
    by_request: Mutex<HashMap<String, (Vec<usize>, usize)>>,
}

/// A recording; its events are read when it is replayed.
#[derive(Debug)]
struct ReplayIndex {
    path: PathBuf,
    request: Value,
}

impl Replay {
    /// Opens a folder of recordings.
    ///
    /// # Errors
    /// The folder or a recording in it cannot be read; the error names it.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, ModelError> {
        let folder = folder.into();
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "jsonl")
            })
            .collect();
        // File names begin with the time of the request, so this sorts them by time.
        paths.sort();
        let tapes: Vec<ReplayIndex> = paths
            .into_iter()
            .map(ReplayIndex::open)
            .collect::<Result<_, _>>()?;
        let mut by_request: HashMap<String, (Vec<usize>, usize)> = HashMap::new();
        for (index, tape) in tapes.iter().enumerate() {
            let known = by_request.entry(tape.request.to_string()).or_default();
            known.0.push(index);
        }
        Ok(Replay {
            folder,
            pace: ReplaySpeed::default(),
            tapes,
            by_request: Mutex::new(by_request),
        })
    }

    /// Sets the speed of the replay.
    #[must_use]
    pub fn pace(mut self, pace: ReplaySpeed) -> Self {
        self.pace = pace;
        self
    }

    /// Number of recordings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tapes.len()
    }

    /// Whether there are no recordings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tapes.is_empty()
    }

    async fn play(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let begun = Instant::now();
        let form = canonical::form(&request);
        let tape = self.next(&form).ok_or_else(|| self.no_match_error(&form))?;
        let mut lines = tape.lines()?.into_iter();
        // The first item decides whether the call succeeds.
        let first = lines
            .next()
            .ok_or_else(|| tape.broken(2, "the recording has no answer"))?;
        wait(self.pace, begun, &first).await;
        let first = read(first).transpose()?;
        let playing = ReplayStream {
            lines,
            pace: self.pace,
            begun,
        };
        let rest = stream::unfold(playing, ReplayStream::next);
        Ok(Box::pin(stream::iter(first.map(Ok)).chain(rest)))
    }

    /// Returns the next recording for this request.
    fn next(&self, form: &Value) -> Option<&ReplayIndex> {
        let mut known = lock(&self.by_request);
        let (tapes, next) = known.get_mut(&form.to_string())?;
        let index = tapes.get(*next).or(tapes.last())?;
        *next += 1;
        self.tapes.get(*index)
    }

    fn no_match_error(&self, form: &Value) -> ModelError {
        let folder = self.folder.display();
        let compared = self
            .tapes
            .iter()
            .map(|tape| (Differences::between(&tape.request, form), tape));
        let nearest = compared.min_by_key(|(differences, _)| differences.count);
        let message = match nearest {
            None => format!("no recording matches the request: {folder} has no recordings"),
            Some((differences, tape)) => {
                let name = tape.path.file_name().unwrap_or_default().to_string_lossy();
                let more = match differences.count - differences.count.min(1) {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                let first = differences.first;
                format!(
                    "no recording in {folder} matches the request; the nearest, {name}, differs in {first}{more}"
                )
            }
        };
        ModelError::new(ModelErrorKind::Configuration, message)
    }
}

impl ChatModel for Replay {
    fn describe(&self) -> String {
        format!("recordings in {}", self.folder.display())
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.play(request))
    }
}

/// Remaining part of a recording during a replay.
struct ReplayStream {
    lines: std::vec::IntoIter<RecordingLine>,
    pace: ReplaySpeed,
    begun: Instant,
}

impl ReplayStream {
    async fn next(mut self) -> Option<(Result<ChatEvent, ModelError>, Self)> {
        let line = self.lines.next()?;
        wait(self.pace, self.begun, &line).await;
        Some((read(line)?, self))
    }
}

async fn wait(pace: ReplaySpeed, begun: Instant, line: &RecordingLine) {
    if pace == ReplaySpeed::AsRecorded {
        tokio::time::sleep_until(begun + line.since()).await;
    }
}

/// Converts a line into an event or an error; `None` for the end of the answer.
fn read(line: RecordingLine) -> Option<Result<ChatEvent, ModelError>> {
    match line.what {
        RecordedItem::Event(event) => Some(Ok(event)),
        RecordedItem::Error(failure) => Some(Err(failure.into())),
        RecordedItem::End(RecordedEnd::Done) => None,
        RecordedItem::End(RecordedEnd::Cancelled) => Some(Err(ModelError::new(
            ModelErrorKind::Cut,
            "the recording ends here: the client disconnected before the rest",
        ))),
    }
}

impl ReplayIndex {
    fn open(path: PathBuf) -> Result<Self, ModelError> {
        let file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        let mut line = String::new();
        let mut reader = BufReader::new(file.take(MOST_BYTES));
        let read = reader.read_line(&mut line);
        read.map_err(|error| unreadable(&path, &error))?;
        let head: Result<RecordingHeader, _> = serde_json::from_str(&line);
        let mut tape = ReplayIndex {
            path,
            request: Value::Null,
        };
        let head = head.map_err(|error| tape.broken(1, &error.to_string()))?;
        if (head.quillet.as_str(), head.version) != ("exchange", 1) {
            return Err(tape.broken(1, "not a recording of version 1"));
        }
        tape.request = canonical::sorted(head.request);
        Ok(tape)
    }

    fn lines(&self) -> Result<Vec<RecordingLine>, ModelError> {
        let file = File::open(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let reader = BufReader::new(file.take(MOST_BYTES));
        let mut lines = Vec::new();
        for (index, line) in reader.lines().enumerate().skip(1) {
            let line = line.map_err(|error| unreadable(&self.path, &error))?;
            let line = serde_json::from_str(&line);
            lines.push(line.map_err(|error| self.broken(index + 1, &error.to_string()))?);
        }
        Ok(lines)
    }

    fn broken(&self, line: usize, cause: &str) -> ModelError {
        let path = self.path.display();
        let message = format!("invalid recording {path}, line {line}: {cause}");
        ModelError::new(ModelErrorKind::Configuration, message)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> ModelError {
    let message = format!("cannot read recordings from {}: {error}", path.display());
    ModelError::new(ModelErrorKind::Configuration, message)
}
