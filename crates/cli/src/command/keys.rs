//! `quillet keys`: API keys in a file that only its user can read.

use std::io::{IsTerminal, stdin};

use quillet::settings::keys::{KeyFile, KeyProvider};
use quillet::settings::{SettingOrigin, Settings};
use serde_json::{Value, json};

use crate::args::KeysCommand;
use crate::failure::CliError;
use crate::source;
use crate::terminal;

/// Keys shorter than this are hidden completely, because four characters would reveal too much.
const LEAST_TO_SHOW: usize = 16;

pub(crate) fn run(command: &KeysCommand, config: &Settings) -> Result<(), CliError> {
    let file = KeyFile::of_user()
        .ok_or_else(|| CliError::Usage("no folder for keys: set HOME or XDG_CONFIG_HOME".into()))?;
    match command {
        KeysCommand::List { json } => list(*json, config, &file),
        KeysCommand::Set { provider } => set(*provider, config, &file),
        KeysCommand::Remove { provider } => {
            if file.set(*provider, None)? {
                Ok(())
            } else {
                Err(CliError::Other(format!(
                    "no key for {} in {}",
                    provider.name(),
                    file.path().display()
                )))
            }
        }
    }
}

fn list(json: bool, config: &Settings, file: &KeyFile) -> Result<(), CliError> {
    let rows: Vec<Value> = KeyProvider::ALL
        .into_iter()
        .map(|provider| row(provider, config))
        .collect();
    if json {
        terminal::line(&format!("{:#}", Value::Array(rows)))?;
    } else {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
        let lines = rows.iter().map(|row| {
            format!(
                "{:<10} {:<6} {}\n",
                text(row, "provider"),
                text(row, "ends_with"),
                text(row, "origin")
            )
        });
        terminal::result(&lines.collect::<String>())?;
    }
    if file.is_open_to_others() {
        terminal::warning(&format!(
            "{0} is readable by other users; run `chmod 600 {0}`",
            file.path().display()
        ));
    }
    Ok(())
}

fn row(provider: KeyProvider, config: &Settings) -> Value {
    let setting = provider.setting();
    let mut row = json!({"provider": provider.name()});
    if let Some(key) = config.text(setting) {
        row["ends_with"] = ending(key).into();
        row["origin"] = config.origin(setting).map(SettingOrigin::to_string).into();
    }
    row
}

/// Returns the last four characters of a long key.
fn ending(key: &str) -> String {
    let count = key.chars().count();
    if count < LEAST_TO_SHOW {
        "…".to_owned()
    } else {
        format!("…{}", key.chars().skip(count - 4).collect::<String>())
    }
}

fn set(provider: KeyProvider, config: &Settings, file: &KeyFile) -> Result<(), CliError> {
    let key = if stdin().is_terminal() {
        // The key is never an argument, because arguments are visible to other users and saved by
        // the shell.
        terminal::hidden(&format!("key for {}: ", provider.name()))?
    } else {
        source::read("-")?
    };
    let key = key.trim();
    // Other characters cannot be sent in a header, and usually come from a wrong paste.
    let is_right = !key.is_empty() && key.chars().all(|c| c.is_ascii_graphic());
    if !is_right {
        return Err(CliError::Usage(
            "invalid key: expected letters, digits and symbols without spaces; pass it on standard input, as in `quillet keys set openai < FILE`".into(),
        ));
    }
    file.set(provider, Some(key))?;
    terminal::note(&format!("saved in {}", file.path().display()));
    match config.origin(provider.setting()) {
        Some(origin @ (SettingOrigin::Environment(_) | SettingOrigin::Flag(_))) => {
            terminal::warning(&format!("{origin} is set and takes precedence"));
        }
        Some(SettingOrigin::File(path, line)) if path != file.path() => {
            terminal::warning(&format!(
                "{}:{line} sets another key, which takes precedence",
                path.display()
            ));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_end_of_a_key_is_shown() {
        for (key, shown) in [
            ("sk-0123456789abcdef", "…cdef"),
            ("short-key", "…"),
            ("", "…"),
        ] {
            assert_eq!(ending(key), shown);
        }
    }
}
