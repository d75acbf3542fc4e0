//! The user's file of API keys. Only the user may read and write it.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use quillet_core::LineColumn;
use toml::de::DeTable;

use crate::components::traces::create_parent_folder;
use crate::error::Error;
use crate::settings::{self, Setting};

/// The maximum size of a key file.
const MOST_BYTES: u64 = 64 << 10;
const HEAD: &str =
    "# API keys from `quillet keys`. The environment and quillet.toml take precedence.\n";

/// A provider that needs an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyProvider {
    /// OpenAI, or an OpenAI-compatible server.
    Openai,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Google,
}

impl KeyProvider {
    /// All providers.
    pub const ALL: [KeyProvider; 3] = [
        KeyProvider::Openai,
        KeyProvider::Anthropic,
        KeyProvider::Google,
    ];

    /// Returns the name, as in the file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            KeyProvider::Openai => "openai",
            KeyProvider::Anthropic => "anthropic",
            KeyProvider::Google => "google",
        }
    }

    /// Returns the provider with this name.
    ///
    /// ```
    /// use quillet::settings::keys::KeyProvider;
    ///
    /// assert_eq!(KeyProvider::from_name("google"), Some(KeyProvider::Google));
    /// assert_eq!(KeyProvider::from_name("Google"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = KeyProvider::ALL.into_iter();
        all.find(|provider| provider.name() == name)
    }

    /// Returns a description for help texts.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            KeyProvider::Openai => "OpenAI, or an OpenAI-compatible server",
            KeyProvider::Anthropic => "Anthropic",
            KeyProvider::Google => "Google's Gemini",
        }
    }

    /// Returns the setting that contains its key.
    pub fn setting(self) -> &'static Setting {
        match self {
            KeyProvider::Openai => &settings::API_KEY,
            KeyProvider::Anthropic => &settings::ANTHROPIC_KEY,
            KeyProvider::Google => &settings::GOOGLE_KEY,
        }
    }
}

/// A key file.
#[derive(Debug)]
pub struct KeyFile(PathBuf);

/// Keys with their line numbers, from 1.
type KeyLines = Vec<(KeyProvider, (String, usize))>;

impl KeyFile {
    /// Returns the user's key file, if the user has a home folder.
    pub fn of_user() -> Option<Self> {
        settings::user_keys().map(KeyFile)
    }

    /// Returns the path of the key file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the keys. Returns no keys if the file does not exist.
    ///
    /// # Errors
    /// The file cannot be read, or is not a valid key file.
    pub fn read(&self) -> Result<KeyLines, Error> {
        let text = match self.text() {
            Ok(text) => text,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(self.wrong(&error.to_string())),
        };
        self.parse(&text)
    }

    fn text(&self) -> std::io::Result<String> {
        let about = fs::metadata(&self.0)?;
        if about.len() > MOST_BYTES {
            let message = format!("too large: {} bytes (limit {MOST_BYTES})", about.len());
            return Err(std::io::Error::other(message));
        }
        fs::read_to_string(&self.0)
    }

    /// Never quotes the file, because the invalid part may be a key.
    fn parse(&self, text: &str) -> Result<KeyLines, Error> {
        let table = DeTable::parse(text);
        let table = table.map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            self.wrong(&format!("line {}: invalid TOML", line_of(text, place)))
        })?;
        let mut keys = KeyLines::new();
        for (name, value) in table.get_ref() {
            let line = line_of(text, name.span().start);
            let provider = KeyProvider::from_name(name.get_ref());
            let provider = provider.ok_or_else(|| {
                self.wrong(&format!(
                    "line {line}: unknown provider; expected openai, anthropic or google"
                ))
            })?;
            let key = value.get_ref().as_str();
            let key = key.ok_or_else(|| {
                self.wrong(&format!("line {line}: the key must be a string in quotes"))
            })?;
            keys.push((provider, (key.to_owned(), line)));
        }
        Ok(keys)
    }

    fn wrong(&self, what: &str) -> Error {
        Error::setting(format!(
            "cannot read the key file {}: {what}; fix it, or delete it and run `quillet keys set` again",
            self.0.display()
        ))
    }

    /// Returns whether other users may read the file.
    pub fn is_open_to_others(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::metadata(&self.0).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
        }
        #[cfg(not(unix))]
        false
    }

    /// Sets or removes a key. Returns whether the file contained a key for this provider.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn set(&self, provider: KeyProvider, key: Option<&str>) -> Result<bool, Error> {
        let mut keys = self.read()?;
        let before = keys.len();
        keys.retain(|(known, _)| *known != provider);
        let was_there = keys.len() < before;
        if key.is_none() && !was_there {
            return Ok(false);
        }
        keys.extend(key.map(|key| (provider, (key.to_owned(), 0))));
        // Keys are sorted, so that the file does not depend on the order in which they were set.
        keys.sort();
        create_parent_folder(&self.0)?;
        let failed = |error: std::io::Error| {
            Error::other_from(format!("cannot write {}: {error}", self.0.display()), error)
        };
        self.write(&keys).map_err(failed)?;
        Ok(was_there)
    }

    /// Writes a temporary file and renames it, so that the key file is never incomplete.
    fn write(&self, keys: &KeyLines) -> std::io::Result<()> {
        let mut text = HEAD.to_owned();
        for (provider, (key, _)) in keys {
            let key = toml::Value::String(key.clone());
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{} = {key}", provider.name());
        }
        // The process id prevents two processes from writing the same temporary file.
        let fresh = self.0.with_extension(format!("{}.new", std::process::id()));
        let mut file = only_for_its_user(&fresh)?;
        // The file is synced before the rename; otherwise a crash could leave an empty key file.
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        let moved = written.and_then(|()| fs::rename(&fresh, &self.0));
        if moved.is_err() {
            // Errors of the removal are ignored, because the error of the write is the one to
            // report.
            let _ = fs::remove_file(&fresh);
        }
        moved
    }
}

fn line_of(text: &str, place: usize) -> usize {
    LineColumn::of(text, place).line
}

fn only_for_its_user(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    // A new file has its permissions from the first byte, and no link is followed.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
