//! Recording what models answer, and playing it again: `--record` and `--replay`.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::chat::{ChatModel, ModelError};
use quillet_llm::{Record, Replay};

use crate::error::Error;
use crate::settings::{self, Settings};

/// What stands between the program and its models.
#[derive(Clone, Debug)]
pub enum RecordReplay {
    /// Nothing.
    Off,
    /// Answers are written into this folder.
    Record(PathBuf),
    /// Recordings answer, and no model is asked.
    Replay(Arc<Replay>),
}

impl RecordReplay {
    /// What is configured.
    ///
    /// # Errors
    /// Both are, or the recordings cannot be read.
    pub fn of(settings: &Settings) -> Result<Self, Error> {
        match (settings.text(&settings::RECORD), settings.text(&settings::REPLAY)) {
            (None, None) => Ok(RecordReplay::Off),
            (Some(folder), None) => Ok(RecordReplay::Record(folder.into())),
            (None, Some(folder)) => {
                let replay = Replay::open(folder);
                let replay = replay.map_err(|error| Error::setting_from(error.message.clone(), error))?;
                Ok(RecordReplay::Replay(Arc::new(replay)))
            }
            (Some(_), Some(_)) => Err(Error::setting(
                "model.record and model.replay are both set: what is replayed cannot be recorded, take one away".into(),
            )),
        }
    }

    /// Whether recordings answer in place of models.
    pub fn plays(&self) -> bool {
        matches!(self, RecordReplay::Replay(_))
    }

    /// A model behind the tape.
    ///
    /// # Errors
    /// The folder for recordings cannot be made.
    pub fn around(&self, model: Arc<dyn ChatModel>) -> Result<Arc<dyn ChatModel>, ModelError> {
        Ok(match self {
            RecordReplay::Off => model,
            RecordReplay::Record(folder) => Arc::new(Record::new(model, folder)?),
            RecordReplay::Replay(replay) => replay.clone(),
        })
    }
}
