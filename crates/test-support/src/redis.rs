//! Real Redis servers: standalone, sentinel and cluster.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const HINT: &str = "this test needs Redis: apt-get install redis-server redis-tools redis-sentinel";

/// A folder that is removed on drop.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl Default for TempDir {
    fn default() -> Self {
        TempDir::new()
    }
}

impl TempDir {
    /// Creates an empty folder in the system's folder for temporary files. Existing folders are
    /// skipped, because a killed process leaves its folder behind, and a later process can have the
    /// same id.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("quillet-test-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => return TempDir(path),
                // A killed process with the same id left this folder, so do not use it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a port that was free when the function checked.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server process that is killed on drop.
#[derive(Debug)]
pub struct RedisServer {
    process: Child,
    program: &'static str,
    arguments: Vec<String>,
    /// Arguments of `redis-cli` in addition to host and port.
    client: Vec<String>,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The folder for the server's data and log.
    pub dir: TempDir,
}

impl RedisServer {
    /// Starts an empty server.
    pub fn start() -> Self {
        RedisServer::start_with(&[])
    }

    /// Starts a server with additional settings. Each setting consists of `--name` and a value.
    pub fn start_with(more: &[&str]) -> Self {
        RedisServer::start_at(free_port(), more)
    }

    /// Starts a server on this port.
    pub fn start_at(port: u16, more: &[&str]) -> Self {
        let dir = TempDir::new();
        let port_text = port.to_string();
        let dir_text = dir.path().to_str().unwrap().to_owned();
        let settings = [
            "--port",
            &port_text,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            &dir_text,
            "--enable-debug-command",
            "yes",
        ];
        let settings = settings.iter().chain(more);
        let arguments = settings.map(|text| (*text).to_owned()).collect();
        RedisServer::run("redis-server", arguments, Vec::new(), port, dir)
    }

    /// Starts a server that accepts only TLS connections. The server uses a new certificate for
    /// `localhost` and 127.0.0.1. The certificate authority is the file `ca.crt` in `dir`.
    pub fn start_tls() -> Self {
        let dir = TempDir::new();
        make_certificates(dir.path());
        let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (port, ca) = (free_port(), file("ca.crt"));
        let settings = [
            "--port",
            "0",
            "--tls-port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--tls-cert-file",
            &file("server.crt"),
            "--tls-key-file",
            &file("server.key"),
            "--tls-ca-cert-file",
            &ca,
            "--tls-auth-clients",
            "no",
            "--dir",
            &file(""),
        ]
        .map(str::to_owned);
        let client = ["--tls", "--cacert", &ca].map(str::to_owned);
        RedisServer::run("redis-server", settings.into(), client.into(), port, dir)
    }

    fn run(
        program: &'static str,
        arguments: Vec<String>,
        client: Vec<String>,
        port: u16,
        dir: TempDir,
    ) -> Self {
        let process = spawn(program, &arguments, dir.path());
        let mut server = RedisServer {
            process,
            program,
            arguments,
            client,
            port,
            dir,
        };
        server.await_answer();
        server
    }

    fn await_answer(&mut self) {
        wait_for("redis to answer", || {
            match self.process.try_wait().unwrap() {
                Some(status) => panic!("{} ended with {status}: {}", self.program, self.log()),
                None => self.cli(&["PING"]).contains("PONG"),
            }
        });
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Returns the store URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Runs a command with `redis-cli` and returns the output.
    pub fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, &self.client, arguments)
    }

    /// Returns the store URL for a user that has exactly the permissions listed in docs/stores.md.
    pub fn url_of_a_user_with_few_rights(&self) -> String {
        let rights = "on >pw ~shenma:* &shenma:* +getrange +exists +set +del +scan +ping +eval +get \
            +rpush +lpop +llen +lrange +xadd +xrange +xlen +xdel +@hash +@sortedset +pexpire +time \
            +publish +subscribe +unsubscribe +xrevrange";
        let command: Vec<&str> = ["ACL", "SETUSER", "few"]
            .into_iter()
            .chain(rights.split_whitespace())
            .collect();
        assert_eq!(self.cli(&command), "OK");
        self.url().replace("//", "//few:pw@")
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Restarts the server on the same port after [`RedisServer::kill`].
    pub fn restart(&mut self) {
        self.process = spawn(self.program, &self.arguments, self.dir.path());
        self.await_answer();
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(program: &str, arguments: &[String], dir: &Path) -> Child {
    let log = fs::File::create(dir.join("log")).unwrap();
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; {HINT}"))
}

fn cli(port: u16, client: &[String], arguments: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "--no-auth-warning",
        ])
        .args(client)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("redis-cli: {error}; {HINT}"));
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// Waits up to 20 s until a condition is true.
pub fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "waited in vain for {what}"
        );
        sleep(Duration::from_millis(20));
    }
}

fn make_certificates(dir: &Path) {
    let openssl = |arguments: &str| {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(dir)
            .output()
            .expect("this test needs openssl: apt-get install openssl");
        assert!(output.status.success(), "{output:?}");
    };
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    fs::write(dir.join("names"), names).unwrap();
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca",
    );
    openssl("req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost");
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt \
         -days 2 -extfile names",
    );
}

/// A master, a replica, and three sentinels that monitor them as `main`.
#[derive(Debug)]
pub struct SentinelSet {
    /// The master, which accepts writes.
    pub master: RedisServer,
    /// The replica of the master.
    pub replica: RedisServer,
    /// The three sentinels.
    pub sentinels: Vec<RedisServer>,
}

impl SentinelSet {
    /// Starts all servers and waits until they know each other.
    pub fn start() -> Self {
        let master = RedisServer::start();
        let port = master.port.to_string();
        let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]);
        wait_for("the replica", || {
            replica
                .cli(&["INFO", "replication"])
                .contains("master_link_status:up")
        });
        let sentinels: Vec<_> = (0..3).map(|_| sentinel(master.port)).collect();
        let set = SentinelSet {
            master,
            replica,
            sentinels,
        };
        wait_for("the sentinels to know all", || set.is_complete());
        set
    }

    fn is_complete(&self) -> bool {
        self.sentinels.iter().all(|sentinel| {
            let info = sentinel.cli(&["SENTINEL", "MASTER", "main"]);
            let lines: Vec<&str> = info.lines().collect();
            let has = |name: &str, value: &str| lines.windows(2).any(|pair| pair == [name, value]);
            has("num-slaves", "1") && has("num-other-sentinels", "2")
        })
    }

    /// Returns the store URL of the set.
    pub fn url(&self) -> String {
        let nodes = self
            .sentinels
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port));
        format!(
            "redis+sentinel://{}/main",
            nodes.collect::<Vec<_>>().join(",")
        )
    }
}

fn sentinel(master: u16) -> RedisServer {
    let (dir, port) = (TempDir::new(), free_port());
    let settings = format!(
        "port {port}\nbind 127.0.0.1\ndir {}\n\
         sentinel monitor main 127.0.0.1 {master} 2\n\
         sentinel down-after-milliseconds main 500\n\
         sentinel failover-timeout main 3000\n",
        dir.path().display()
    );
    let file = dir.path().join("sentinel.conf");
    fs::write(&file, settings).unwrap();
    let arguments = vec![file.to_str().unwrap().to_owned(), "--sentinel".to_owned()];
    RedisServer::run("redis-server", arguments, Vec::new(), port, dir)
}

/// A cluster of three masters that share all slots.
#[derive(Debug)]
pub struct Cluster {
    /// The masters.
    pub nodes: Vec<RedisServer>,
}

impl Cluster {
    /// Starts the masters and waits until they share all slots.
    pub fn start() -> Self {
        let nodes: Vec<_> = (0..3).map(|_| cluster_node()).collect();
        let addresses: Vec<String> = nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        let mut arguments = vec!["--cluster", "create"];
        arguments.extend(addresses.iter().map(String::as_str));
        arguments.push("--cluster-yes");
        let output = cli(nodes[0].port, &[], &arguments);
        assert!(output.contains("All 16384 slots covered"), "{output}");
        let cluster = Cluster { nodes };
        wait_for("the cluster", || {
            cluster
                .nodes
                .iter()
                .all(|node| node.cli(&["CLUSTER", "INFO"]).contains("state:ok"))
        });
        cluster
    }

    /// Returns the store URL of the cluster.
    pub fn url(&self) -> String {
        format!("redis+cluster://127.0.0.1:{}", self.nodes[0].port)
    }

    /// Runs a command, and follows redirects to the node that has the key.
    pub fn cli(&self, arguments: &[&str]) -> String {
        let mut all = vec!["-c"];
        all.extend(arguments);
        self.nodes[0].cli(&all)
    }
}

fn cluster_node() -> RedisServer {
    let bus = free_port().to_string();
    RedisServer::start_with(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &bus,
        "--cluster-node-timeout",
        "1000",
    ])
}
