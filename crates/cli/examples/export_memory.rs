//! Measures the peak memory of the command and the server, and the time, for exporting 1,000,000
//! rows of five columns in each format from each database:
//!
//! `cargo build --release && cargo run --release -p quillet-cli --example export_memory -- target/release/quillet`
//!
//! Several binaries are measured one after the other. Peak memory is the kernel's `VmHWM`, so this
//! works on Linux only. `EXPORT_ROWS` sets another number of rows, and `EXPORT_FORMS=csv,xlsx`
//! selects formats.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use quillet_test_support::{MariaDb, Postgres};

const FORMS: [&str; 6] = ["csv", "ndjson", "json", "arrow", "parquet", "xlsx"];

/// Queries for each database. The columns are an integer, a text, a decimal, a float and a time.
fn queries(rows: u64) -> [String; 3] {
    [
        format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
             SELECT i AS id, 'customer no. ' || i AS name, printf('%d.%02d', i % 10000, i % 100) AS price, \
             i / 7.0 AS weight, datetime(1700000000 + i, 'unixepoch') AS created FROM n"
        ),
        format!(
            "SELECT g.i::int8 AS id, 'customer no. ' || g.i AS name, (g.i % 1000000 / 100.0)::numeric(12,2) AS price, \
             g.i / 7.0::float8 AS weight, to_timestamp(1700000000 + g.i) AS created \
             FROM generate_series(1, {rows}) AS g(i)"
        ),
        format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
             SELECT i AS id, CONCAT('customer no. ', i) AS name, CAST(i % 1000000 / 100 AS DECIMAL(12,2)) AS price, \
             CAST(i / 7 AS DOUBLE) AS weight, FROM_UNIXTIME(1700000000 + i) AS created FROM n"
        ),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let binaries: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if binaries.is_empty() {
        return Err("pass the path of a quillet to measure".into());
    }
    let rows = match std::env::var("EXPORT_ROWS") {
        Ok(rows) => rows.parse()?,
        Err(_) => 1_000_000,
    };
    let folder = std::env::temp_dir().join(format!("quillet-exports-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = measure(&binaries, rows, &folder);
    fs::remove_dir_all(&folder)?;
    done
}

fn measure(binaries: &[PathBuf], rows: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let forms = std::env::var("EXPORT_FORMS").unwrap_or_else(|_| FORMS.join(","));
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    // An empty file is enough, because the SQLite query generates its rows.
    let file = folder.join("empty.db");
    fs::write(&file, "")?;
    let settings = folder.join("quillet.toml");
    let text =
        format!("[sql]\npowerful_roles = true\nexport_rows = {rows}\nexport_bytes = 1073741824\n");
    fs::write(&settings, text)?;
    let urls = [
        format!("sqlite:{}", file.display()),
        postgres.url(),
        mariadb.url(),
    ];
    let asked = ["sqlite", "postgresql", "mariadb"]
        .into_iter()
        .zip(urls)
        .zip(queries(rows));
    let asked: Vec<_> = asked.map(|((name, url), sql)| (name, url, sql)).collect();
    for binary in binaries {
        println!("{}: {rows} rows", binary.display());
        println!("| form | database | command | server | size |");
        println!("|---|---|---:|---:|---:|");
        for form in forms.split(',') {
            for (name, url, sql) in &asked {
                let file = folder.join(format!("rows.{form}"));
                let place = Place {
                    binary,
                    settings: &settings,
                    folder,
                };
                let command = place.command(url, sql, rows, &file)?;
                let size = fs::metadata(&file)?.len() >> 20;
                fs::remove_file(&file)?;
                // Over HTTP, JSON is the normal response and not an export, so only the command is
                // measured.
                let server = match form {
                    "json" => String::new(),
                    _ => place.server(url, sql, form)?.to_string(),
                };
                println!("| {form} | {name} | {command} | {server} | {size} MB |");
            }
        }
    }
    Ok(())
}

/// Measured values of one export.
struct Took {
    megabytes: u64,
    time: Duration,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MB, {:.1} s", self.megabytes, self.time.as_secs_f64())
    }
}

struct Place<'a> {
    binary: &'a Path,
    settings: &'a Path,
    folder: &'a Path,
}

impl Place<'_> {
    fn quillet(&self) -> Command {
        let mut command = Command::new(self.binary);
        command
            .arg("--config")
            .arg(self.settings)
            .env("HOME", self.folder)
            .current_dir(self.folder)
            .stdin(Stdio::null());
        command
    }

    /// Runs the command, which writes a file.
    fn command(
        &self,
        url: &str,
        sql: &str,
        rows: u64,
        file: &Path,
    ) -> Result<Took, Box<dyn Error>> {
        let begun = Instant::now();
        let mut command = self.quillet();
        command
            .args(["sql", "run", sql, "--db", url, "--timeout", "300"])
            .args(["--limit", &rows.to_string(), "--output"])
            .arg(file);
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut megabytes = 0;
        let status = loop {
            megabytes = peak(&child).unwrap_or(megabytes);
            if let Some(status) = child.try_wait()? {
                break status;
            }
            sleep(Duration::from_millis(5));
        };
        if !status.success() {
            let mut said = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut said)?;
            }
            return Err(said.into());
        }
        let time = begun.elapsed();
        Ok(Took { megabytes, time })
    }

    /// Starts a server and requests the export from it.
    fn server(&self, url: &str, sql: &str, form: &str) -> Result<Took, Box<dyn Error>> {
        let mut command = self.quillet();
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = Ended(command.spawn()?);
        let stderr = child.0.stderr.take().ok_or("no standard error")?;
        let mut notes = BufReader::new(stderr);
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            if notes.read_line(&mut line)? == 0 {
                return Err("the server did not begin".into());
            }
        }
        // The remaining output is read too, because a full pipe would block the server.
        std::thread::spawn(move || std::io::copy(&mut notes, &mut std::io::sink()));
        let (_, address) = line.split_once("http://").unwrap_or_default();
        let address = address.split_whitespace().next().unwrap_or_default();
        let put = format!("{{\"url\":{}}}", serde_json::Value::from(url));
        ask(address, "PUT", "/api/v1/dbs/rows", &put)?;
        let begun = Instant::now();
        let query = format!("{{\"sql\":{}}}", serde_json::Value::from(sql));
        let path = format!("/api/v1/dbs/rows/query?format={form}");
        ask(address, "POST", &path, &query)?;
        let time = begun.elapsed();
        let megabytes = peak(&child.0).ok_or("no peak is known")?;
        Ok(Took { megabytes, time })
    }
}

/// Kills the process on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a request and discards the response.
fn ask(address: &str, method: &str, path: &str, body: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    if head != *b"HTTP/1.1 200" {
        let mut rest = String::new();
        stream.read_to_string(&mut rest)?;
        return Err(rest.into());
    }
    std::io::copy(&mut stream, &mut std::io::sink())?;
    Ok(())
}

/// Peak memory of a running process in megabytes.
fn peak(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}
