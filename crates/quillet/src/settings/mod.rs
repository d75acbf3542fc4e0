//! Configuration. Each value has an origin. In order of precedence: a flag, the environment, the
//! project file, the user file, the default.

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

use crate::components::disk::{DiskConfig, Schemas};
use crate::error::Error;
use crate::settings::keys::KeyFile;
use crate::settings::tokens::TokenSetting;
pub use file::SettingsError;
pub use setting::*;

/// The name of the project file, in the working folder or a parent folder.
const PROJECT_FILE: &str = "quillet.toml";

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A string, secret or not.
    Text(String),
    /// An integer.
    Integer(u64),
    /// A number.
    Number(f64),
    /// On or off.
    Bool(bool),
    /// A list of strings.
    Texts(Vec<String>),
    /// Names and strings.
    Pairs(Vec<(String, String)>),
    /// Names and positive integers.
    Numbers(Vec<(String, u32)>),
    /// Named tokens with permissions.
    Tokens(Vec<TokenSetting>),
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A command-line flag.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A file and a line number, from 1.
    File(PathBuf, usize),
    /// A call of [`Settings::set`].
    Program,
    /// The default.
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

/// Values from flags: setting, flag and text.
pub type Flags = Vec<(&'static Setting, &'static str, String)>;

/// The values and origins of all settings.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, (SettingValue, SettingOrigin)>,
    tools: toml::Table,
    /// Schemas that prompt files may refer to, from the command line.
    schemas: Schemas,
    /// Files that were read, the project file last.
    files: Vec<PathBuf>,
    /// Receives warnings.
    warn: fn(&str),
    /// The transport that runs the JavaScript of scripts.
    javascript: Transport,
}

impl Default for Settings {
    /// Returns the settings with only their defaults.
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
            // A test checks every default.
            debug_assert!(put.is_ok(), "{}", setting.key);
        }
        settings
    }
}

impl Settings {
    /// Reads the files and the environment, then applies the flags.
    ///
    /// # Errors
    /// A file or a value is invalid. The error has the location.
    pub fn load(explicit: Option<&Path>, flags: &Flags) -> Result<Self, Error> {
        let mut config = Settings::default();
        // Sources are read in order of increasing precedence, and each step replaces values of the
        // previous steps.
        config.keys()?;
        for path in files(explicit) {
            config.file(&path)?;
        }
        config.variables()?;
        for (setting, flag, text) in flags {
            config.put(setting, text, SettingOrigin::Flag(flag))?;
        }
        // Read last, because each of the sources above may name the variable.
        config.key_from_another_variable()?;
        Ok(config)
    }

    /// Applies the environment variables to the defaults. Reads no files.
    ///
    /// # Errors
    /// The value of a variable is invalid for its setting.
    pub fn from_env() -> Result<Self, Error> {
        let mut settings = Settings::default();
        settings.variables()?;
        settings.key_from_another_variable()?;
        Ok(settings)
    }

    fn variables(&mut self) -> Result<(), Error> {
        ALL.iter().try_for_each(|setting| self.environment(setting))
    }

    /// Sets a setting by its key, such as `store.url`. Lists are `a,b`, tables `a=x,b=y`.
    ///
    /// # Errors
    /// The setting is unknown, or the value is invalid for it.
    ///
    /// # Examples
    /// ```
    /// use quillet::{Settings, settings};
    ///
    /// let mut config = Settings::default();
    /// config.set("model.name", "mock")?;
    /// assert_eq!(config.text(&settings::MODEL), Some("mock"));
    ///
    /// let error = config.set("server.lisen", "127.0.0.1:1").unwrap_err();
    /// assert!(error.to_string().contains("did you mean server.listen?"));
    /// # Ok::<(), quillet::Error>(())
    /// ```
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Error> {
        let setting = find(key).ok_or_else(|| {
            let near = like(key).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Error::setting(format!("unknown setting {key}{near}"))
        })?;
        self.put(setting, text, SettingOrigin::Program)
    }

    /// Reads the keys from `quillet keys`. Every other source takes precedence over them.
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

    /// Sets a setting that has no value yet.
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
                // Containers and CI often set unused variables to an empty text, which counts as
                // unset.
                Ok(text) if !text.is_empty() => {
                    return self.put(setting, &text, SettingOrigin::Environment(name));
                }
                Err(env::VarError::NotUnicode(_)) => {
                    return Err(Error::setting(format!("{name} is not valid UTF-8")));
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
            Error::setting(match setting.form {
                // The text may contain a secret, so the message does not quote it.
                SettingType::SecretTable => format!("{key} ({origin}) must be {wanted}"),
                _ => format!("{key} ({origin}) must be {wanted}, not {text:?}"),
            })
        };
        let value = match setting.form {
            SettingType::Text | SettingType::Secret => SettingValue::Text(text.to_owned()),
            SettingType::Integer => {
                SettingValue::Integer(text.parse().map_err(|_| wrong("a non-negative integer"))?)
            }
            SettingType::Number => SettingValue::Number(
                number::of_text(text).ok_or_else(|| wrong("a non-negative number"))?,
            ),
            SettingType::Bool => {
                SettingValue::Bool(boolean(text).ok_or_else(|| wrong("true or false"))?)
            }
            SettingType::Texts | SettingType::Secrets => SettingValue::Texts(list(text)),
            SettingType::Table | SettingType::SecretTable => {
                SettingValue::Pairs(pairs(text).ok_or_else(|| wrong("name=value,name=value"))?)
            }
            SettingType::Numbers => {
                let wanted = "name=number,name=number, with positive integers";
                SettingValue::Numbers(numbers(text).ok_or_else(|| wrong(wanted))?)
            }
            // The text may be a secret, so the message does not contain it.
            SettingType::Tokens => {
                let key = setting.key;
                let message = format!("{key} ({origin}) can be set only in files, as [{key}.NAME]");
                return Err(Error::setting(message));
            }
        };
        self.values.insert(setting.key, (value, origin));
        Ok(())
    }

    /// Reads the key from the variable that `model.api_key_env` names. An unset variable is an
    /// error only if no other source sets the key.
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
            Err(_) => Err(Error::setting(format!(
                "model.api_key_env ({origin}): the environment variable {name} is not set"
            ))),
        }
    }

    /// Returns the text of a setting, if it has one.
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        match self.values.get(setting.key) {
            Some((SettingValue::Text(text), _)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the strings of a list.
    pub fn texts(&self, setting: &Setting) -> &[String] {
        match self.values.get(setting.key) {
            Some((SettingValue::Texts(texts), _)) => texts,
            _ => &[],
        }
    }

    /// Returns the names and strings of a table.
    pub fn pairs(&self, setting: &Setting) -> &[(String, String)] {
        match self.values.get(setting.key) {
            Some((SettingValue::Pairs(pairs), _)) => pairs,
            _ => &[],
        }
    }

    /// Returns the names and integers of a table.
    pub fn numbers(&self, setting: &Setting) -> &[(String, u32)] {
        match self.values.get(setting.key) {
            Some((SettingValue::Numbers(numbers), _)) => numbers,
            _ => &[],
        }
    }

    /// Returns named tokens and their permissions.
    pub fn tokens(&self, setting: &Setting) -> &[TokenSetting] {
        match self.values.get(setting.key) {
            Some((SettingValue::Tokens(tokens), _)) => tokens,
            _ => &[],
        }
    }

    /// Returns the integer of a setting, if it has one.
    pub fn integer(&self, setting: &Setting) -> Option<u64> {
        match self.values.get(setting.key) {
            Some((SettingValue::Integer(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// Returns the number of a setting that has a default.
    pub fn number(&self, setting: &Setting) -> f64 {
        self.amount(setting).unwrap_or(0.0)
    }

    /// Returns the number of a setting, if it has one.
    pub fn amount(&self, setting: &Setting) -> Option<f64> {
        match self.values.get(setting.key) {
            Some((SettingValue::Number(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// Returns a size or count from a setting that has a default.
    pub fn size(&self, setting: &Setting) -> usize {
        usize::try_from(self.integer(setting).unwrap_or_default()).unwrap_or(usize::MAX)
    }

    /// Returns the duration of a setting in milliseconds that has a default.
    ///
    /// ```
    /// use quillet::{Settings, settings};
    /// use std::time::Duration;
    ///
    /// let config = Settings::default();
    /// assert_eq!(config.milliseconds(&settings::BODY_MS), Duration::from_secs(30));
    /// ```
    pub fn milliseconds(&self, setting: &Setting) -> Duration {
        Duration::from_millis(self.integer(setting).unwrap_or_default())
    }

    /// Returns whether a setting is on.
    ///
    /// ```
    /// use quillet::{Settings, settings};
    ///
    /// let config = Settings::default();
    /// assert!(config.is_on(&settings::STORE_HISTORY));
    /// assert!(!config.is_on(&settings::ACCESS_LOG));
    /// ```
    pub fn is_on(&self, setting: &Setting) -> bool {
        self.choice(setting) == Some(true)
    }

    /// Returns the boolean of a setting, or `None` if it is unset.
    pub fn choice(&self, setting: &Setting) -> Option<bool> {
        match self.values.get(setting.key) {
            Some((SettingValue::Bool(on), _)) => Some(*on),
            _ => None,
        }
    }

    /// Returns the origin of a value.
    pub fn origin(&self, setting: &Setting) -> Option<&SettingOrigin> {
        self.values.get(setting.key).map(|(_, origin)| origin)
    }

    /// Returns the environment variables that prompt files may read.
    pub fn environment_of_prompts(&self) -> DiskConfig {
        let text = |(name, value): (OsString, OsString)| {
            // Prompts are text, so variables that are not UTF-8 are skipped without an error.
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        DiskConfig::new(self.texts(&ENV_ALLOW), env::vars_os().filter_map(text))
    }

    /// Passes warnings to this function instead of the log.
    pub fn warn_with(&mut self, warn: fn(&str)) {
        self.warn = warn;
    }

    /// Passes a warning to the function set by [`Settings::warn_with`], or else to the log.
    pub fn warn(&self, text: &str) {
        (self.warn)(text);
    }

    /// Returns the function that reports warnings.
    pub(crate) fn warner(&self) -> fn(&str) {
        self.warn
    }

    /// Sets the transport that runs the JavaScript of scripts. By default, a thread of this process
    /// runs the JavaScript.
    pub fn run_javascript_in(&mut self, transport: Transport) {
        self.javascript = transport;
    }

    /// Returns the transport that runs the JavaScript of scripts.
    #[must_use]
    pub fn javascript(&self) -> Transport {
        self.javascript.clone()
    }

    /// Returns the files that were read, the project file last.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Sets the schemas that prompt files may refer to.
    pub fn set_schemas(&mut self, schemas: Schemas) {
        self.schemas = schemas;
    }

    /// Returns the schemas that prompt files may refer to.
    pub fn schemas(&self) -> Schemas {
        self.schemas.clone()
    }

    /// Returns the settings of the tools.
    ///
    /// # Errors
    /// Two files are valid separately but not together.
    pub fn tools(&self) -> Result<ToolsConfig, Error> {
        let tools = toml::Value::Table(self.tools.clone());
        ToolsConfig::deserialize(tools)
            .map_err(|error| Error::setting_from(format!("tools: {}", error.message()), error))
    }

    /// Returns whether any tool setting is set.
    pub fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns all settings as lines of TOML, with secrets hidden. `with_origin` adds the origin of
    /// each setting.
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

/// Returns the configuration files that exist, the lowest precedence first.
fn files(explicit: Option<&Path>) -> Vec<PathBuf> {
    let user = user_file().filter(|path| path.is_file());
    let project = match explicit {
        // An explicit file that does not exist is an error.
        Some(path) => Some(path.to_owned()),
        None => project_file(),
    };
    user.into_iter().chain(project).collect()
}

/// Returns `$XDG_CONFIG_HOME/quillet/config.toml`.
pub fn user_file() -> Option<PathBuf> {
    Some(folder("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

/// Returns `$XDG_CONFIG_HOME/quillet/keys.toml`.
pub fn user_keys() -> Option<PathBuf> {
    Some(folder("XDG_CONFIG_HOME", ".config")?.join("keys.toml"))
}

/// Returns `$XDG_DATA_HOME/quillet`, where the command line stores sessions and traces.
pub fn user_data() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share")
}

/// Returns Quillet's folder in one of the user's base folders. As the XDG Base Directory
/// Specification requires, relative paths are ignored.
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

/// Merges one table over another, including nested tables.
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
        // The last two values of each line are OpenTelemetry's settings for content capture;
        // Quillet records no events, so `event_only` means false.
        "1" | "true" | "yes" | "on" | "span_only" | "span_and_event" => Some(true),
        "0" | "false" | "no" | "off" | "event_only" | "no_content" => Some(false),
        _ => None,
    }
}

/// Parses names and values in OpenTelemetry's format for variables. Values may be
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
        // Store addresses are not secret settings, but they may contain a password.
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

/// Hides the user information and the query of a URL, because they may contain a password.
///
/// ```
/// use quillet::settings::hide_password;
///
/// assert_eq!(hide_password("redis://u:p@h:1/2"), "redis://[secret]@h:1/2");
/// assert_eq!(hide_password("redis://h"), "redis://h");
/// ```
pub fn hide_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (rest, query) = rest
        .split_once('?')
        .map_or((rest, ""), |(rest, _)| (rest, "?[secret]\""));
    // The password ends at the last `@`, because it may contain others.
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
