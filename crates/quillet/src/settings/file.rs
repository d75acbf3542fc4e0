//! Reading of a configuration file: TOML with locations, so that every error has one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use quillet_core::{Diagnostic, LineColumn, Span};
use quillet_tools::ToolsConfig;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::setting::{self, SettingType};
use super::{SettingValue, number, tokens};
use crate::error::LocatedDiagnostic;

/// The maximum size of a configuration file.
const MOST_BYTES: u64 = 1 << 20;

/// The settings in a file.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    /// Values with their line numbers, from 1.
    pub(super) values: BTreeMap<&'static str, (SettingValue, usize)>,
    /// The `[tools]` section.
    pub(super) tools: toml::Table,
}

/// The errors in a file, and the text of the file.
#[derive(Debug)]
pub struct SettingsError {
    /// The text; empty if the file cannot be read.
    pub text: String,
    /// The diagnostics and their locations.
    pub found: Vec<Diagnostic>,
}

impl SettingsError {
    /// Returns the diagnostics for display, each with the text of the file.
    pub fn findings(&self) -> Vec<LocatedDiagnostic> {
        let finding = |diagnostic: &Diagnostic| LocatedDiagnostic {
            diagnostic: diagnostic.clone(),
            text: Some(self.text.clone()),
        };
        self.found.iter().map(finding).collect()
    }
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<SettingsFile, SettingsError> {
    let source = path.display().to_string();
    let refuse = |message: String| SettingsError {
        text: String::new(),
        found: vec![Diagnostic::error("config.file", &source, message)],
    };
    let about =
        std::fs::metadata(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    // The size is checked first, so that a wrong path is not read into memory.
    if about.len() > MOST_BYTES {
        return Err(refuse(format!(
            "too large: {} bytes (limit {MOST_BYTES})",
            about.len()
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| refuse(format!("cannot be read: {error}")))?;
    parse(path, &text).map_err(|found| SettingsError { text, found })
}

fn parse(path: &Path, text: &str) -> Result<SettingsFile, Vec<Diagnostic>> {
    let mut reader = SettingsReader {
        source: path.display().to_string(),
        text,
        file: SettingsFile {
            path: path.to_owned(),
            ..SettingsFile::default()
        },
        found: Vec::new(),
    };
    match DeTable::parse(text) {
        Ok(table) => reader.table("", table.get_ref()),
        Err(error) => reader.broken(&error),
    }
    // The tools are read last, because this parses the text again and is useless if there are
    // errors already.
    reader.tools();
    if reader.found.is_empty() {
        return Ok(reader.file);
    }
    Err(reader.found)
}

struct SettingsReader<'a> {
    source: String,
    text: &'a str,
    file: SettingsFile,
    found: Vec<Diagnostic>,
}

impl SettingsReader<'_> {
    fn report(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        let span = Span {
            start: span.start,
            end: span.end,
        };
        let found = Diagnostic::error("config.setting", &self.source, message);
        let found = found.at(self.text, span);
        self.found.push(match help {
            Some(help) => found.help(help),
            None => found,
        });
    }

    /// Hides a line that sets a value, because it may contain a secret.
    fn fault(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        let before = self.text.get(..span.start).unwrap_or_default();
        let from = before.rfind('\n').map_or(0, |end| end + 1);
        let line = self.text.get(from..).unwrap_or_default().lines().next();
        if !line.unwrap_or_default().contains('=') {
            return self.report(span, message, help);
        }
        let found = Diagnostic::error("config.setting", &self.source, message);
        self.found.push(match help {
            Some(help) => found.help(help),
            None => found,
        });
    }

    fn broken(&mut self, error: &toml::de::Error) {
        let message = crate::files::toml_message(error, self.text);
        self.report(error.span().unwrap_or(0..0), message, None);
    }

    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = match section {
                "" => name.get_ref().to_string(),
                _ => format!("{section}.{}", name.get_ref()),
            };
            self.entry(&key, name.span(), value);
        }
    }

    fn entry(&mut self, key: &str, span: Range<usize>, value: &Spanned<DeValue<'_>>) {
        // `tools` reads this section with the types of the tools crate.
        if key == setting::TOOLS {
            return;
        }
        if let Some(known) = setting::find(key) {
            let line = LineColumn::of(self.text, span.start).line;
            if known.form == SettingType::Tokens {
                match tokens::read(value) {
                    Ok(tokens) => {
                        let value = (SettingValue::Tokens(tokens), line);
                        self.file.values.insert(known.key, value);
                    }
                    Err(faults) => {
                        for (span, message, help) in faults {
                            self.fault(span, message, help);
                        }
                    }
                }
                return;
            }
            return match of_form(known.form, value.get_ref()) {
                Ok(value) => drop(self.file.values.insert(known.key, (value, line))),
                Err(wanted) => self.report(value.span(), format!("{key} must be {wanted}"), None),
            };
        }
        match value.get_ref() {
            // An unknown section is one error, not one for each of its keys.
            DeValue::Table(table) if setting::is_section(key) => self.table(key, table),
            _ => {
                let help = setting::like(key).map(|near| format!("did you mean {near}?"));
                let all = || "`quillet config show` lists all settings".to_owned();
                let message = format!("unknown setting {key}");
                self.report(span, message, Some(help.unwrap_or_else(all)));
            }
        }
    }

    /// Checks the `[tools]` section with the tools crate, which defines its keys.
    fn tools(&mut self) {
        #[derive(Deserialize)]
        struct ToolsSection {
            #[serde(default, rename = "tools")]
            _tools: Option<ToolsConfig>,
        }
        if !self.found.is_empty() {
            return;
        }
        if let Err(error) = toml::from_str::<ToolsSection>(self.text) {
            return self.broken(&error);
        }
        // The same text was parsed just before, so this cannot fail.
        let whole = toml::from_str::<toml::Table>(self.text).unwrap_or_default();
        if let Some(toml::Value::Table(tools)) = whole.get(setting::TOOLS) {
            self.file.tools = tools.clone();
        }
    }
}

/// Returns the value, or a description of the expected type.
fn of_form(form: SettingType, value: &DeValue<'_>) -> Result<SettingValue, &'static str> {
    match form {
        SettingType::Text | SettingType::Secret => {
            let text = value
                .as_str()
                .map(|text| SettingValue::Text(text.to_owned()));
            text.ok_or("a string in quotes")
        }
        SettingType::Bool => value
            .as_bool()
            .map(SettingValue::Bool)
            .ok_or("true or false"),
        SettingType::Texts | SettingType::Secrets => {
            let texts = texts(value).map(SettingValue::Texts);
            texts.ok_or("a list of strings, [\"a\", \"b\"]")
        }
        SettingType::Integer => {
            let number = value.as_integer();
            // TOML integers can also be hexadecimal, octal or binary.
            let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
            number
                .map(SettingValue::Integer)
                .ok_or("a non-negative integer")
        }
        SettingType::Number => number::of_file(value)
            .map(SettingValue::Number)
            .ok_or("a non-negative number"),
        SettingType::Tokens => Err("tables, [server.token.NAME]"),
        SettingType::Numbers => {
            let numbers = numbers(value).map(SettingValue::Numbers);
            numbers.ok_or("a table of positive integers, {name = 60}")
        }
        SettingType::Table | SettingType::SecretTable => {
            let pairs = pairs(value).map(SettingValue::Pairs);
            pairs.ok_or("a table of strings, {name = \"value\"}")
        }
    }
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items
        .map(|item| item.get_ref().as_str().map(str::to_owned))
        .collect()
}

fn numbers(value: &DeValue<'_>) -> Option<Vec<(String, u32)>> {
    let numbers = value.as_table()?.iter().map(|(name, value)| {
        let number = value.get_ref().as_integer()?;
        let number = u32::from_str_radix(number.as_str(), number.radix()).ok()?;
        (number > 0).then(|| (name.get_ref().to_string(), number))
    });
    numbers.collect()
}

fn pairs(value: &DeValue<'_>) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (name, value) in value.as_table()? {
        pairs.push((
            name.get_ref().to_string(),
            value.get_ref().as_str()?.to_owned(),
        ));
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_with_their_lines() {
        let text = "[server]\nlisten = \"0.0.0.0:1\"\nbody_bytes = 1_000\ntokens = [\"a\"]\n[model.headers]\nx = \"y\"\n";
        let file = parse(Path::new("q.toml"), text).unwrap();
        assert_eq!(
            file.values["server.listen"],
            (SettingValue::Text("0.0.0.0:1".into()), 2)
        );
        assert_eq!(
            file.values["server.body_bytes"],
            (SettingValue::Integer(1000), 3)
        );
        assert_eq!(
            file.values["model.headers"],
            (SettingValue::Pairs(vec![("x".into(), "y".into())]), 5)
        );
    }

    #[test]
    fn every_mistake_has_a_place_and_a_mend() {
        let cases = [
            (
                "[server]\nlisen = \"x\"",
                "q.toml:2:1: unknown setting server.lisen (did you mean server.listen?)",
            ),
            (
                "[serve]\nlisten = \"x\"",
                "q.toml:1:2: unknown setting serve (did you mean server?)",
            ),
            (
                "[server]\nbody_bytes = \"x\"",
                "q.toml:2:14: server.body_bytes must be a non-negative integer",
            ),
            (
                "[server]\nbody_bytes = -1",
                "q.toml:2:14: server.body_bytes must be a non-negative integer",
            ),
            (
                "[model]\nrequests_per_minute = {openai = 0}",
                "q.toml:2:23: model.requests_per_minute must be a table of positive integers, {name = 60}",
            ),
            (
                "[model]\ntokens_per_minute = 60",
                "q.toml:2:21: model.tokens_per_minute must be a table of positive integers, {name = 60}",
            ),
            (
                "zebra = 1",
                "q.toml:1:1: unknown setting zebra (`quillet config show` lists all settings)",
            ),
            ("[server\n", "q.toml:1:8: "),
            (
                "[server.token.ci]\nsecret = \"s3cr3t\"\nrights = [\"raed\"]",
                "q.toml:1:15: server.token.ci: invalid permission \"raed\": unknown permission \"raed\" (did you mean read?)",
            ),
            (
                "[server.token.ci]\nsecrt = \"s3cr3t\"\nrights = [\"read\"]",
                "q.toml:1:15: server.token.ci: unknown key secrt (did you mean secret?)",
            ),
            (
                "[server.token.ci]\nsecret = \"\"\nrights = [\"read\"]",
                "q.toml:1:15: server.token.ci: the secret is empty",
            ),
            (
                "[server.token.ci]\nsecret = \"s3 cr3t\"\nrights = [\"read\"]",
                "q.toml:1:15: server.token.ci: the secret has characters that a header cannot carry",
            ),
            (
                "[server.token.ci]\nsecret_env = \"X\"\nsecret_file = \"y\"\nrights = [\"read\"]",
                "q.toml:1:15: server.token.ci: expected exactly one of secret, secret_env and secret_file",
            ),
            (
                "[server.token.ci]\nsecret_env = \"X\"",
                "q.toml:1:15: server.token.ci: rights must be a non-empty list of strings",
            ),
            (
                "[server.token.\"c:i\"]\nsecret_env = \"X\"\nrights = [\"read\"]",
                "q.toml:1:15: server.token.c:i: invalid name",
            ),
            (
                "[server.token]\nci = \"s3cr3t\"",
                "q.toml: server.token.ci: expected a table with secret and rights",
            ),
            (
                "[server.token.ci]\nsecret = \"x\"\n[server.token.ci]\n",
                "q.toml:3:",
            ),
            (
                "[tools]\nallow_stdoi = true",
                "q.toml:2:1: unknown field `allow_stdoi`",
            ),
        ];
        for (text, expected) in cases {
            let found = parse(Path::new("q.toml"), text).unwrap_err();
            let shown = found[0].to_string();
            assert!(shown.starts_with(expected), "{text:?}: {shown}");
            assert!(!shown.contains("cr3t"), "{shown}");
        }
        let two = parse(Path::new("q.toml"), "a = 1\nb = 2").unwrap_err();
        assert_eq!(two.len(), 2);
    }
}
