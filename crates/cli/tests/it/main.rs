//! Runs the command like a user: with arguments and input, checking output, notes and exit code.

#![allow(clippy::unwrap_used)]

mod agents;
mod ask;
mod bad_errors;
mod basics;
mod batches;
mod beside;
#[cfg(feature = "full")]
mod budgets;
mod chat;
mod check;
mod config;
mod convert;
mod doors;
mod durable;
mod endings;
mod history;
#[cfg(feature = "full")]
mod interface;
#[cfg(feature = "js")]
mod js_worker;
mod keys;
#[cfg(feature = "redis")]
mod killed;
mod langfuse_traces;
mod layout;
mod lsp;
mod markdown;
mod marks;
#[cfg(not(feature = "full"))]
mod missing;
mod newcomers;
mod openapi;
mod pseudo_terminal;
#[cfg(feature = "full")]
mod rates;
mod render;
mod run;
mod run_prompt;
#[cfg(feature = "js")]
mod script_examples;
mod serve;
#[cfg(feature = "sql")]
mod sql;
mod stored;
mod tape;
mod test_prompt;
mod testing;
mod trace;
mod worker;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A separate folder for each test, without any configuration.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quillet-cli-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Place(path.canonicalize().unwrap())
    }

    /// Writes files and creates their folders.
    fn with(self, files: &[(&str, &str)]) -> Self {
        for (name, text) in files {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the command in this folder, with a clean environment.
    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quillet"));
        command
            .args(args)
            .current_dir(&self.0)
            .env_clear()
            .env("HOME", &self.0);
        command
    }

    fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Done {
        self.run_with(args, "", &[])
    }

    fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &str, env: &[(&str, &str)]) -> Done {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may have exited already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Done {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A completed command.
#[derive(Debug)]
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Done {
    /// Asserts success with exactly this result, and an empty standard error.
    #[track_caller]
    fn gives(&self, out: &str) {
        assert_eq!(
            (self.code, self.out.as_str(), self.err.as_str()),
            (Some(0), out, "")
        );
    }

    /// Asserts failure with this code, no result, and these texts on standard error.
    #[track_caller]
    fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in:\n{}", self.err);
        }
    }
}
