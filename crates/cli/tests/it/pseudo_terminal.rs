//! A terminal for tests that read its output and type input.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A terminal with a running command.
pub(crate) struct Terminal {
    outside: File,
    // A character may be split between two reads.
    bytes: Vec<u8>,
    pub(crate) child: Child,
    /// All output so far.
    pub(crate) shown: String,
    /// Length of the output that was already matched.
    seen: usize,
}

impl Terminal {
    /// Starts a command on a new terminal.
    pub(crate) fn start(mut command: Command) -> Self {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let name = ptsname(&outside, Vec::new())
            .unwrap()
            .into_string()
            .unwrap();
        let inside = || File::options().read(true).write(true).open(&name).unwrap();
        command
            .env("TERM", "xterm")
            .stdin(inside())
            .stdout(inside())
            .stderr(inside());
        let child = command.spawn().unwrap();
        let outside: OwnedFd = outside.as_fd().try_clone_to_owned().unwrap();
        Terminal {
            outside: outside.into(),
            child,
            bytes: Vec::new(),
            shown: String::new(),
            seen: 0,
        }
    }

    /// Types a text.
    pub(crate) fn types(&mut self, text: &str) {
        self.outside.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until this text appears after the last match.
    #[track_caller]
    pub(crate) fn until(&mut self, expected: &str) {
        let place = loop {
            if let Some(place) = self.shown[self.seen..].find(expected) {
                break place;
            }
            assert!(self.read(), "{expected:?} was not shown:\n{}", self.shown);
        };
        self.seen += place + expected.len();
    }

    /// Reads available output. Returns `false` if the terminal is closed.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let read = self.outside.read(&mut bytes).unwrap_or(0);
        self.bytes.extend(&bytes[..read]);
        self.shown = String::from_utf8_lossy(&self.bytes).into_owned();
        read > 0
    }

    /// Reads until the command closes the terminal, and returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = self.outside.read(&mut bytes) {
            self.shown
                .push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        self.child.wait().unwrap().code()
    }
}
