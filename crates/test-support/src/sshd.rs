//! An OpenSSH server for tests.

use std::path::PathBuf;

use crate::supervised::{ChildServer, folder, free_port};
use crate::template::text;
use crate::user::User;

/// An SSH server that accepts a client key. The server is stopped and removed on drop.
#[derive(Debug)]
pub struct Sshd {
    server: ChildServer,
    folder: PathBuf,
    port: u16,
    username: String,
}

impl Sshd {
    /// Starts a server on 127.0.0.1 and waits until it accepts connections.
    ///
    /// # Panics
    /// Panics if the OpenSSH server is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        let program = PathBuf::from("/usr/sbin/sshd");
        assert!(
            program.is_file(),
            "sshd is not installed; install it first: apt-get install openssh-server"
        );
        let user = User::ourselves();
        let username = user.run("id", &["-un"]).trim().to_owned();
        if user.id == 0 {
            user.run("mkdir", &["-p", "/run/sshd"]);
        }
        let (folder, port) = (folder("sshd-run", user), free_port());
        let file = |name: &str| folder.join(name);
        for key in ["host", "client"] {
            let key = file(key);
            let arguments = ["-q", "-t", "ed25519", "-N", "", "-f", text(&key)];
            user.run("ssh-keygen", &arguments);
        }
        let public = std::fs::read_to_string(file("host.pub")).unwrap_or_default();
        let known = format!("[127.0.0.1]:{port} {public}");
        let written = std::fs::write(file("known"), known);
        written.unwrap_or_else(|error| panic!("known hosts cannot be written: {error}"));
        let options = [
            "UsePAM=no".to_owned(),
            "StrictModes=no".to_owned(),
            format!("HostKey={}", text(&file("host"))),
            format!("AuthorizedKeysFile={}", text(&file("client.pub"))),
            format!("PidFile={}", text(&file("pid"))),
            format!("ListenAddress=127.0.0.1:{port}"),
        ];
        let mut command = vec![text(&program), "-D", "-e", "-f", "/dev/null"];
        for option in &options {
            command.extend(["-o", option]);
        }
        let server = ChildServer::start(user, folder.clone(), "TERM", &command);
        let started = server.wait(|folder| folder.join("pid").exists());
        started.unwrap_or_else(|log| panic!("sshd does not start:\n{log}"));
        Sshd {
            server,
            folder,
            port,
            username,
        }
    }

    /// Returns the server's port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the user that may log in, which is the current user.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// Returns the path of the client's private key.
    #[must_use]
    pub fn identity(&self) -> PathBuf {
        self.folder.join("client")
    }

    /// Returns the path of a known hosts file that contains the server's key.
    #[must_use]
    pub fn known_hosts(&self) -> PathBuf {
        self.folder.join("known")
    }

    /// Kills the server process. Dropping the server has the same effect.
    pub fn stop(&mut self) {
        self.server.stop();
    }
}
