//! Database archive in Redis. Each database has a catalogue and a sorted set of its queries by
//! number.
//!
//! `<prefix>archive:{<database>}:catalogue` is the compressed catalogue, and `…:values` the
//! compressed values of its columns. `…:queries` is the sorted set and `…:bytes` its size; both
//! change together. `…:accepted` is a sorted set of the accepted queries. `<prefix>archive` is a
//! hash with the last assigned number. A member of a set consists of a number, a space and the
//! query as JSON, so two equal queries are different members.

use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::archive::{Archive, QueryPage, QueryRecord};
use quillet_core::store::StoreError;
use redis::Value;

use super::client::RedisClient;
use super::connections::KeyedCommand;
use super::error::corrupt;
use super::pack::{in_background, packed, unpacked};
use super::read::with_name;
use super::script::{count, list, script};
use super::settings::RedisSettings;
use crate::StoreOptions;
use crate::address::RedisAddress;
use crate::archive::{ArchiveOptions, accepted, among, name};
use crate::changes::ChangeBus;

/// Number of records per search request, which limits how long other clients wait.
const PAGE: usize = 500;

/// KEYS: queries, size. ARGV: number, record, maximum number of records, maximum bytes. The size
/// excludes the number and space before each record.
const ADD: &str = "
local bytes = 0
if redis.call('EXISTS', KEYS[1]) == 1 then bytes = tonumber(redis.call('GET', KEYS[2]) or '0') end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ' ' .. ARGV[2])
bytes = bytes + #ARGV[2]
local count = redis.call('ZCARD', KEYS[1])
while count > tonumber(ARGV[3]) or bytes > tonumber(ARGV[4]) do
  local old = redis.call('ZPOPMIN', KEYS[1])[1]
  if not old then break end
  bytes = bytes - (#old - (string.find(old, ' ', 1, true) or 0))
  count = count - 1
end
redis.call('SET', KEYS[2], bytes)
return count";

/// KEYS: accepted queries. ARGV: number, record, last rank to remove.
const ACCEPT: &str = "
redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ' ' .. ARGV[2])
return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, ARGV[3])";

/// Redis archive of database catalogues, values and queries.
#[derive(Debug)]
pub struct RedisArchive {
    client: RedisClient,
    options: ArchiveOptions,
}

/// Key names of one database.
struct ArchiveKeys {
    catalogue: String,
    values: String,
    queries: String,
    bytes: String,
    accepted: String,
}

impl RedisArchive {
    /// Starts connecting without waiting for Redis. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(
        address: &RedisAddress,
        store: &StoreOptions,
        options: ArchiveOptions,
    ) -> Result<Self, StoreError> {
        let settings = RedisSettings::quiet(address, store)?;
        let client = RedisClient::open(settings, ChangeBus::new());
        Ok(RedisArchive { client, options })
    }

    fn names(&self, database: &str) -> Result<ArchiveKeys, StoreError> {
        let tagged = self
            .client
            .settings
            .layout
            .tagged("archive", name(database)?);
        Ok(ArchiveKeys {
            catalogue: format!("{tagged}:catalogue"),
            values: format!("{tagged}:values"),
            accepted: format!("{tagged}:accepted"),
            queries: format!("{tagged}:queries"),
            bytes: format!("{tagged}:bytes"),
        })
    }

    async fn kept(&self, name: String) -> Result<Option<Arc<[u8]>>, StoreError> {
        match self.client.ask(request("GET", &name)).await? {
            Value::BulkString(packed) => {
                let most = self.options.max_catalogue_bytes;
                let unpack = move || unpacked(&name, &packed, most, "max_catalogue_bytes");
                let catalogue = in_background(unpack).await??;
                Ok(Some(catalogue.into()))
            }
            _ => Ok(None),
        }
    }

    async fn keep(&self, name: String, bytes: &[u8]) -> Result<(), StoreError> {
        let bytes = bytes.to_vec();
        let packed = in_background(move || packed(&bytes)).await??;
        let mut set = request("SET", &name);
        set.command.arg(packed);
        self.client.ask(set).await.map(drop)
    }

    async fn add(&self, record: &QueryRecord) -> Result<u64, StoreError> {
        let names = self.names(&record.database)?;
        let text = self.options.text(record)?;
        let id = self.next().await?;
        let arguments = [
            id.to_string(),
            text,
            self.options.max_records.to_string(),
            self.options.max_history_bytes.to_string(),
        ];
        let add = script(ADD, &[&names.queries, &names.bytes], &arguments);
        self.client.ask(add).await?;
        Ok(id)
    }

    /// Returns a number that is unique among all replicas.
    async fn next(&self) -> Result<u64, StoreError> {
        let name = self.client.settings.layout.group("archive");
        let mut next = request("HINCRBY", &name);
        next.command.arg("last").arg(1);
        Ok(count(&self.client.ask(next).await?))
    }

    /// Returns the records below a number, newest first.
    async fn older(
        &self,
        names: &ArchiveKeys,
        before: Option<u64>,
        most: i64,
    ) -> Result<Vec<QueryRecord>, StoreError> {
        let mut range = request("ZREVRANGEBYSCORE", &names.queries);
        let highest = before.map_or("+inf".to_owned(), |before| format!("({before}"));
        range
            .command
            .arg(highest)
            .arg("-inf")
            .arg("LIMIT")
            .arg(0)
            .arg(most);
        let members = list(self.client.ask(range).await?);
        members
            .iter()
            .map(|member| record(&names.queries, member))
            .collect()
    }

    async fn page(
        &self,
        database: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<QueryPage, StoreError> {
        let names = self.names(database)?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut items = self.older(&names, before, most).await?;
        let more = items.len() > limit;
        items.truncate(limit);
        let total = count(&self.client.ask(request("ZCARD", &names.queries)).await?);
        Ok(QueryPage { items, total, more })
    }

    async fn find(
        &self,
        database: &str,
        search: &str,
        limit: usize,
    ) -> Result<QueryPage, StoreError> {
        let names = self.names(database)?;
        let mut all: Vec<Arc<QueryRecord>> = Vec::new();
        loop {
            let before = all.last().map(|record| record.id);
            let page = self.older(&names, before, PAGE as i64).await?;
            let is_last = page.len() < PAGE;
            all.extend(page.into_iter().map(Arc::new));
            if is_last {
                return among(all, search, limit).await;
            }
        }
    }

    async fn drop_all(&self, database: &str) -> Result<(), StoreError> {
        let names = self.names(database)?;
        let mut delete = request("DEL", &names.catalogue);
        delete.command.arg(&names.queries).arg(&names.bytes);
        delete.command.arg(&names.values).arg(&names.accepted);
        self.client.ask(delete).await.map(drop)
    }

    async fn add_accepted(&self, record: &QueryRecord) -> Result<(), StoreError> {
        let names = self.names(&record.database)?;
        let most = i64::try_from(self.options.max_accepted).unwrap_or(i64::MAX);
        let arguments = [
            record.id.to_string(),
            self.options.text(record)?,
            (-most).saturating_sub(1).to_string(),
        ];
        let add = script(ACCEPT, &[&names.accepted], &arguments);
        self.client.ask(add).await.map(drop)
    }

    async fn drop_accepted(&self, database: &str, id: u64) -> Result<bool, StoreError> {
        let mut remove = request("ZREMRANGEBYSCORE", &self.names(database)?.accepted);
        remove.command.arg(id).arg(id);
        Ok(count(&self.client.ask(remove).await?) > 0)
    }

    async fn all_accepted(&self, database: &str) -> Result<Vec<QueryRecord>, StoreError> {
        let name = self.names(database)?.accepted;
        let mut all = request("ZREVRANGE", &name);
        all.command.arg(0).arg(-1);
        let members = list(self.client.ask(all).await?);
        let records = members.iter().map(|member| record(&name, member));
        records
            .map(|record| record.map(|record| accepted(record.id, record)))
            .collect()
    }
}

fn request(command: &str, name: &str) -> KeyedCommand {
    KeyedCommand {
        name: name.to_owned(),
        command: with_name(command, name),
    }
}

fn record(name: &str, member: &Value) -> Result<QueryRecord, StoreError> {
    let parsed = match member {
        Value::BulkString(bytes) => parsed(bytes),
        _ => None,
    };
    parsed.ok_or_else(|| corrupt(name, "its value is not a query"))
}

fn parsed(member: &[u8]) -> Option<QueryRecord> {
    let (id, text) = std::str::from_utf8(member).ok()?.split_once(' ')?;
    let record: QueryRecord = serde_json::from_str(text).ok()?;
    Some(QueryRecord {
        id: id.parse().ok()?,
        ..record
    })
}

impl Archive for RedisArchive {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn catalogue<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        async move { self.kept(self.names(database)?.catalogue).await }.boxed()
    }

    fn keep_catalogue<'a>(
        &'a self,
        database: &'a str,
        catalogue: &'a [u8],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let name = self.names(database)?.catalogue;
            self.options.fits("catalogue", database, catalogue)?;
            self.keep(name, catalogue).await
        }
        .boxed()
    }

    fn values<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        async move { self.kept(self.names(database)?.values).await }.boxed()
    }

    fn keep_values<'a>(
        &'a self,
        database: &'a str,
        values: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let name = self.names(database)?.values;
            let Some(values) = values else {
                return self.client.ask(request("DEL", &name)).await.map(drop);
            };
            self.options.fits("values", database, values)?;
            self.keep(name, values).await
        }
        .boxed()
    }

    fn record<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.add(record).boxed()
    }

    fn history<'a>(
        &'a self,
        database: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        self.page(database, before, limit).boxed()
    }

    fn search<'a>(
        &'a self,
        database: &'a str,
        words: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        self.find(database, words, limit).boxed()
    }

    fn accept<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add_accepted(record).boxed()
    }

    fn unaccept<'a>(
        &'a self,
        database: &'a str,
        id: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.drop_accepted(database, id).boxed()
    }

    fn accepted<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Vec<QueryRecord>, StoreError>> {
        self.all_accepted(database).boxed()
    }

    fn forget<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.drop_all(database).boxed()
    }
}
