//! Access of prompt files on disk: other files of their folder, allowed environment variables, and
//! schemas by name.
//!
//! The environment is passed as a value ([`DiskConfig`]), so the accessible variables are fixed
//! before any prompt is read.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use quillet_prompt::file::{AccessError, EnvironmentProvider, FileEnvironment};
use serde_json::Value as Tree;

/// Total size in bytes of the files that one prompt file refers to. A file counts once per
/// reference.
const MOST_BYTES: u64 = 4 << 20;

/// Environment variables that prompts may read.
#[derive(Clone, Debug, Default)]
pub struct DiskConfig {
    allowed: Vec<String>,
    variables: BTreeMap<String, String>,
}

impl DiskConfig {
    /// Keeps the variables that a pattern allows: a name, or a prefix followed by `*`. Drops all
    /// other variables.
    pub fn new(allowed: &[String], variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut environment = DiskConfig {
            allowed: allowed.to_vec(),
            variables: BTreeMap::new(),
        };
        let variables = variables.into_iter();
        environment.variables = variables
            // Other variables are discarded, so that a later mistake cannot reveal them.
            .filter(|(name, _)| environment.allows(name))
            .collect();
        environment
    }

    fn allows(&self, name: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        self.allowed.iter().any(fits)
    }
}

/// JSON Schemas by name.
#[derive(Clone, Debug, Default)]
pub struct Schemas(Arc<BTreeMap<String, Tree>>);

impl Schemas {
    /// Adds a schema, or replaces the schema with that name.
    pub fn add(&mut self, name: &str, schema: Tree) {
        // The map is copied only if another loader shares it; that loader keeps its own schemas.
        Arc::make_mut(&mut self.0).insert(name.to_owned(), schema);
    }
}

/// Environment loader of prompt files in folders on disk.
#[derive(Debug)]
pub struct DiskEnvironmentProvider {
    environment: Arc<DiskConfig>,
    schemas: Schemas,
}

impl DiskEnvironmentProvider {
    /// Creates a loader with these environment variables and schemas.
    #[must_use]
    pub fn new(environment: DiskConfig, schemas: Schemas) -> Self {
        DiskEnvironmentProvider {
            environment: Arc::new(environment),
            schemas,
        }
    }
}

impl EnvironmentProvider for DiskEnvironmentProvider {
    fn around(&self, folder: &Path) -> Box<dyn FileEnvironment> {
        Box::new(DiskEnvironment {
            folder: folder.to_owned(),
            environment: self.environment.clone(),
            schemas: self.schemas.clone(),
            // The limit applies to each prompt file, so that one prompt cannot use up the limit of
            // another.
            left: Cell::new(MOST_BYTES),
        })
    }

    fn anywhere(&self) -> Box<dyn FileEnvironment> {
        Box::new(self.schemas.clone())
    }
}

/// Prompt files that are not on disk, for example in Redis, can use schemas only.
impl FileEnvironment for Schemas {
    fn schema(&self, name: &str) -> Option<Tree> {
        self.0.get(name).cloned()
    }
}

/// Environment of one prompt file.
struct DiskEnvironment {
    folder: PathBuf,
    environment: Arc<DiskConfig>,
    schemas: Schemas,
    /// Remaining bytes that it may read.
    left: Cell<u64>,
}

impl FileEnvironment for DiskEnvironment {
    fn variable(&self, name: &str) -> Result<Option<String>, AccessError> {
        if self.environment.allows(name) {
            return Ok(self.environment.variables.get(name).cloned());
        }
        Err(AccessError::NotAllowed(format!(
            "not allowed by the setting prompts.env_allow: add {name:?} to it"
        )))
    }

    fn file(&self, path: &str) -> Result<String, AccessError> {
        let real = inside(&self.folder, path)?;
        let left = self.left.get();
        let text = read(&real, left)?;
        self.left.set(left.saturating_sub(text.len() as u64));
        Ok(text)
    }

    fn schema(&self, name: &str) -> Option<Tree> {
        self.schemas.schema(name)
    }
}

/// Resolves a relative path; fails if the result is outside the folder.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, AccessError> {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    // A backslash separates folders on Windows only. It is rejected everywhere, so a path means the
    // same on every platform.
    if path.contains(['\\', '\0']) || !Path::new(path).components().all(plain) {
        return Err(AccessError::Outside);
    }
    let folder = fs::canonicalize(folder).map_err(|error| unreadable(&error))?;
    let real = fs::canonicalize(folder.join(path)).map_err(|error| unreadable(&error))?;
    // Links are resolved before the comparison, so that a link cannot lead out of the folder.
    if real.starts_with(&folder) {
        Ok(real)
    } else {
        Err(AccessError::Outside)
    }
}

fn read(path: &Path, most: u64) -> Result<String, AccessError> {
    // Checked before opening, because opening a named pipe blocks until a writer appears.
    let about = fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !about.is_file() {
        return Err(AccessError::Unreadable("it is not a regular file".into()));
    }
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    // Reading one byte more than the limit detects a larger file without reading all of it.
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > most {
        return Err(AccessError::Unreadable(format!(
            "the files that the prompt refers to are too large: limit {MOST_BYTES} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        AccessError::Unreadable(format!("invalid UTF-8 at byte offset {at}"))
    })
}

fn unreadable(error: &io::Error) -> AccessError {
    AccessError::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, which goes with the value.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> Self {
            let name = format!("quillet-around-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("in/sub")).unwrap();
            TempFolder(path)
        }

        fn around(&self) -> Box<dyn FileEnvironment> {
            DiskEnvironmentProvider::new(DiskConfig::default(), Schemas::default())
                .around(&self.0.join("in"))
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_of_the_folder_are_read_and_no_others() {
        let folder = TempFolder::new("paths");
        fs::write(folder.0.join("secret"), "secret").unwrap();
        fs::write(folder.0.join("in/a.txt"), "a").unwrap();
        fs::write(folder.0.join("in/sub/b.txt"), "b").unwrap();
        fs::write(folder.0.join("in/..%2fsecret"), "odd name").unwrap();
        let around = folder.around();
        let cases = [
            ("a.txt", "a"),
            ("./a.txt", "a"),
            ("sub/b.txt", "b"),
            ("..%2fsecret", "odd name"),
        ];
        for (path, text) in cases {
            assert_eq!(around.file(path).as_deref(), Ok(text), "{path}");
        }
        let absolute = folder.0.join("in/a.txt");
        let outside = [
            "../secret",
            "sub/../../secret",
            "sub/../a.txt",
            "..",
            "/etc/passwd",
            absolute.to_str().unwrap(),
            "..\\secret",
            "a.txt\0.json",
        ];
        for path in outside {
            assert_eq!(around.file(path), Err(AccessError::Outside), "{path}");
        }
        for path in ["", ".", "sub", "none.txt", "a.txt/", "a.txt/../a.txt"] {
            assert!(around.file(path).is_err(), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_of_the_folder_only() {
        use std::os::unix::fs::symlink;
        let folder = TempFolder::new("links");
        let inside = folder.0.join("in");
        fs::write(folder.0.join("secret"), "secret").unwrap();
        fs::write(inside.join("a.txt"), "a").unwrap();
        symlink("a.txt", inside.join("good")).unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("/dev/zero", inside.join("zero")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        let around = folder.around();
        assert_eq!(around.file("good").as_deref(), Ok("a"));
        for path in ["out", "up/secret", "zero"] {
            assert_eq!(around.file(path), Err(AccessError::Outside), "{path}");
        }
        assert!(matches!(
            around.file("loop"),
            Err(AccessError::Unreadable(_))
        ));
        // The folder itself may be a link.
        symlink(&inside, folder.0.join("linked")).unwrap();
        let linked = DiskEnvironmentProvider::new(DiskConfig::default(), Schemas::default())
            .around(&folder.0.join("linked"));
        assert_eq!(linked.file("a.txt").as_deref(), Ok("a"));
    }

    #[test]
    fn large_files_and_bytes_are_refused() {
        let folder = TempFolder::new("sizes");
        let half = vec![b'x'; (MOST_BYTES / 2) as usize];
        fs::write(folder.0.join("in/half"), &half).unwrap();
        fs::write(
            folder.0.join("in/large"),
            [&half[..], &half[..], b"x"].concat(),
        )
        .unwrap();
        fs::write(folder.0.join("in/bytes"), [b'a', 0xff]).unwrap();
        let around = folder.around();
        let why = |path| around.file(path).unwrap_err().to_string();
        assert!(why("large").contains("too large"));
        assert_eq!(why("bytes"), "invalid UTF-8 at byte offset 1");
        assert!(around.file("half").is_ok());
        assert!(around.file("half").is_ok());
        assert!(why("half").contains("too large"));
    }

    #[test]
    fn only_variables_that_are_allowed_are_seen() {
        let variables = ["OPENAI_MODEL", "OPENAI", "REGION", "REGIONAL", "HOME"];
        let variables = variables.map(|name| (name.to_owned(), format!("value of {name}")));
        let allowed = ["OPENAI_*", "REGION", "EMPTY"].map(str::to_owned);
        let environment = DiskConfig::new(&allowed, variables);
        assert_eq!(environment.variables.len(), 2);
        let around =
            DiskEnvironmentProvider::new(environment, Schemas::default()).around(Path::new("."));
        for name in ["OPENAI_MODEL", "REGION"] {
            let value = format!("value of {name}");
            assert_eq!(around.variable(name), Ok(Some(value)), "{name}");
        }
        assert_eq!(around.variable("EMPTY"), Ok(None));
        for name in ["OPENAI", "REGIONAL", "HOME", "region", "", "*", "OPENAI*"] {
            let error = around.variable(name).unwrap_err().to_string();
            assert!(error.contains("prompts.env_allow"), "{name}: {error}");
            assert!(!error.contains("value of"), "{name}: {error}");
        }
    }
}
