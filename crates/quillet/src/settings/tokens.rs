//! Named tokens with permissions: the tables `[server.token.NAME]` of a file.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::number;
use quillet_core::budget::BudgetLimits;
use quillet_core::nearest;
use quillet_host::definitions::Grant;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key of the setting that contains the tables.
const KEY: &str = "server.token";
const SECRET: &str = "secret";
const SECRET_ENV: &str = "secret_env";
const SECRET_FILE: &str = "secret_file";
const RIGHTS: &str = "rights";

/// A token as defined in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenSetting {
    /// Its name.
    pub name: String,
    /// The location of its secret.
    pub secret: Secret,
    /// Its permissions as written in the file: `read`, `write greet.* !greet.secret`.
    pub rights: Vec<String>,
    /// The parsed permissions.
    pub grants: Vec<Grant>,
    /// Its budgets.
    pub budget: BudgetLimits,
    /// The budgets as written in the file: `day_usd = 5`.
    written_budget: Vec<String>,
}

/// The location of a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// In the file itself.
    Text(String),
    /// In an environment variable.
    Environment(String),
    /// In a separate file.
    File(PathBuf),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Secret::Text(_) => f.write_str("Text([secret])"),
            Secret::Environment(name) => f.debug_tuple("Environment").field(name).finish(),
            Secret::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl TokenSetting {
    /// Returns the token as a line of TOML, with its secret hidden.
    pub(super) fn shown(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let secret = match &self.secret {
            Secret::Text(_) => format!("{SECRET} = \"[secret]\""),
            Secret::Environment(name) => format!("{SECRET_ENV} = {}", quoted(name)),
            Secret::File(path) => {
                format!("{SECRET_FILE} = {}", quoted(&path.display().to_string()))
            }
        };
        let rights: Vec<String> = self.rights.iter().map(|right| quoted(right)).collect();
        let rights = rights.join(", ");
        let budget = self.written_budget.iter().map(|line| format!(", {line}"));
        let budget: String = budget.collect();
        format!(
            "{} = {{ {secret}, {RIGHTS} = [{rights}]{budget} }}",
            quoted(&self.name)
        )
    }
}

/// The span, message and help of an error.
pub(super) type TokenProblem = (Range<usize>, String, Option<String>);

/// Reads the tables of the setting.
pub(super) fn read(value: &Spanned<DeValue<'_>>) -> Result<Vec<TokenSetting>, Vec<TokenProblem>> {
    let Some(tables) = value.get_ref().as_table() else {
        let message = format!("write {KEY} as tables: [{KEY}.NAME]");
        return Err(vec![(value.span(), message, None)]);
    };
    let (mut tokens, mut faults) = (Vec::new(), Vec::new());
    for (name, table) in tables {
        // Errors print the line, which may contain the secret.
        let mut fault = |what: String, help: Option<String>| {
            let message = format!("{KEY}.{}: {what}", name.get_ref());
            faults.push((name.span(), message, help));
        };
        let Some(table) = table.get_ref().as_table() else {
            fault(format!("expected a table with {SECRET} and {RIGHTS}"), None);
            continue;
        };
        if let Some(token) = token(name.get_ref(), table, &mut fault) {
            tokens.push(token);
        }
    }
    if faults.is_empty() {
        Ok(tokens)
    } else {
        Err(faults)
    }
}

fn token(
    name: &str,
    table: &DeTable<'_>,
    fault: &mut impl FnMut(String, Option<String>),
) -> Option<TokenSetting> {
    let known = [SECRET, SECRET_ENV, SECRET_FILE, RIGHTS];
    let known = || known.into_iter().chain(BudgetLimits::NAMES);
    for (key, _) in table {
        let key = key.get_ref();
        if !known().any(|known| known == &**key) {
            let near = nearest(key, known()).unwrap_or(SECRET);
            fault(
                format!("unknown key {key}"),
                Some(format!("did you mean {near}?")),
            );
        }
    }
    if name.is_empty() || name.contains(':') || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = "invalid name";
        let help = "use ASCII letters, digits and symbols, but no colons and no spaces";
        fault(what.to_owned(), Some(help.to_owned()));
    }
    // All parts are read before one of them can end the function, so every error is reported.
    let secret = secret(table, fault);
    let rights = rights(table, fault);
    let (budget, written_budget) = budget(table, fault);
    let (rights, grants) = rights?;
    Some(TokenSetting {
        name: name.to_owned(),
        secret: secret?,
        rights,
        grants,
        budget,
        written_budget,
    })
}

/// Returns the budgets of the token, parsed and as written in the file.
fn budget(
    table: &DeTable<'_>,
    fault: &mut impl FnMut(String, Option<String>),
) -> (BudgetLimits, Vec<String>) {
    let (mut limits, mut written) = (BudgetLimits::default(), Vec::new());
    for (key, value) in table {
        let key = key.get_ref();
        if !BudgetLimits::NAMES.contains(&&**key) {
            continue;
        }
        let Some(number) = number::of_file(value.get_ref()) else {
            fault(format!("{key} must be a non-negative number"), None);
            continue;
        };
        match limits.set(key, number) {
            Ok(()) => written.push(format!("{key} = {number}")),
            Err(error) => fault(format!("invalid budget: {error}"), None),
        }
    }
    (limits, written)
}

fn secret(table: &DeTable<'_>, fault: &mut impl FnMut(String, Option<String>)) -> Option<Secret> {
    let text = |key: &str| {
        let (_, value) = table.iter().find(|(name, _)| &**name.get_ref() == key)?;
        // A value that is not a string counts as an empty secret, which is rejected below.
        Some(value.get_ref().as_str().unwrap_or_default().to_owned())
    };
    let given = [
        text(SECRET).map(Secret::Text),
        text(SECRET_ENV).map(Secret::Environment),
        text(SECRET_FILE).map(|path| Secret::File(path.into())),
    ];
    let mut given = given.into_iter().flatten();
    let (secret, other) = (given.next(), given.next());
    let Some(secret) = secret.filter(|_| other.is_none()) else {
        let what = format!("expected exactly one of {SECRET}, {SECRET_ENV} and {SECRET_FILE}");
        fault(what, None);
        return None;
    };
    let is_empty = match &secret {
        Secret::Text(text) | Secret::Environment(text) => text.is_empty(),
        Secret::File(path) => path.as_os_str().is_empty(),
    };
    if is_empty {
        let help =
            "use a long random string in quotes, such as the output of `openssl rand -hex 32`";
        fault("the secret is empty".to_owned(), Some(help.to_owned()));
        return None;
    }
    if let Secret::Text(text) = &secret
        && let Some(why) = unsendable(text)
    {
        fault(format!("the secret {why}"), None);
        return None;
    }
    Some(secret)
}

/// Returns why a secret cannot be sent, or `None` if it can.
pub(crate) fn unsendable(secret: &str) -> Option<&'static str> {
    if secret.is_empty() {
        return Some("is empty");
    }
    let is_plain = secret.bytes().all(|byte| byte.is_ascii_graphic());
    (!is_plain).then_some("has characters that a header cannot carry")
}

fn rights(
    table: &DeTable<'_>,
    fault: &mut impl FnMut(String, Option<String>),
) -> Option<(Vec<String>, Vec<Grant>)> {
    let found = table.iter().find(|(name, _)| &**name.get_ref() == RIGHTS);
    let list = found.and_then(|(_, value)| value.get_ref().as_array());
    let texts = list.and_then(|list| {
        let texts = list.iter().map(|item| item.get_ref().as_str());
        texts.collect::<Option<Vec<&str>>>()
    });
    let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
        let what = format!("{RIGHTS} must be a non-empty list of strings");
        let help = format!("{RIGHTS} = [\"read\", \"render\", \"write greet.* !greet.secret\"]");
        fault(what, Some(help));
        return None;
    };
    let mut grants = Vec::new();
    for text in &texts {
        match Grant::parse(text) {
            Ok(grant) => grants.push(grant),
            Err(error) => fault(format!("invalid permission {text:?}: {error}"), None),
        }
    }
    let rights = texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    (grants.len() == rights.len()).then_some((rights, grants))
}
