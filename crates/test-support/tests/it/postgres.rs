use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use quillet_test_support::Postgres;

#[test]
fn a_server_starts_takes_scripts_and_goes() {
    let server = Postgres::start();
    server.execute("CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\n2\n\\.\n");
    assert_eq!(server.look("postgres", "SELECT sum(a) FROM t"), "3");
    let folder = server.socket_folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn servers_know_nothing_of_one_another() {
    let (one, two) = (Postgres::start(), Postgres::start());
    one.create_database("shop");
    one.create_role("reader");
    let databases = "SELECT count(*) FROM pg_database WHERE datname = 'shop'";
    assert_eq!(one.look("postgres", databases), "1");
    assert_eq!(two.look("postgres", databases), "0");
    assert_ne!(one.url(), two.url());
}

#[test]
fn a_script_that_fails_says_where() {
    let server = Postgres::start();
    let failed = std::panic::catch_unwind(|| server.execute("SELECT 1;\nSELECT nothing;"));
    let message = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("\"nothing\""), "{message}");
}

/// Starts this test again as the process that owns the server, and kills that process.
#[test]
fn a_server_ends_when_its_owner_is_killed() {
    const NAME: &str = "postgres::a_server_ends_when_its_owner_is_killed";
    if std::env::var_os("QUILLET_OWNS_A_SERVER").is_some() {
        let server = Postgres::start();
        println!("folder {}", server.socket_folder().display());
        std::thread::park();
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact", NAME])
        .env("QUILLET_OWNS_A_SERVER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let folder = lines.find_map(|line| {
        let line = line.unwrap();
        let (_, folder) = line.split_once("folder ")?;
        Some(PathBuf::from(folder))
    });
    let folder = folder.unwrap();
    assert!(folder.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    while folder.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
