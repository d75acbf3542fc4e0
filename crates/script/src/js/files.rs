//! Node's `fs` for scripts. All access needs a grant, and is checked and performed here, never by
//! the worker.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use quillet_core::{Map, Value, ValueList};

use super::error::{JsError, JsErrorKind};
use super::protocol::FileCall;
use super::runtime::JsValueRef;
use crate::host::Grants;
use crate::run::DryRunReport;

/// Maximum size of a file to read or write, in bytes.
const LARGEST: u64 = 64 << 20;

/// The folders that `fs` may access.
#[derive(Clone, Debug, Default)]
pub(super) struct FileSandbox {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    here: PathBuf,
    /// Whether `fetch` is available.
    net: bool,
    /// Set in a dry run, which accesses no files.
    withheld: Option<Arc<DryRunReport>>,
    /// Whether the run is durable, which makes `fs` unavailable.
    kept: bool,
}

/// Error message for `fs` in a durable run.
const KEPT: &str = "`fs` is not available in a durable run: the files could differ when another \
process resumes the run; read them with a tool";

impl FileSandbox {
    /// Creates the sandbox of a dry run.
    pub(super) fn withheld(withheld: Arc<DryRunReport>) -> Self {
        FileSandbox {
            withheld: Some(withheld),
            ..FileSandbox::default()
        }
    }

    /// Creates the sandbox of a durable run, which allows no file access.
    pub(super) fn for_durable_run(grants: &Grants) -> Self {
        FileSandbox {
            net: grants.net,
            kept: true,
            ..FileSandbox::default()
        }
    }

    /// Creates a sandbox. `own` are the script's own folders, which are readable if the script has
    /// any grant. Relative paths start in the first of them.
    pub(super) fn new(grants: &Grants, own: &[PathBuf]) -> Self {
        let truly = |folders: &[PathBuf]| {
            folders
                .iter()
                .filter_map(|folder| folder.canonicalize().ok())
                .collect()
        };
        let mut read: Vec<PathBuf> = truly(&grants.read);
        let write: Vec<PathBuf> = truly(&grants.write);
        if !read.is_empty() || !write.is_empty() {
            read.extend(truly(own));
        }
        let here = own.first().cloned().unwrap_or_default();
        FileSandbox {
            read,
            write,
            here,
            net: grants.net,
            withheld: None,
            kept: false,
        }
    }

    /// Performs a call of a script. Returns its result, or `{failed: code, message}` for `fs` to
    /// throw.
    pub(super) fn call(&self, call: &FileCall) -> Result<JsValueRef, JsError> {
        if call.name == "net" {
            let net = self.net || self.withheld.is_some();
            return Ok(JsValueRef::Value(Value::Bool(net)));
        }
        if let Some(withheld) = &self.withheld {
            return left_out(call, withheld);
        }
        if self.kept {
            return Err(denied(KEPT));
        }
        if self.read.is_empty() && self.write.is_empty() {
            return Err(denied(
                "`fs` needs a permission: --allow-read DIR or --allow-write DIR \
                (scripts.allow_read, scripts.allow_write)",
            ));
        }
        let mut arguments = call.arguments.iter().map(|argument| match argument {
            JsValueRef::Value(value) => value.clone(),
            JsValueRef::Undefined | JsValueRef::Function(_) => Value::Null,
        });
        let path = arguments.next().unwrap_or_default();
        let path = self.here.join(path.as_str().unwrap_or_default());
        let second = arguments.next().unwrap_or_default();
        let done = match &*call.name {
            // `fs` makes this request once when it is loaded.
            "granted" => return Ok(JsValueRef::Undefined),
            "readFile" => self.reading(&path).and_then(|path| read(&path)),
            "stat" => self.reading(&path).and_then(|path| stat(&path)),
            "readdir" => self.reading(&path).and_then(|path| list(&path)),
            "exists" => {
                return Ok(JsValueRef::Value(
                    self.reading(&path).is_ok_and(|path| path.exists()).into(),
                ));
            }
            "realpath" => self.reading(&path).map(|path| text(&path)),
            "writeFile" => self
                .writing(&path)
                .and_then(|path| write(&path, &second, false)),
            "appendFile" => self
                .writing(&path)
                .and_then(|path| write(&path, &second, true)),
            "mkdir" => self.writing(&path).and_then(|path| make(&path, &second)),
            "unlink" => self
                .writing(&path)
                .and_then(|path| nothing(fs::remove_file(path))),
            "rmdir" => self
                .writing(&path)
                .and_then(|path| nothing(fs::remove_dir(path))),
            "rename" => self
                .writing(&path)
                .and_then(|_| self.two(&path, &second))
                .and_then(|(from, to)| nothing(fs::rename(from, to))),
            "copyFile" => self
                .two(&path, &second)
                .and_then(|(from, to)| nothing(fs::copy(from, to).map(drop))),
            _ => Err(FileError::Denied(format!(
                "fs.{} is not available to scripts",
                call.name
            ))),
        };
        match done {
            Ok(value) => Ok(JsValueRef::Value(value)),
            Err(FileError::System(error)) => {
                Ok(JsValueRef::Value(failure(&error, &call.name, &path)))
            }
            Err(FileError::Denied(message)) => Err(denied(message)),
        }
    }

    /// Returns the canonical path of a file to read.
    fn reading(&self, path: &Path) -> Result<PathBuf, FileError> {
        let truly = match path.canonicalize() {
            Ok(truly) => truly,
            // Whether a file exists may be revealed only in a folder that may be read.
            Err(error) => {
                self.granted(&nearest(path), path, "read")?;
                return Err(FileError::System(error));
            }
        };
        self.granted(&truly, path, "read")?;
        Ok(truly)
    }

    /// Returns the canonical path of a file to write, which need not exist yet.
    fn writing(&self, path: &Path) -> Result<PathBuf, FileError> {
        if path
            .components()
            .any(|part| part == std::path::Component::ParentDir)
        {
            return Err(FileError::Denied(format!(
                "invalid path `{}`: a path to write cannot contain `..`",
                path.display()
            )));
        }
        let base = nearest(path);
        self.granted(&base, path, "write")?;
        if path.symlink_metadata().is_ok_and(|data| data.is_symlink()) {
            let truly = path.canonicalize().map_err(FileError::System)?;
            self.granted(&truly, path, "write")?;
            return Ok(truly);
        }
        Ok(path.to_owned())
    }

    fn two(&self, from: &Path, to: &Value) -> Result<(PathBuf, PathBuf), FileError> {
        let to = self.writing(&self.here.join(to.as_str().unwrap_or_default()))?;
        let from = self.reading(from)?;
        Ok((from, to))
    }

    fn granted(&self, truly: &Path, path: &Path, grant: &str) -> Result<(), FileError> {
        let folders = if grant == "write" {
            &self.write
        } else {
            &self.read
        };
        if folders.iter().any(|folder| truly.starts_with(folder)) {
            return Ok(());
        }
        let path = path.display();
        Err(FileError::Denied(format!(
            "permission denied for `{path}`: allow its folder with {grant}"
        )))
    }
}

/// Answers a call in a dry run: writes succeed, `exists` returns false, and other reads fail
/// because the data is unknown.
fn left_out(call: &FileCall, withheld: &DryRunReport) -> Result<JsValueRef, JsError> {
    let path = match call.arguments.first() {
        Some(JsValueRef::Value(Value::Str(path))) => path.to_string(),
        _ => String::new(),
    };
    let name = &call.name;
    match &**name {
        "granted" => Ok(JsValueRef::Undefined),
        "writeFile" | "appendFile" | "mkdir" | "unlink" | "rmdir" | "rename" | "copyFile" => {
            let what = format!("`fs.{name}` of `{path}` was not executed");
            withheld.note(&what, "--allow-write FOLDER (scripts.allow_write)");
            Ok(JsValueRef::Value(Value::Null))
        }
        "exists" => {
            let what = format!("`fs.{name}` of `{path}` was not executed");
            withheld.note(&what, "--allow-read FOLDER (scripts.allow_read)");
            Ok(JsValueRef::Value(Value::Bool(false)))
        }
        _ => Err(denied(format!(
            "a dry run reads no files: `fs.{name}` of `{path}`"
        ))),
    }
}

enum FileError {
    System(io::Error),
    Denied(String),
}

fn denied(message: impl Into<String>) -> JsError {
    JsError::new(JsErrorKind::Denied, message)
}

/// Returns the canonical path of the deepest existing ancestor.
fn nearest(path: &Path) -> PathBuf {
    let mut existing = path.ancestors().filter_map(|path| path.canonicalize().ok());
    existing.next().unwrap_or_default()
}

fn nothing(result: io::Result<()>) -> Result<Value, FileError> {
    result.map(|()| Value::Null).map_err(FileError::System)
}

/// Reads bytes as characters with the same code. The worker converts them to text or a buffer.
fn read(path: &Path) -> Result<Value, FileError> {
    let length = fs::metadata(path).map_err(FileError::System)?.len();
    if length > LARGEST {
        return Err(FileError::Denied(format!(
            "`{}` exceeds 64 MiB",
            path.display()
        )));
    }
    let bytes = fs::read(path).map_err(FileError::System)?;
    Ok(Value::from(
        bytes.into_iter().map(char::from).collect::<String>(),
    ))
}

fn write(path: &Path, data: &Value, append: bool) -> Result<Value, FileError> {
    use std::io::Write as _;
    let data = data.as_str().unwrap_or_default();
    // The worker sends one character per byte, so none is above 255.
    let bytes: Vec<u8> = data
        .chars()
        .map(|char| u8::try_from(u32::from(char)).unwrap_or(b'?'))
        .collect();
    let mut options = fs::OpenOptions::new();
    options
        .create(true)
        .write(true)
        .append(append)
        .truncate(!append);
    nothing(
        options
            .open(path)
            .and_then(|mut file| file.write_all(&bytes)),
    )
}

fn make(path: &Path, recursive: &Value) -> Result<Value, FileError> {
    let all = *recursive == Value::Bool(true);
    nothing(if all {
        fs::create_dir_all(path)
    } else {
        fs::create_dir(path)
    })
}

fn stat(path: &Path) -> Result<Value, FileError> {
    let data = fs::metadata(path).map_err(FileError::System)?;
    let age = data
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let fields = [
        ("file", Value::Bool(data.is_file())),
        ("folder", Value::Bool(data.is_dir())),
        (
            "size",
            Value::Int(i64::try_from(data.len()).unwrap_or(i64::MAX)),
        ),
        (
            "mtimeMs",
            Value::Float(age.unwrap_or_default().as_secs_f64() * 1_000.0),
        ),
    ];
    Ok(Value::Map(Map::from_iter(fields)))
}

/// Lists the entries of a folder by name, and whether each is a folder.
fn list(path: &Path) -> Result<Value, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(FileError::System)? {
        let entry = entry.map_err(FileError::System)?;
        let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        names.push((entry.file_name().to_string_lossy().into_owned(), folder));
    }
    names.sort();
    let pair =
        |(name, folder): (String, bool)| Value::from(vec![Value::from(name), Value::Bool(folder)]);
    Ok(Value::List(ValueList::from_iter(
        names.into_iter().map(pair),
    )))
}

fn text(path: &Path) -> Value {
    Value::from(path.to_string_lossy().into_owned())
}

/// Converts a system error to Node's format.
fn failure(error: &io::Error, name: &str, path: &Path) -> Value {
    let (code, words) = match error.kind() {
        io::ErrorKind::NotFound => ("ENOENT", "no such file or directory"),
        io::ErrorKind::PermissionDenied => ("EACCES", "permission denied"),
        io::ErrorKind::AlreadyExists => ("EEXIST", "file already exists"),
        io::ErrorKind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        io::ErrorKind::NotADirectory => ("ENOTDIR", "not a directory"),
        io::ErrorKind::DirectoryNotEmpty => ("ENOTEMPTY", "directory not empty"),
        _ => ("EIO", "input/output error"),
    };
    let path = path.display();
    let message = format!("{code}: {words}, {name} '{path}'");
    Value::Map(Map::from_iter([
        ("failed", Value::from(code)),
        ("message", Value::from(message)),
    ]))
}
