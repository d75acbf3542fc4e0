//! Parses the source of an import: `js:lodash`, `./tools.mjs`, `maths.wasm`, `agent.ai.yaml`,
//! `ai:package#file`.

use quillet_core::nearest;

use crate::library::name;

/// The kind of an imported module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// `js:name`: a package, or a Node.js module (`path`).
    JsPackage(String),
    /// `.js`, `.mjs`, `.cjs`, `.ai.js`: a file relative to the script's folder.
    JsFile(String),
    /// `.wasm`, `.ai.wasm`: a file relative to the script's folder.
    Wasm(String),
    /// A script, by file name or id.
    Script(String),
    /// `ai:name` or a folder: a package of scripts.
    Package {
        /// The folder or id.
        name: String,
        /// `#file`: imports only this file of the package, without initialization by its entry.
        /// Never a package itself.
        file: Option<Box<ImportKind>>,
    },
}

/// An error in a source, and how to fix it.
pub(crate) struct ImportError {
    pub(crate) code: &'static str,
    pub(crate) why: String,
    pub(crate) mend: String,
}

/// Node.js modules that scripts import. Without `js:` these names are modules too, never scripts.
const NODE: [&str; 12] = [
    "assert",
    "buffer",
    "crypto",
    "events",
    "fs",
    "http",
    "https",
    "os",
    "path",
    "querystring",
    "url",
    "util",
];

/// Parses a source.
pub(crate) fn kind(text: &str) -> Result<ImportKind, ImportError> {
    let text = text.trim();
    let unquoted = text.split_once(':');
    match unquoted {
        Some(("js", rest)) => javascript(text, rest),
        Some(("ai", rest)) => package(text, rest),
        Some(("rb" | "ruby" | "py" | "python", _)) => Err(other_language(text)),
        Some((prefix, rest)) if is_prefix(prefix) => Err(unknown_prefix(text, prefix, rest)),
        _ => file(text),
    }
}

/// `C:` is a drive, not a prefix.
fn is_prefix(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn javascript(text: &str, rest: &str) -> Result<ImportKind, ImportError> {
    let path = rest.starts_with('.') || is_javascript(rest);
    // `node:path` and `path` are the same module, so only the short name is used.
    let package = rest.strip_prefix("node:").unwrap_or(rest);
    checked(text, package)?;
    Ok(if path {
        ImportKind::JsFile(package.to_owned())
    } else {
        ImportKind::JsPackage(package.to_owned())
    })
}

fn package(text: &str, rest: &str) -> Result<ImportKind, ImportError> {
    let (package, inner) = match rest.split_once('#') {
        Some((package, inner)) => (package, Some(inner)),
        None => (rest, None),
    };
    let package = package.trim_end_matches('/');
    checked(text, package)?;
    let inner = inner.map(file).transpose()?;
    Ok(ImportKind::Package {
        name: package.to_owned(),
        file: inner.map(Box::new),
    })
}

/// Parses a source without a prefix. The extension determines its kind; without one it is a script
/// id.
fn file(text: &str) -> Result<ImportKind, ImportError> {
    if text.starts_with('@') || NODE.contains(&text) {
        return Err(without_prefix(text));
    }
    checked(text, text)?;
    let name = text.to_owned();
    Ok(match text.rsplit('.').next() {
        _ if text.ends_with('/') => ImportKind::Package {
            name: name.trim_end_matches('/').to_owned(),
            file: None,
        },
        _ if name::stem(text).is_some() => ImportKind::Script(name),
        _ if is_javascript(text) => ImportKind::JsFile(name),
        Some("wasm") => ImportKind::Wasm(name),
        Some("rb" | "py") => return Err(other_language(text)),
        Some("ts" | "mts" | "tsx" | "jsx") => return Err(to_compile(text)),
        // A script may have the id `ai`. Only an extension marks a binary pack.
        Some("ai" | "pack") if text != "ai" && text != "pack" => return Err(binary(text)),
        _ => ImportKind::Script(name),
    })
}

fn is_javascript(text: &str) -> bool {
    [".js", ".mjs", ".cjs"]
        .iter()
        .any(|end| text.ends_with(end))
}

fn checked(text: &str, name: &str) -> Result<(), ImportError> {
    name::check(name).map_err(|why| ImportError {
        code: "script.denied",
        why: format!("the import {text:?} {why}"),
        mend: "name a package, or a file relative to this script's folder".to_owned(),
    })
}

fn other_language(text: &str) -> ImportError {
    let why = format!("cannot import {text:?}: imports must be JavaScript, wasm or scripts");
    let mend = "write the function in the script: !fn |- [python] def name(argument): …";
    refusal(why, mend)
}

fn to_compile(text: &str) -> ImportError {
    let why = format!("cannot import {text:?}: compile it to JavaScript first");
    refusal(why, "import the compiled .js file")
}

fn binary(text: &str) -> ImportError {
    let why = format!("cannot import {text:?}: binary packs are not supported");
    refusal(why, "import the package's folder: ai:folder")
}

fn without_prefix(text: &str) -> ImportError {
    let why = format!("unknown kind of import: {text:?}");
    refusal(why, &format!("write an npm package as \"js:{text}\""))
}

fn unknown_prefix(text: &str, prefix: &str, rest: &str) -> ImportError {
    let why = format!("unknown prefix of the import {text:?}");
    let meant = nearest(prefix, ["js", "ai"]).unwrap_or("js");
    let mend = format!(
        "did you mean {meant}:{rest}? Use js: for npm packages and ai: for packages of scripts"
    );
    refusal(why, &mend)
}

fn refusal(why: String, mend: &str) -> ImportError {
    ImportError {
        code: "script.import",
        why,
        mend: mend.to_owned(),
    }
}
