//! Recording and replay of model responses: `--record` and `--replay`.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::chat::{ChatModel, ModelError};
use quillet_llm::{Record, Replay};

use crate::error::Error;
use crate::settings::{self, Settings};

/// Mode of recording or replay.
#[derive(Clone, Debug)]
pub enum RecordReplay {
    /// Neither records nor replays.
    Off,
    /// Records responses in this folder.
    Record(PathBuf),
    /// Replays recordings without calling models.
    Replay(Arc<Replay>),
}

impl RecordReplay {
    /// Returns the configured mode.
    ///
    /// # Errors
    /// Both are configured, or the recordings cannot be read.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        match (
            settings.text(&settings::RECORD),
            settings.text(&settings::REPLAY),
        ) {
            (None, None) => Ok(RecordReplay::Off),
            (Some(folder), None) => Ok(RecordReplay::Record(folder.into())),
            (None, Some(folder)) => {
                let replay = Replay::open(folder);
                let replay =
                    replay.map_err(|error| Error::setting_from(error.message.clone(), error))?;
                Ok(RecordReplay::Replay(Arc::new(replay)))
            }
            (Some(_), Some(_)) => Err(Error::setting(
                "model.record and model.replay cannot both be set: remove one of them".into(),
            )),
        }
    }

    /// Returns whether recordings are replayed.
    pub fn is_replay(&self) -> bool {
        matches!(self, RecordReplay::Replay(_))
    }

    /// Wraps a model for recording or replay.
    ///
    /// # Errors
    /// The folder for recordings cannot be created.
    pub fn wrap_model(&self, model: Arc<dyn ChatModel>) -> Result<Arc<dyn ChatModel>, ModelError> {
        Ok(match self {
            RecordReplay::Off => model,
            RecordReplay::Record(folder) => Arc::new(Record::new(model, folder)?),
            // The real model is dropped here, so a replay can never reach a provider.
            RecordReplay::Replay(replay) => replay.clone(),
        })
    }
}
