//! Resolves and reads modules: files and packages as in Node, but only within the roots. No other
//! code decides which files JavaScript may load as modules.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::error::{JsError, JsErrorKind};
use super::package::{self, Package};
use super::protocol::{ImportRequest, ModuleKind, ResolvedModule};

/// Maximum size of a module in bytes.
const LARGEST: u64 = 8 << 20;

/// Extensions that a name may omit.
const ENDINGS: [&str; 4] = [".js", ".mjs", ".cjs", ".json"];

/// Node modules that are built in.
pub(super) const NODE: [&str; 12] = [
    "assert",
    "assert/strict",
    "buffer",
    "events",
    "fs",
    "fs/promises",
    "path",
    "path/posix",
    "querystring",
    "timers",
    "url",
    "util",
];

/// Node modules that are not available.
const ABSENT: [&str; 16] = [
    "child_process",
    "cluster",
    "crypto",
    "dgram",
    "dns",
    "http",
    "http2",
    "https",
    "net",
    "os",
    "process",
    "stream",
    "tls",
    "vm",
    "worker_threads",
    "zlib",
];

/// The folders that modules are loaded from.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules {
    roots: Vec<PathBuf>,
}

impl Modules {
    /// Uses the roots that exist, by their canonical paths.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        let roots = roots.iter().filter_map(|root| root.canonicalize().ok());
        Modules {
            roots: roots.collect(),
        }
    }

    /// Resolves a module name to a file.
    pub(super) fn resolve(&self, request: &ImportRequest) -> Result<ResolvedModule, JsError> {
        let specifier = &*request.specifier;
        let plain = specifier.strip_prefix("node:").unwrap_or(specifier);
        if NODE.contains(&plain) {
            return Ok(found(format!("node:{plain}"), ModuleKind::Node));
        }
        if specifier.starts_with("node:") {
            return Err(absent(plain));
        }
        let from = Path::new(&request.from).parent().unwrap_or(Path::new(""));
        let file = match target(specifier) {
            Some(path) => self.file(&from.join(path)),
            None => self.package(specifier, from, request.required)?,
        };
        let Some(file) = file else {
            return Err(self.missing(request, plain));
        };
        let file = self.inside(&file, specifier)?;
        let kind = kind(&file, &self.roots);
        Ok(found(file.to_string_lossy().into_owned(), kind))
    }

    /// Reads the text of a resolved file.
    pub(super) fn load(&self, path: &str) -> Result<ResolvedModule, JsError> {
        let file = self.inside(Path::new(path), path)?;
        let kind = kind(&file, &self.roots);
        let length = fs::metadata(&file).map_or(0, |data| data.len());
        if length > LARGEST {
            return Err(module(format!("module {path} exceeds 8 MiB")));
        }
        let text = fs::read(&file)
            .map_err(|error| module(format!("cannot read module {path}: {error}")))?;
        let mut resolved = found(file.to_string_lossy().into_owned(), kind);
        resolved.text = String::from_utf8_lossy(&text).into_owned();
        Ok(resolved)
    }

    /// Returns the canonical path of a file if it is within a root.
    fn inside(&self, file: &Path, name: &str) -> Result<PathBuf, JsError> {
        let truly = file
            .canonicalize()
            .map_err(|error| module(format!("cannot read module {name}: {error}")))?;
        if self.roots.iter().any(|root| truly.starts_with(root)) {
            return Ok(truly);
        }
        Err(JsError::new(
            JsErrorKind::Denied,
            format!("module `{name}` is outside of the folders from which modules may be read"),
        ))
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.canonicalize()
            .is_ok_and(|path| self.roots.iter().any(|root| path.starts_with(root)))
    }

    /// Finds a file, adds a missing extension, or uses the entry file of a folder.
    fn file(&self, path: &Path) -> Option<PathBuf> {
        if path.is_file() {
            return Some(path.to_owned());
        }
        let name = path.file_name()?.to_string_lossy().into_owned();
        let longer = ENDINGS
            .iter()
            .map(|ending| path.with_file_name(format!("{name}{ending}")));
        longer
            .into_iter()
            .find(|path| path.is_file())
            .or_else(|| self.folder(path))
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        if !path.is_dir() || !self.is_inside(path) {
            return None;
        }
        let package = Package::read(path).unwrap_or_default();
        let entry = package
            .main(true)
            .map(|main| path.join(main))
            .filter(|entry| entry != path);
        entry
            .and_then(|entry| {
                if entry.is_dir() {
                    index(&entry)
                } else {
                    self.file(&entry)
                }
            })
            .or_else(|| index(path))
    }

    /// Finds a file of a package in `node_modules` of the folder or of one above it.
    fn package(
        &self,
        specifier: &str,
        from: &Path,
        required: bool,
    ) -> Result<Option<PathBuf>, JsError> {
        let Some((name, inner)) = package::split(specifier) else {
            return Ok(None);
        };
        if let Some(own) = self.own(name, from) {
            return self.entry(&own, &inner, specifier, required);
        }
        for folder in from.ancestors() {
            let place = folder.join("node_modules").join(name);
            if place.is_dir() {
                return self.entry(&place, &inner, specifier, required);
            }
            if !self.is_inside(folder) {
                break;
            }
        }
        Ok(None)
    }

    /// Finds a file of the importing file's own package, if it has this name and defines `exports`.
    fn own(&self, name: &str, from: &Path) -> Option<PathBuf> {
        let folder = from
            .ancestors()
            .find(|folder| folder.join("package.json").is_file())?;
        let package = Package::read(folder).filter(|_| self.is_inside(folder))?;
        (package.name() == Some(name) && package.exports().is_some()).then(|| folder.to_owned())
    }

    /// Resolves an entry point of a package: `.` or `./inner`.
    fn entry(
        &self,
        place: &Path,
        inner: &str,
        specifier: &str,
        required: bool,
    ) -> Result<Option<PathBuf>, JsError> {
        let package = Package::read(place).unwrap_or_default();
        if let Some(exports) = package.exports() {
            let target = package::export(exports, inner, required);
            let target = target.ok_or_else(|| {
                module(format!("package `{specifier}` does not export `{inner}`"))
            })?;
            return Ok(self.file(&place.join(target)));
        }
        if inner != "." {
            return Ok(self.file(&place.join(inner)));
        }
        let main = package
            .main(required)
            .and_then(|main| self.file(&place.join(main)));
        Ok(main.or_else(|| index(place)))
    }

    fn missing(&self, request: &ImportRequest, plain: &str) -> JsError {
        if ABSENT.contains(&plain) {
            return absent(plain);
        }
        let from = &request.from;
        let wanted = &request.specifier;
        if self.roots.is_empty() {
            return module(format!(
                "module `{wanted}` not found: this script cannot read modules from files"
            ));
        }
        if target(wanted).is_some() {
            return module(format!("module `{wanted}` not found from {from}"));
        }
        let known = NODE.iter().copied();
        let near =
            quillet_core::nearest(wanted, known).map(|name| format!("; did you mean `{name}`?"));
        let near = near.unwrap_or_default();
        module(format!(
            "package `{wanted}` not found in a node_modules folder at or above {from}{near}"
        ))
    }
}

fn found(path: String, kind: ModuleKind) -> ResolvedModule {
    ResolvedModule {
        path,
        kind,
        text: String::new(),
    }
}

fn module(message: String) -> JsError {
    JsError::new(JsErrorKind::Module, message)
}

fn absent(name: &str) -> JsError {
    let instead = match name {
        "http" | "https" | "http2" | "net" | "tls" | "dns" | "undici" => {
            "; use `fetch`, with --allow-net or scripts.allow_net"
        }
        "child_process" | "worker_threads" | "cluster" => {
            "; use a function in another language (`[python]` at the start of `!fn`), with \
            --allow-run or scripts.allow_run"
        }
        "os" | "process" => {
            "; use `ENV`, with the variables that --allow-env or scripts.allow_env names"
        }
        _ => "",
    };
    module(format!(
        "Node's module `{name}` is not available to scripts; available modules: {}{instead}",
        NODE.join(", ")
    ))
}

/// Returns the path of a specifier, if it is one.
fn target(specifier: &str) -> Option<PathBuf> {
    if let Some(path) = specifier.strip_prefix("file://") {
        return Some(PathBuf::from(path));
    }
    let is_path = specifier.starts_with(['.', '/']) || Path::new(specifier).is_absolute();
    is_path.then(|| PathBuf::from(specifier))
}

fn index(folder: &Path) -> Option<PathBuf> {
    let mut entries = ENDINGS
        .iter()
        .map(|ending| folder.join(format!("index{ending}")));
    entries.find(|entry| entry.is_file())
}

/// Determines the module format from the extension and the `type` of the enclosing package.
fn kind(file: &Path, roots: &[PathBuf]) -> ModuleKind {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("mjs") => return ModuleKind::Es,
        Some("cjs") => return ModuleKind::CommonJs,
        Some("json") => return ModuleKind::Json,
        _ => {}
    }
    let folders = file.ancestors().skip(1);
    let mut inside = folders.take_while(|folder| roots.iter().any(|root| folder.starts_with(root)));
    let package = inside.find_map(Package::read);
    match package
        .as_ref()
        .and_then(|package| package.field("type"))
        .and_then(Json::as_str)
    {
        Some("module") => ModuleKind::Es,
        Some("commonjs") => ModuleKind::CommonJs,
        _ => ModuleKind::Either,
    }
}
