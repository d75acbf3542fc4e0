//! The folder that file tools can access. Paths are opened relative to it, with `openat2` where
//! available and one component at a time elsewhere. Neither `..`, nor a symbolic link, nor a folder
//! that is replaced during the walk can lead out of it.

use std::io;
use std::path::{Component, Path};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use quillet_core::tool::ToolErrorKind;

/// The folder.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: Dir,
}

/// Error for a path that was not opened: a sentence for models and people.
#[derive(Debug)]
pub(super) struct PathError {
    pub(super) kind: ToolErrorKind,
    pub(super) why: String,
}

impl PathError {
    pub(super) fn new(kind: ToolErrorKind, why: impl Into<String>) -> Self {
        let why = why.into();
        PathError { kind, why }
    }
}

impl Workspace {
    /// Opens the workspace at a folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(folder, ambient_authority())?;
        Ok(Workspace { root })
    }

    /// Opens a regular file for reading.
    pub(super) fn file(&self, path: &str) -> Result<(File, Metadata), PathError> {
        within(path)?;
        // Non-blocking, because opening a FIFO would wait for a writer.
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let file = self.root.open_with(path, &options);
        let file = file.map_err(|error| refusal(path, &error))?;
        // Metadata of the open file: the name may refer to another file by now.
        let metadata = file.metadata().map_err(|error| refusal(path, &error))?;
        if metadata.is_dir() {
            let why = format!("{path:?} is a directory (list_files shows what is in it)");
            return Err(PathError::new(ToolErrorKind::Arguments, why));
        }
        if !metadata.is_file() {
            let why = format!("{path:?} is a device, pipe or socket; only files are read");
            return Err(PathError::new(ToolErrorKind::Refused, why));
        }
        Ok((file, metadata))
    }

    /// Opens a folder for listing.
    pub(super) fn folder(&self, path: &str) -> Result<Dir, PathError> {
        within(path)?;
        let path = if path.is_empty() { "." } else { path };
        let folder = self.root.open_dir(path);
        folder.map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                let why = format!("{path:?} is not a directory (read_file reads files)");
                PathError::new(ToolErrorKind::Arguments, why)
            }
            _ => refusal(path, &error),
        })
    }
}

/// Rejects syntactically invalid paths with a hint on how to fix them.
fn within(path: &str) -> Result<(), PathError> {
    let refuse = |why: &str| {
        let why = format!("{path:?} {why}");
        Err(PathError::new(ToolErrorKind::Refused, why))
    };
    for component in Path::new(path).components() {
        match component {
            Component::Prefix(_) | Component::RootDir => {
                return refuse("is absolute (paths are relative to the workspace)");
            }
            Component::ParentDir => return refuse("contains .. (paths stay in the workspace)"),
            Component::CurDir | Component::Normal(_) => {}
        }
    }
    Ok(())
}

fn refusal(path: &str, error: &io::Error) -> PathError {
    let (kind, what) = match error.kind() {
        io::ErrorKind::NotFound => (
            ToolErrorKind::Arguments,
            "does not exist (list_files shows what does)".to_owned(),
        ),
        // A link that leads out of the workspace causes this error.
        io::ErrorKind::PermissionDenied => (
            ToolErrorKind::Refused,
            "may not be read, or leads out of the workspace".to_owned(),
        ),
        _ => (
            ToolErrorKind::Arguments,
            format!("cannot be opened: {error}"),
        ),
    };
    PathError::new(kind, format!("{path:?} {what}"))
}
