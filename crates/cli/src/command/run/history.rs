//! Conversation files: `DIR/ID/history.yaml`.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use quillet_core::Value;
use quillet_script::library;
use quillet_script::run::{DialogueTurn, ScriptOutcome};
use quillet_script::syntax::Script;

use crate::args::Chats;
use crate::failure::CliError;

const FILE: &str = "history.yaml";

/// The file of one conversation.
#[derive(Debug)]
pub(super) struct ConversationFile {
    path: PathBuf,
    kept: Vec<TimedTurn>,
}

/// A turn with its timestamps.
#[derive(Clone, Debug, PartialEq)]
struct TimedTurn {
    turn: DialogueTurn,
    created: String,
    updated: String,
}

impl ConversationFile {
    /// Opens the conversation file of a script, if conversations are stored. A dry run only reads
    /// it.
    ///
    /// # Errors
    /// The file cannot be read, or the old one cannot be renamed.
    pub(super) fn open(
        chats: &Chats,
        script: &Script,
        dry: bool,
    ) -> Result<Option<Self>, CliError> {
        let folder = match &chats.histories {
            Some(folder) if !chats.no_chats => folder.join(name_of(library::id(script))),
            _ => return Ok(None),
        };
        let path = folder.join(FILE);
        let wrong = |error: std::io::Error| failed(&path, &error.to_string());
        // A dry run of a new conversation must not rename the old one.
        if dry && chats.new_chat {
            return Ok(None);
        }
        if !dry {
            fs::create_dir_all(&folder).map_err(wrong)?;
        }
        let is_there = path.is_file() && !dry;
        if chats.backup_chat && is_there {
            fs::copy(&path, free_name(&folder, "backup")).map_err(wrong)?;
        }
        if chats.new_chat && is_there {
            fs::rename(&path, free_name(&folder, "history")).map_err(wrong)?;
        }
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(wrong(error)),
        };
        let kept = read(&text).map_err(|why| failed(&path, &why))?;
        Ok(Some(ConversationFile { path, kept }))
    }

    /// Returns the previous turns.
    pub(super) fn turns(&self) -> Vec<DialogueTurn> {
        self.kept.iter().map(|kept| kept.turn.clone()).collect()
    }

    /// Saves the conversation. Existing turns keep their times.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&mut self, outcome: &ScriptOutcome) -> Result<(), CliError> {
        let now = Timestamp::now().to_string();
        let turns = outcome.messages.iter().skip(outcome.prefix);
        let turns = turns.filter(|turn| turn.role != "system");
        let kept = turns
            .enumerate()
            .map(|(index, turn)| match self.kept.get(index) {
                Some(before) if before.turn == *turn => before.clone(),
                Some(before) if before.turn.role == turn.role => TimedTurn {
                    turn: turn.clone(),
                    created: before.created.clone(),
                    updated: now.clone(),
                },
                _ => TimedTurn {
                    turn: turn.clone(),
                    created: now.clone(),
                    updated: now.clone(),
                },
            });
        self.kept = kept.collect();
        // The file is written under another name and renamed, so that readers never see a partial
        // file.
        let draft = self.path.with_extension("yaml.new");
        let written = fs::write(&draft, shown(&self.kept));
        let written = written.and_then(|()| fs::rename(&draft, &self.path));
        written.map_err(|error| failed(&self.path, &error.to_string()))
    }
}

fn failed(path: &Path, why: &str) -> CliError {
    CliError::Other(format!("{}: {why}", path.display()))
}

/// Converts an id to a folder name.
fn name_of(id: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_') {
            c
        } else {
            '_'
        }
    };
    id.chars().map(safe).collect()
}

/// Returns a file name that is not in use.
fn free_name(folder: &Path, kind: &str) -> PathBuf {
    let now = Timestamp::now().as_millisecond();
    folder.join(format!("{kind}-{now}.yaml"))
}

/// Parses the turns of a file.
fn read(text: &str) -> Result<Vec<TimedTurn>, String> {
    let value = quillet_yaml::parse_value(text);
    let value = value.map_err(|found| {
        let first = found.first().map(ToString::to_string);
        first.unwrap_or_default()
    })?;
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => items.iter().map(parse_turn).collect(),
        other => Err(format!("expected a list of turns, not {}", other.kind())),
    }
}

fn parse_turn(item: &Value) -> Result<TimedTurn, String> {
    let field = |name: &str| item.as_map()?.get(name)?.as_str().map(str::to_owned);
    let (Some(role), Some(content)) = (field("role"), field("content")) else {
        return Err("invalid turn: expected role and content".to_owned());
    };
    let created = field("createdAt").unwrap_or_default();
    Ok(TimedTurn {
        turn: DialogueTurn {
            role,
            content,
            name: field("name"),
            thinking: field("thinking"),
            ..DialogueTurn::default()
        },
        updated: field("updatedAt").unwrap_or_else(|| created.clone()),
        created,
    })
}

/// Formats the turns as YAML. Texts are quoted as in JSON, which is valid YAML.
fn shown(all: &[TimedTurn]) -> String {
    let mut text = String::new();
    for kept in all {
        let turn = &kept.turn;
        let fields = [
            ("role", Some(&turn.role)),
            ("name", turn.name.as_ref()),
            ("content", Some(&turn.content)),
            ("thinking", turn.thinking.as_ref()),
            ("createdAt", Some(&kept.created)),
            ("updatedAt", Some(&kept.updated)),
        ];
        let mut mark = "-";
        for (name, value) in fields {
            if let Some(value) = value {
                let value = serde_json::Value::from(value.as_str());
                let _ = writeln!(text, "{mark} {name}: {value}");
                mark = " ";
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_read_as_they_were_written() {
        let kept = |role: &str, content: &str, thinking: Option<&str>| TimedTurn {
            turn: DialogueTurn {
                role: role.into(),
                content: content.into(),
                thinking: thinking.map(Into::into),
                ..DialogueTurn::default()
            },
            created: "2026-01-01T00:00:00Z".into(),
            updated: "2026-01-02T00:00:00Z".into(),
        };
        let all = vec![
            kept("user", "a: b\n- \"c\" 你好 \u{1b}", None),
            kept("assistant", "", Some("hm")),
        ];
        assert_eq!(read(&shown(&all)).unwrap(), all);
        assert_eq!(read("").unwrap(), []);
        for wrong in ["a: 1", "- role: x", "- [", "5"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_stay_in_their_folder() {
        assert_eq!(name_of("../a b/ü-1"), "___a_b_ü-1");
    }
}
