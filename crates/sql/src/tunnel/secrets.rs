//! Secrets that must not be arguments of `ssh`: the text of a key, a password or a passphrase.
//!
//! They are stored in files in a private folder during the lifetime of the tunnel. `ssh` gets a
//! password from the program that `SSH_ASKPASS` names.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::process::Command;

use crate::{SshAuth, SshConfig};

/// Askpass program, which prints the file beside it.
const ASKPASS: &str = "#!/bin/sh\nexec cat \"$0.secret\"\n";
/// Number of folder names to try, because a killed process may have left a folder behind.
const NAMES: usize = 16;

/// Files with secrets. Dropping this removes them.
pub(super) struct Secrets {
    folder: PathBuf,
}

impl Secrets {
    /// Creates the files of a tunnel; `None` if it does not need any.
    ///
    /// # Errors
    /// Fails if the files cannot be written.
    pub(super) fn of(ssh: &SshConfig) -> io::Result<Option<Self>> {
        let answer = answer(ssh);
        if answer.is_none() && ssh.private_key.is_none() {
            return Ok(None);
        }
        let secrets = Secrets { folder: folder()? };
        if let Some(key) = &ssh.private_key {
            // A browser's form sends CRLF line ends, which ssh does not accept, and may drop the
            // last line end.
            let key = key.replace("\r\n", "\n");
            secrets.write("key", format!("{}\n", key.trim()).as_bytes(), 0o600)?;
        }
        if let Some(answer) = answer {
            secrets.write("askpass", ASKPASS.as_bytes(), 0o700)?;
            let line = format!("{answer}\n");
            secrets.write("askpass.secret", line.as_bytes(), 0o600)?;
        }
        Ok(Some(secrets))
    }

    /// Returns the path of the key file.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.join("key")
    }

    /// Makes `ssh` use the askpass program, even if there is a terminal.
    pub(super) fn set_askpass(&self, command: &mut Command) {
        command
            .env("SSH_ASKPASS", self.folder.join("askpass"))
            .env("SSH_ASKPASS_REQUIRE", "force")
            // Before OpenSSH 8.4, ssh uses the askpass program only if a display is set.
            .env(
                "DISPLAY",
                std::env::var_os("DISPLAY").unwrap_or_else(|| ":0".into()),
            );
    }

    fn write(&self, name: &str, text: &[u8], mode: u32) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // `create_new` and the mode are set in one call, so that the file is never readable by
        // other users.
        let options = options.write(true).create_new(true).mode(mode);
        options.open(self.folder.join(name))?.write_all(text)
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "cannot remove the secrets of a tunnel");
        }
    }
}

/// Returns the secret that `ssh` will ask for: the password, or the passphrase of the key.
pub(super) fn answer(ssh: &SshConfig) -> Option<&str> {
    let answer = match ssh.auth_type {
        Some(SshAuth::Password) => ssh.password.as_deref(),
        Some(SshAuth::Key) => ssh.key_passphrase.as_deref(),
        None => ssh.password.as_deref().or(ssh.key_passphrase.as_deref()),
    };
    answer.filter(|answer| !answer.is_empty())
}

/// Creates a new private folder. Its name is not secret, but must not exist yet.
fn folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let place: &Path = &std::env::temp_dir();
    for _ in 0..NAMES {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = place.join(format!("quillet-ssh-{}-{count}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
