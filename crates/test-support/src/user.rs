//! The user that runs a server: the current user, unless that is root, which database servers
//! refuse.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The user of a server's processes and files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    /// The user id, for file names that other users cannot have.
    pub(crate) id: u32,
    /// The user and group to switch to if the current user is root.
    change: Option<(u32, u32)>,
}

impl User {
    /// Returns the current user, or `package_user` (created by the server's package) if that is
    /// root.
    pub(crate) fn for_server(package_user: &str) -> User {
        let own = number(&["-u"]);
        if own != 0 {
            return User {
                id: own,
                change: None,
            };
        }
        let id = number(&["-u", package_user]);
        let group = number(&["-g", package_user]);
        User {
            id,
            change: Some((id, group)),
        }
    }

    /// Returns the current user.
    pub(crate) fn ourselves() -> User {
        User {
            id: number(&["-u"]),
            change: None,
        }
    }

    /// Returns a command that runs as this user without input, in a folder that the user may read.
    pub(crate) fn command(self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir("/");
        if let Some((id, group)) = self.change {
            command.uid(id).gid(group);
        }
        command
    }

    /// Runs a command and returns its output.
    ///
    /// # Panics
    /// Panics with the output if the command fails.
    pub(crate) fn run(self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        assert!(
            output.status.success(),
            "{program} {arguments:?} failed:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn number(arguments: &[&str]) -> u32 {
    let output = Command::new("id").args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("id does not start: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| {
        panic!("id {arguments:?} knows no such user; install the server's package first")
    })
}
