//! Configuration: flag over environment over project file over user file over
//! default, and where each value came from.

mod file;
pub mod keys;
mod number;
mod setting;
pub mod tokens;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use quillet_script::js::Transport;
use quillet_tools::ToolsConfig;
use serde::Deserialize;

use crate::components::disk::{Environment, Schemas};
use crate::error::Error;
use crate::settings::keys::KeyFile;
use crate::settings::tokens::TokenSetting;
pub use file::SettingsError;
pub use setting::*;

/// The name of a project's file, looked for in the working folder and above.
const PROJECT_FILE: &str = "quillet.toml";

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A text, secret or not.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// A number that need not be whole.
    Number(f64),
    /// On or off.
    Bool(bool),
    /// A list of texts.
    Texts(Vec<String>),
    /// Names and texts.
    Pairs(Vec<(String, String)>),
    /// Names and whole numbers from 1.
    Numbers(Vec<(String, u32)>),
    /// Tokens with names and rights.
    Tokens(Vec<TokenSetting>),
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A flag of the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(&'static str),
    /// A file, and the line in it, from 1.
    File(PathBuf, usize),
    /// [`Settings::set`].
    Program,
    /// Nobody said anything else.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Flag(flag) => write!(f, "flag {flag}"),
            SettingOrigin::Environment(name) => write!(f, "environment {name}"),
            SettingOrigin::File(path, line) => write!(f, "{}:{line}", path.display()),
            SettingOrigin::Program => f.write_str("set by the program"),
            SettingOrigin::Default => f.write_str("default"),
        }
    }
}

/// Values that flags set.
pub type Flags = Vec<(&'static Setting, &'static str, String)>;

/// Every setting with its value and where that came from.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, (SettingValue, SettingOrigin)>,
    tools: toml::Table,
    /// Schemas that prompt files may name, from the command line.
    schemas: Schemas,
    /// Files that were read, the project's last.
    files: Vec<PathBuf>,
    /// Takes what its user should know and need not act upon.
    warn: fn(&str),
    /// Where the JavaScript of scripts runs.
    javascript: Transport,
}

impl Default for Settings {
    /// The defaults alone.
    fn default() -> Self {
        let mut settings = Settings {
            values: BTreeMap::new(),
            tools: toml::Table::new(),
            schemas: Schemas::default(),
            files: Vec::new(),
            warn: log_warning,
            javascript: Transport::default(),
        };
        for setting in ALL.iter().filter(|setting| !setting.default.is_empty()) {
            let put = settings.put(setting, setting.default, SettingOrigin::Default);
            // A test reads every default.
            debug_assert!(put.is_ok(), "{}", setting.key);
        }
        settings
    }
}

impl Settings {
    /// Reads the files and the environment and lays the flags over them.
    ///
    /// # Errors
    /// A file or a value that cannot be read, with its place.
    pub fn load(explicit: Option<&Path>, flags: &Flags) -> Result<Self, Error> {
        let mut config = Settings::default();
        config.keys()?;
        for path in files(explicit) {
            config.file(&path)?;
        }
        config.variables()?;
        for (setting, flag, text) in flags {
            config.put(setting, text, SettingOrigin::Flag(flag))?;
        }
        config.key_from_another_variable()?;
        Ok(config)
    }

    /// The defaults, and over them the variables of the environment; no file is read.
    ///
    /// # Errors
    /// A variable holds what its setting cannot be.
    pub fn from_env() -> Result<Self, Error> {
        let mut settings = Settings::default();
        settings.variables()?;
        settings.key_from_another_variable()?;
        Ok(settings)
    }

    fn variables(&mut self) -> Result<(), Error> {
        ALL.iter().try_for_each(|setting| self.environment(setting))
    }

    /// Sets one by its name, as in files: `store.url`. Lists are `a,b`, tables `a=x,b=y`.
    ///
    /// # Errors
    /// There is no such setting, or it cannot be that.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Error> {
        let setting = find(key).ok_or_else(|| {
            let near = like(key).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Error::Setting(format!("unknown setting {key}{near}"))
        })?;
        self.put(setting, text, SettingOrigin::Program)
    }

    /// The keys of `quillet keys`: weaker than everything that is written elsewhere.
    fn keys(&mut self) -> Result<(), Error> {
        let Some(file) = KeyFile::of_user() else {
            return Ok(());
        };
        for (provider, (key, line)) in file.read()? {
            let origin = SettingOrigin::File(file.path().to_owned(), line);
            self.values
                .insert(provider.setting().key, (SettingValue::Text(key), origin));
        }
        Ok(())
    }

    /// Gives a setting a value where nothing else does.
    pub fn fill(&mut self, setting: &'static Setting, text: String) {
        let value = (SettingValue::Text(text), SettingOrigin::Default);
        self.values.entry(setting.key).or_insert(value);
    }

    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let file = file::read(path).map_err(Error::Config)?;
        for (key, (value, line)) in file.values {
            self.values
                .insert(key, (value, SettingOrigin::File(path.to_owned(), line)));
        }
        merge(&mut self.tools, file.tools);
        self.files.push(file.path);
        Ok(())
    }

    fn environment(&mut self, setting: &'static Setting) -> Result<(), Error> {
        for name in setting.env {
            match env::var(name) {
                Ok(text) if !text.is_empty() => {
                    return self.put(setting, &text, SettingOrigin::Environment(name));
                }
                Err(env::VarError::NotUnicode(_)) => {
                    return Err(Error::Setting(format!("{name} is not valid UTF-8")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        setting: &'static Setting,
        text: &str,
        origin: SettingOrigin,
    ) -> Result<(), Error> {
        let wrong = |wanted| {
            let key = setting.key;
            Error::Setting(match setting.form {
                SettingType::SecretTable => format!("{key} ({origin}) must be {wanted}"),
                _ => format!("{key} ({origin}) must be {wanted}, not {text:?}"),
            })
        };
        let value = match setting.form {
            SettingType::Text | SettingType::Secret => SettingValue::Text(text.to_owned()),
            SettingType::Integer => {
                SettingValue::Integer(text.parse().map_err(|_| wrong("a whole number from 0"))?)
            }
            SettingType::Number => {
                SettingValue::Number(number::of_text(text).ok_or_else(|| wrong("a number from 0"))?)
            }
            SettingType::Bool => {
                SettingValue::Bool(boolean(text).ok_or_else(|| wrong("true or false"))?)
            }
            SettingType::Texts | SettingType::Secrets => SettingValue::Texts(list(text)),
            SettingType::Table | SettingType::SecretTable => {
                SettingValue::Pairs(pairs(text).ok_or_else(|| wrong("name=value,name=value"))?)
            }
            SettingType::Numbers => {
                let wanted = "name=number,name=number, with whole numbers from 1";
                SettingValue::Numbers(numbers(text).ok_or_else(|| wrong(wanted))?)
            }
            // The text may be a secret, and is not repeated.
            SettingType::Tokens => {
                let key = setting.key;
                let message = format!("{key} ({origin}) is set in files only, as [{key}.NAME]");
                return Err(Error::Setting(message));
            }
        };
        self.values.insert(setting.key, (value, origin));
        Ok(())
    }

    /// `model.api_key_env` names the variable that holds the key; it counts
    /// where no key is set otherwise.
    fn key_from_another_variable(&mut self) -> Result<(), Error> {
        let Some(name) = self.text(&API_KEY_ENV).map(str::to_owned) else {
            return Ok(());
        };
        let Some((_, origin)) = self.values.get(API_KEY_ENV.key).cloned() else {
            return Ok(());
        };
        match env::var(&name) {
            Ok(key) => {
                self.values
                    .insert(API_KEY.key, (SettingValue::Text(key), origin));
                Ok(())
            }
            Err(_) if self.values.contains_key(API_KEY.key) => Ok(()),
            Err(_) => Err(Error::Setting(format!(
                "model.api_key_env ({origin}) names the variable {name}, which is not set"
            ))),
        }
    }

    /// The text of a setting, if it has one.
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        match self.values.get(setting.key) {
            Some((SettingValue::Text(text), _)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The texts of a list.
    pub fn texts(&self, setting: &Setting) -> &[String] {
        match self.values.get(setting.key) {
            Some((SettingValue::Texts(texts), _)) => texts,
            _ => &[],
        }
    }

    /// Names and texts of a table.
    pub fn pairs(&self, setting: &Setting) -> &[(String, String)] {
        match self.values.get(setting.key) {
            Some((SettingValue::Pairs(pairs), _)) => pairs,
            _ => &[],
        }
    }

    /// Names and whole numbers of a table.
    pub fn numbers(&self, setting: &Setting) -> &[(String, u32)] {
        match self.values.get(setting.key) {
            Some((SettingValue::Numbers(numbers), _)) => numbers,
            _ => &[],
        }
    }

    /// Tokens with names and rights.
    pub fn tokens(&self, setting: &Setting) -> &[TokenSetting] {
        match self.values.get(setting.key) {
            Some((SettingValue::Tokens(tokens), _)) => tokens,
            _ => &[],
        }
    }

    /// The number of a setting, if it has one.
    pub fn integer(&self, setting: &Setting) -> Option<u64> {
        match self.values.get(setting.key) {
            Some((SettingValue::Integer(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// A number that need not be whole; the setting has a default.
    pub fn number(&self, setting: &Setting) -> f64 {
        self.amount(setting).unwrap_or(0.0)
    }

    /// A number that need not be whole, if the setting has one.
    pub fn amount(&self, setting: &Setting) -> Option<f64> {
        match self.values.get(setting.key) {
            Some((SettingValue::Number(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// A number that counts things in memory; the setting has a default.
    pub fn size(&self, setting: &Setting) -> usize {
        usize::try_from(self.integer(setting).unwrap_or_default()).unwrap_or(usize::MAX)
    }

    /// A time in milliseconds; the setting has a default.
    pub fn milliseconds(&self, setting: &Setting) -> Duration {
        Duration::from_millis(self.integer(setting).unwrap_or_default())
    }

    /// Whether a setting is on.
    pub fn is_on(&self, setting: &Setting) -> bool {
        self.choice(setting) == Some(true)
    }

    /// What was chosen for a setting that need not be chosen.
    pub fn choice(&self, setting: &Setting) -> Option<bool> {
        match self.values.get(setting.key) {
            Some((SettingValue::Bool(on), _)) => Some(*on),
            _ => None,
        }
    }

    /// Where a value came from.
    pub fn origin(&self, setting: &Setting) -> Option<&SettingOrigin> {
        self.values.get(setting.key).map(|(_, origin)| origin)
    }

    /// The environment variables that prompt files may see.
    pub fn environment_of_prompts(&self) -> Environment {
        let text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Environment::new(self.texts(&ENV_ALLOW), env::vars_os().filter_map(text))
    }

    /// Has warnings said by this function; they are logged otherwise.
    pub fn warn_with(&mut self, warn: fn(&str)) {
        self.warn = warn;
    }

    /// Says a warning.
    pub fn warn(&self, text: &str) {
        (self.warn)(text);
    }

    /// Who says warnings.
    pub(crate) fn warner(&self) -> fn(&str) {
        self.warn
    }

    /// Has the JavaScript of scripts run there; it runs in a thread of this process otherwise.
    pub fn run_javascript_in(&mut self, transport: Transport) {
        self.javascript = transport;
    }

    /// Where the JavaScript of scripts runs.
    #[must_use]
    pub fn javascript(&self) -> Transport {
        self.javascript.clone()
    }

    /// Files that were read, the project's last.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Takes the schemas that prompt files may name.
    pub fn set_schemas(&mut self, schemas: Schemas) {
        self.schemas = schemas;
    }

    /// The schemas that prompt files may name.
    pub fn schemas(&self) -> Schemas {
        self.schemas.clone()
    }

    /// The settings of the tools.
    ///
    /// # Errors
    /// Two files that are right alone and wrong together.
    pub fn tools(&self) -> Result<ToolsConfig, Error> {
        let tools = toml::Value::Table(self.tools.clone());
        ToolsConfig::deserialize(tools)
            .map_err(|error| Error::Setting(format!("tools: {}", error.message())))
    }

    /// Whether anything is set for tools.
    pub fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// All settings as lines of TOML, secrets hidden; with where each came from if asked.
    pub fn show(&self, with_origin: bool) -> String {
        let mut shown = String::new();
        let mut section = "";
        for setting in ALL {
            let (head, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
            if head != section {
                let gap = if section.is_empty() { "" } else { "\n" };
                shown.push_str(&format!("{gap}[{head}]\n"));
                section = head;
            }
            let line = match self.values.get(setting.key) {
                Some((value, _)) => format!("{name} = {}", written(value, setting.form)),
                None => format!("# {name} is not set"),
            };
            shown.push_str(&line);
            if let (true, Some(origin)) = (with_origin, self.origin(setting)) {
                shown.push_str(&format!("  # {origin}"));
            }
            shown.push('\n');
        }
        if !self.tools.is_empty() {
            let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
            shown.push_str(&format!("\n[tools]\n# set: {}\n", names.join(", ")));
        }
        shown
    }
}

fn log_warning(text: &str) {
    tracing::warn!("{text}");
}

/// Configuration files that exist, the weakest first.
fn files(explicit: Option<&Path>) -> Vec<PathBuf> {
    let user = user_file().filter(|path| path.is_file());
    let project = match explicit {
        // A file that was asked for is read even if it is not there: that is an error.
        Some(path) => Some(path.to_owned()),
        None => project_file(),
    };
    user.into_iter().chain(project).collect()
}

/// `$XDG_CONFIG_HOME/quillet/config.toml`.
pub fn user_file() -> Option<PathBuf> {
    Some(folder("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

/// `$XDG_CONFIG_HOME/quillet/keys.toml`.
pub fn user_keys() -> Option<PathBuf> {
    Some(folder("XDG_CONFIG_HOME", ".config")?.join("keys.toml"))
}

/// `$XDG_DATA_HOME/quillet`, where the command line stores sessions and traces.
pub fn user_data() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share")
}

/// Quillet's part of one of the user's folders (XDG Base Directory Specification:
/// paths that are not absolute do not count).
fn folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from);
    let given = set(variable).filter(|path| path.is_absolute());
    let home = || {
        let home = set("HOME").filter(|home| !home.as_os_str().is_empty())?;
        Some(home.join(in_home))
    };
    Some(given.or_else(home)?.join("quillet"))
}

fn project_file() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors()
        .map(|folder| folder.join(PROJECT_FILE))
        .find(|path| path.is_file())
}

/// Lays one table over another; tables inside are joined.
fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        // The last ones are OpenTelemetry's for texts in traces; there are no events here.
        "1" | "true" | "yes" | "on" | "span_only" | "span_and_event" => Some(true),
        "0" | "false" | "no" | "off" | "event_only" | "no_content" => Some(false),
        _ => None,
    }
}

/// Names and values as OpenTelemetry has them in variables: values may be
/// percent-encoded.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pair = |item: String| {
        let (name, value) = item.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned()))
    };
    list(text).into_iter().map(pair).collect()
}

fn numbers(text: &str) -> Option<Vec<(String, u32)>> {
    let number = |(name, number): (String, String)| {
        let number = number.parse().ok().filter(|number| *number > 0)?;
        Some((name, number))
    };
    pairs(text)?.into_iter().map(number).collect()
}

fn list(text: &str) -> Vec<String> {
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

fn written(value: &SettingValue, form: SettingType) -> String {
    const HIDDEN: &str = "\"[secret]\"";
    let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
    match (value, form) {
        (SettingValue::Text(_), SettingType::Secret) => HIDDEN.to_owned(),
        (SettingValue::Text(text), _) => hide_password(&quoted(text)),
        (SettingValue::Integer(number), _) => number.to_string(),
        (SettingValue::Number(number), _) => format!("{number:?}"),
        (SettingValue::Bool(on), _) => on.to_string(),
        (SettingValue::Texts(texts), SettingType::Secrets) => {
            format!("[{}]", vec![HIDDEN; texts.len()].join(", "))
        }
        (SettingValue::Texts(texts), _) => format!(
            "[{}]",
            texts.iter().map(quoted).collect::<Vec<_>>().join(", ")
        ),
        (SettingValue::Pairs(pairs), SettingType::Table) => {
            let pair = |(name, value): &(String, String)| format!("{name} = {}", quoted(value));
            format!(
                "{{ {} }}",
                pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
        (SettingValue::Numbers(numbers), _) => {
            let named = |(name, number): &(String, u32)| format!("{} = {number}", quoted(name));
            format!(
                "{{ {} }}",
                numbers.iter().map(named).collect::<Vec<_>>().join(", ")
            )
        }
        (SettingValue::Tokens(tokens), _) => {
            let tokens: Vec<String> = tokens.iter().map(TokenSetting::shown).collect();
            format!("{{ {} }}", tokens.join(", "))
        }
        (SettingValue::Pairs(pairs), _) => {
            let pair = |(name, _): &(String, String)| format!("{name} = {HIDDEN}");
            format!(
                "{{ {} }}",
                pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// What stands between `://` and `@` may hold a password, and a query may too.
pub fn hide_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (rest, query) = rest
        .split_once('?')
        .map_or((rest, ""), |(rest, _)| (rest, "?[secret]\""));
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://[secret]@{host}{query}"),
        None => format!("{scheme}://{rest}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_hidden() {
        let cases = [
            ("redis://u:p@h:1/2", "redis://[secret]@h:1/2"),
            ("redis://h", "redis://h"),
            ("dir:a@b", "dir:a@b"),
        ];
        for (url, shown) in cases {
            assert_eq!(hide_password(url), shown);
        }
    }

    #[test]
    fn every_default_fits_its_form_and_every_key_is_found() {
        let config = Settings::default();
        assert_eq!(config.size(&RENDER_TIME_MS), 500);
        for setting in ALL {
            assert_eq!(find(setting.key).map(|found| found.key), Some(setting.key));
        }
    }

    #[test]
    fn tables_are_joined_and_the_later_wins() {
        let mut under: toml::Table = toml::from_str("a = 1\n[m.x]\nu = 1\nv = 1").unwrap();
        merge(
            &mut under,
            toml::from_str("[m.x]\nv = 2\n[m.y]\nw = 3").unwrap(),
        );
        let joined: toml::Table =
            toml::from_str("a = 1\n[m.x]\nu = 1\nv = 2\n[m.y]\nw = 3").unwrap();
        assert_eq!(under, joined);
    }
}
