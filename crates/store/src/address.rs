//! Store addresses: their formats, and errors for invalid ones.
//!
//! | address | store |
//! |---|---|
//! | `memory:` | empty, in memory |
//! | `memory:demo` | the examples, in memory |
//! | `dir:PATH` | a watched folder |
//! | `sqlite:PATH` | an SQLite file; `sqlite::memory:` is one in memory |
//! | `redis://[user:password@]host[:port][/db]` | one Redis |
//! | `redis+sentinel://host[:port],…/master-name` | the master that sentinels name |
//! | `redis+cluster://host[:port],…` | a Redis Cluster |
//!
//! `rediss` instead of `redis` enables TLS. Redis addresses accept `?db=`, `?prefix=`, `?ca=FILE`
//! and `?insecure=true`, and also `?sentinel_user=` and `?sentinel_password=` for sentinels with a
//! separate login.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use quillet_core::nearest;
use quillet_core::store::{StoreError, StoreErrorKind};
use secrecy::SecretString;

const SCHEMES: [&str; 9] = [
    "memory",
    "dir",
    "sqlite",
    "redis",
    "rediss",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
];
const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// A parsed store address. The `Display` output contains no secrets.
///
/// # Examples
///
/// ```
/// use quillet_store::Address;
///
/// let address: Address = "redis://app:s3cret@cache:6380/2".parse()?;
/// assert!(!address.to_string().contains("s3cret"));
/// let Address::Redis(redis) = address else {
///     panic!("the address is one of Redis");
/// };
/// assert_eq!((redis.db, redis.tls), (2, false));
/// # Ok::<(), quillet_core::store::StoreError>(())
/// ```
#[derive(Clone, Debug)]
pub enum Address {
    /// An empty store in memory.
    Memory,
    /// The bundled examples, in memory.
    Demo,
    /// A watched folder.
    Folder(PathBuf),
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A Redis deployment.
    Redis(RedisAddress),
}

/// Address of a Redis deployment, including login and TLS. A deployment is one server, a cluster or
/// a set of sentinels.
#[derive(Clone, Debug)]
pub struct RedisAddress {
    /// The kind of deployment and its nodes.
    pub deployment: Deployment,
    /// Whether TLS is enabled.
    pub tls: bool,
    /// Login for the data nodes.
    pub login: Login,
    /// Login for the sentinels.
    pub sentinel_login: Login,
    /// Database number; 0 in a cluster.
    pub db: i64,
    /// Key prefix, if the address sets it.
    pub prefix: Option<String>,
    /// File that contains certificate authorities, if the address sets it.
    pub ca_file: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
}

/// User name and password; both are optional.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// ACL user; the `default` user of Redis if `None`.
    pub user: Option<String>,
    /// Password.
    pub password: Option<SecretString>,
}

/// Kind of deployment and its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// One server.
    Single(RedisNode),
    /// Sentinels, which report the address of the master.
    Sentinel {
        /// The sentinels in the order in which they are queried.
        sentinels: Vec<RedisNode>,
        /// Name under which the sentinels monitor the master.
        master: String,
    },
    /// Some nodes of a cluster, through which the others are discovered.
    Cluster(Vec<RedisNode>),
}

/// One host and port.
///
/// # Examples
///
/// ```
/// use quillet_store::address::RedisNode;
///
/// let node = RedisNode { host: "::1".into(), port: 6379 };
/// assert_eq!(node.to_string(), "[::1]:6379");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RedisNode {
    /// Host name or IP address; an IPv6 address has no brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for RedisNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Memory => f.write_str("memory"),
            Address::Demo => f.write_str("demo in memory"),
            Address::Folder(path) => write!(f, "folder {}", path.display()),
            Address::Sqlite(path) => write!(f, "sqlite {}", path.display()),
            Address::Redis(redis) => redis.fmt(f),
        }
    }
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.deployment {
            Deployment::Single(node) => write!(f, "redis at {node}")?,
            Deployment::Sentinel { sentinels, master } => {
                write!(
                    f,
                    "redis master {master} by sentinels {}",
                    joined(sentinels)
                )?;
            }
            Deployment::Cluster(nodes) => write!(f, "redis cluster by {}", joined(nodes))?,
        }
        if self.db != 0 {
            write!(f, ", database {}", self.db)?;
        }
        Ok(())
    }
}

fn joined(nodes: &[RedisNode]) -> String {
    let names: Vec<String> = nodes.iter().map(RedisNode::to_string).collect();
    names.join(", ")
}

impl FromStr for Address {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(without_scheme(text));
        };
        match scheme {
            "memory" => memory(text, rest),
            "dir" => path(scheme, rest).map(Address::Folder),
            "sqlite" => path(scheme, rest).map(Address::Sqlite),
            _ => {
                if SCHEMES.contains(&scheme) {
                    redis(scheme, rest).map(Address::Redis)
                } else {
                    Err(unknown(scheme))
                }
            }
        }
    }
}

fn wrong(message: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Configuration, message)
}

fn without_scheme(text: &str) -> StoreError {
    match nearest(text, SCHEMES) {
        Some(scheme) => wrong(format!(
            "store address {text:?} has no colon: write {scheme}:"
        )),
        None => wrong(format!(
            "store address {text:?} has no scheme: write dir:{text} for a folder, or redis://HOST"
        )),
    }
}

fn unknown(scheme: &str) -> StoreError {
    let form = |scheme: &str| {
        if scheme.starts_with("redis") {
            format!("{scheme}://")
        } else {
            format!("{scheme}:")
        }
    };
    let mend = match nearest(scheme, SCHEMES) {
        Some(near) => format!("did you mean {}?", form(near)),
        None => format!("known schemes: {}", SCHEMES.map(form).join(", ")),
    };
    // The remainder of the address may contain a password.
    wrong(format!("unknown store address \"{scheme}:\": {mend}"))
}

fn memory(text: &str, rest: &str) -> Result<Address, StoreError> {
    match rest {
        "" => Ok(Address::Memory),
        "demo" => Ok(Address::Demo),
        _ => Err(wrong(format!(
            "unknown store address {text:?}: use memory: for an empty store or memory:demo for the examples"
        ))),
    }
}

fn path(scheme: &str, rest: &str) -> Result<PathBuf, StoreError> {
    // Users also write `dir:///srv/prompts`.
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() {
        return Err(wrong(format!(
            "store address \"{scheme}:\" has no path: write {scheme}:PATH"
        )));
    }
    Ok(path.into())
}

/// Parses `//[user[:password]@]host[:port][,…][/path][?query]`. URL parsers do not support several
/// hosts.
fn redis(scheme: &str, rest: &str) -> Result<RedisAddress, StoreError> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(wrong(format!(
            "{scheme}: needs two slashes: write {scheme}://HOST"
        )));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A password may contain any character except a slash, so the login ends at the last `@`.
    let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (deployment, db) = deployment(scheme, hosts, path)?;
    let mut address = RedisAddress {
        deployment,
        tls: scheme.starts_with("rediss"),
        login: parse_login(login)?,
        sentinel_login: Login::default(),
        db,
        prefix: None,
        ca_file: None,
        insecure: false,
    };
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        set(&mut address, &name, &value)?;
    }
    if matches!(address.deployment, Deployment::Cluster(_)) && address.db != 0 {
        return Err(wrong("a Redis Cluster has no databases: remove ?db="));
    }
    Ok(address)
}

fn deployment(scheme: &str, hosts: &str, path: &str) -> Result<(Deployment, i64), StoreError> {
    if scheme.ends_with("+sentinel") {
        if path.is_empty() {
            return Err(wrong(format!(
                "{scheme}://{hosts} has no master name: write {scheme}://{hosts}/mymaster"
            )));
        }
        let sentinels = nodes(hosts, SENTINEL_PORT)?;
        let master = decoded(path)?;
        return Ok((Deployment::Sentinel { sentinels, master }, 0));
    }
    let db = if path.is_empty() {
        0
    } else {
        number("the path", path)?
    };
    let mut nodes = nodes(hosts, REDIS_PORT)?;
    if scheme.ends_with("+cluster") {
        return Ok((Deployment::Cluster(nodes), db));
    }
    if nodes.len() > 1 {
        return Err(wrong(format!(
            "{scheme}:// takes one host: write {scheme}+cluster:// or {scheme}+sentinel:// for {hosts}"
        )));
    }
    Ok((Deployment::Single(nodes.remove(0)), db))
}

/// Parses at least one node.
fn nodes(hosts: &str, port: u16) -> Result<Vec<RedisNode>, StoreError> {
    hosts
        .split(',')
        .map(|host| node(host.trim(), port))
        .collect()
}

fn node(text: &str, default_port: u16) -> Result<RedisNode, StoreError> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(wrong(
            "the Redis address has an empty host: write redis://127.0.0.1:6379",
        ));
    }
    let port = match port {
        None => default_port,
        Some(port) => port.parse().map_err(|_| {
            wrong(format!(
                "invalid port {port:?} of {host}: expected a number from 1 to 65535"
            ))
        })?,
    };
    Ok(RedisNode {
        host: host.to_owned(),
        port,
    })
}

fn parse_login(text: &str) -> Result<Login, StoreError> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(decoded(password)?)),
        None => (text, None),
    };
    Ok(Login {
        user: Some(decoded(user)?).filter(|user| !user.is_empty()),
        password: password.map(SecretString::from),
    })
}

fn decoded(text: &str) -> Result<String, StoreError> {
    let bytes = percent_decode_str(text).decode_utf8();
    let text = bytes.map_err(|_| wrong("the Redis address has a %XX escape that is not UTF-8"))?;
    Ok(text.into_owned())
}

fn number(place: &str, text: &str) -> Result<i64, StoreError> {
    let wrong = |_| {
        wrong(format!(
            "invalid database number {text:?}: {place} of a Redis address must be a number"
        ))
    };
    text.parse::<u32>().map(i64::from).map_err(wrong)
}

fn set(address: &mut RedisAddress, name: &str, value: &str) -> Result<(), StoreError> {
    const NAMES: [&str; 6] = [
        "db",
        "prefix",
        "ca",
        "insecure",
        "sentinel_user",
        "sentinel_password",
    ];
    match name {
        "db" => address.db = number("?db=", value)?,
        "prefix" => address.prefix = Some(value.to_owned()),
        "ca" => address.ca_file = Some(value.into()),
        "insecure" => address.insecure = matches!(value, "" | "1" | "true" | "yes"),
        "sentinel_user" => address.sentinel_login.user = Some(value.to_owned()),
        "sentinel_password" => address.sentinel_login.password = Some(value.to_owned().into()),
        _ => {
            let mend = nearest(name, NAMES).unwrap_or("db, prefix, ca, insecure");
            return Err(wrong(format!(
                "unknown setting ?{name}= in the Redis address: {mend}?"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn addresses_are_described_without_secrets() {
        let cases = [
            ("memory:", "memory"),
            ("memory:demo", "demo in memory"),
            ("dir:a/b", "folder a/b"),
            ("dir:///srv/p", "folder /srv/p"),
            ("sqlite:a/b.db", "sqlite a/b.db"),
            ("sqlite:///srv/q.db", "sqlite /srv/q.db"),
            ("sqlite::memory:", "sqlite :memory:"),
            ("redis://localhost", "redis at localhost:6379"),
            (
                "redis://u:s3cret@[::1]:7000/3",
                "redis at [::1]:7000, database 3",
            ),
            ("rediss://:s3cret@h?prefix=x:", "redis at h:6379"),
            (
                "redis+sentinel://:s3cret@a,b:5/main?db=2",
                "redis master main by sentinels a:26379, b:5, database 2",
            ),
            ("redis+cluster://a:1,b", "redis cluster by a:1, b:6379"),
        ];
        for (text, described) in cases {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), described);
            assert!(!format!("{address:?}").contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn wrong_addresses_say_how_to_mend_them() {
        let cases = [
            (
                "rdis://",
                "unknown store address \"rdis:\": did you mean redis://?",
            ),
            ("rediss+sentinal://h/m", "did you mean rediss+sentinel://?"),
            (
                "postgres://u:p@h",
                "known schemes: memory:, dir:, sqlite:, redis://",
            ),
            ("memory:x", "memory:demo for the examples"),
            ("memory", "write memory:"),
            ("prompts", "write dir:prompts"),
            ("dir:", "write dir:PATH"),
            ("sqlite:", "write sqlite:PATH"),
            ("sqllite:x", "did you mean sqlite:?"),
            ("redis:host", "needs two slashes"),
            ("redis://", "empty host"),
            ("redis://h:x", "invalid port \"x\" of h"),
            ("redis://h:70000", "invalid port"),
            ("redis://a,b", "redis+cluster://"),
            ("redis://h/main", "invalid database number \"main\""),
            ("redis://h?pefix=a", "?pefix= in the Redis address: prefix?"),
            ("redis+sentinel://h", "has no master name"),
            ("redis+cluster://h?db=1", "no databases"),
            ("redis://%ff@h", "not UTF-8"),
        ];
        for (text, part) in cases {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Configuration);
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn logins_are_percent_decoded() {
        let Ok(Address::Redis(redis)) = "redis://us%40er:p%3A%2f@w@h".parse() else {
            panic!("no redis address");
        };
        assert_eq!(redis.login.user.as_deref(), Some("us@er"));
        let password = redis.login.password.unwrap();
        assert_eq!(password.expose_secret(), "p:/@w");
    }
}
