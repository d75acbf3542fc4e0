//! Batches in Redis, shared by all replicas.
//!
//! A file consists of a text with its metadata and a hash of its chunks by number. A batch consists
//! of a hash with its state and a stream of its units. The stream ids are the unit numbers, and all
//! workers form one consumer group: the units of a lost worker stay pending for too long, and
//! another worker takes them over (`XAUTOCLAIM`). All keys of a batch except those of its input are
//! in one hash slot. Leases use the clock of Redis, because the clocks of replicas differ.

mod scripts;

use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::batch::{
    Batch, BatchChunk, BatchOrder, BatchTransition, Batches, FileChunk, FileChunkPage, FileInfo,
    Report, Status,
};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use redis::Value;
use serde::de::DeserializeOwned;

use self::scripts::{
    ADD_PIECES, ADD_UNITS, ANSWERED, BEGIN, CLAIM, GIVE_BACK, KEEP_FILE, PIECES, REMOVE_FILE,
    RENEW, REPORT, STEP,
};
use super::client::RedisClient;
use super::connections::KeyedCommand;
use super::error;
use super::layout::BatchNames;
use super::script::{count, list, script, text};
use super::settings::RedisSettings;
use crate::StoreOptions;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;

/// Maximum range of numbers in one read of chunks; numbers between chunks are unused.
// This bounds how long one script blocks the server.
const LOOKED_AT: u64 = 4096;
/// Number of units that one script adds, which limits how long other clients wait.
const UNITS: usize = 2000;
/// Maximum lease in milliseconds.
const LEASE: u128 = 999_999_999;
/// Maximum lifetime of a batch in seconds.
const LONGEST: u64 = 31 * 86_400;
/// Age in milliseconds from which a listed batch without a state is removed from the list: it was
/// never created or has expired.
const BEGUN_BY_NOW: u64 = 60_000;

/// Batches in Redis.
#[derive(Debug)]
pub struct RedisBatches {
    client: RedisClient,
}

impl RedisBatches {
    /// Starts connecting without waiting for Redis. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(address: &RedisAddress, store: &StoreOptions) -> Result<Self, StoreError> {
        let settings = RedisSettings::quiet(address, store)?;
        let client = RedisClient::open(settings, ChangeBus::new());
        Ok(RedisBatches { client })
    }

    fn names(&self, id: &str) -> BatchNames {
        self.client.settings.layout.batch(id)
    }

    /// Runs a script on the state and the units of a batch.
    async fn over(&self, text: &str, id: &str, arguments: &[String]) -> Result<Value, StoreError> {
        let names = self.names(id);
        let keys = [names.state.as_str(), names.units.as_str()];
        self.client.ask(script(text, &keys, arguments)).await
    }

    /// Runs a command on one key.
    async fn command(
        &self,
        command: &str,
        key: &str,
        arguments: &[&str],
    ) -> Result<Value, StoreError> {
        self.client.ask(request(command, key, arguments)).await
    }

    /// Returns the members of a sorted set, in descending order of scores if `newest` is set.
    async fn listed(&self, key: &str, newest: bool) -> Result<Vec<String>, StoreError> {
        let command = if newest { "ZREVRANGE" } else { "ZRANGE" };
        let reply = self.command(command, key, &["0", "-1"]).await?;
        Ok(list(reply).into_iter().filter_map(text).collect())
    }

    async fn known(&self, id: &str) -> Result<Option<FileInfo>, StoreError> {
        let name = self.client.settings.layout.file(id).info;
        let reply = self.command("GET", &name, &[]).await?;
        text(reply).map(|json| parsed(&name, &json)).transpose()
    }

    async fn keep(&self, file: &FileInfo) -> Result<(), StoreError> {
        let names = self.client.settings.layout.file(&file.id);
        let info = serde_json::to_string(file).unwrap_or_default();
        let keys = [names.info.as_str(), names.pieces.as_str()];
        let arguments = [info, file.expires.to_string()];
        self.client
            .ask(script(KEEP_FILE, &keys, &arguments))
            .await?;
        let index = self.client.settings.layout.owned(&file.owner, "files");
        self.enter(&index, &file.id).await
    }

    /// Adds an id to a list; an existing id keeps its position.
    async fn enter(&self, index: &str, id: &str) -> Result<(), StoreError> {
        let now = clock::millis().to_string();
        self.command("ZADD", index, &["NX", &now, id]).await?;
        Ok(())
    }

    async fn files_of(&self, owner: &str) -> Result<Vec<FileInfo>, StoreError> {
        let index = self.client.settings.layout.owned(owner, "files");
        let ids = self.listed(&index, true).await?;
        let name = |id: &String| self.client.settings.layout.file(id).info;
        let asked: Vec<KeyedCommand> = ids
            .iter()
            .map(|id| request("GET", &name(id), &[]))
            .collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for (id, reply) in ids.iter().zip(self.client.run(&asked).await?) {
            match text(reply) {
                Some(json) => files.push(parsed(&name(id), &json)?),
                // The file has expired. Redis deletes expired keys, but not entries of an index.
                None => drop(self.command("ZREM", &index, &[id]).await?),
            }
        }
        Ok(files)
    }

    async fn read(&self, file: &str, from: u64, bytes: usize) -> Result<FileChunkPage, StoreError> {
        let name = self.client.settings.layout.file(file).pieces;
        let mut from = from;
        loop {
            let bytes = bytes.max(1) as u64;
            let arguments = [from, bytes, LOOKED_AT].map(|n| n.to_string());
            let reply = self
                .client
                .ask(script(PIECES, &[&name], &arguments))
                .await?;
            let page = page(list(reply));
            match page.next {
                // A range of numbers without chunks: continue instead of returning an empty page.
                Some(next) if page.pieces.is_empty() => from = next,
                _ => return Ok(page),
            }
        }
    }

    async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let Some(file) = self.known(id).await? else {
            return Ok(false);
        };
        let names = self.client.settings.layout.file(id);
        let keys = [names.info.as_str(), names.pieces.as_str()];
        let removed = self
            .client
            .ask(script::<String>(REMOVE_FILE, &keys, &[]))
            .await?;
        let index = self.client.settings.layout.owned(&file.owner, "files");
        self.command("ZREM", &index, &[id]).await?;
        Ok(count(&removed) > 0)
    }

    async fn start(&self, order: &BatchOrder) -> Result<(), StoreError> {
        let layout = &self.client.settings.layout;
        // The lists are written first: a listed batch that does not exist is skipped, but an
        // unlisted batch would never be processed.
        let owned = layout.owned(&order.owner, "batches");
        self.enter(&owned, &order.id).await?;
        // Remove the entries of batches that have certainly expired.
        let old = order.created.saturating_sub(order.keep + LONGEST) * 1000;
        let old = old.to_string();
        self.command("ZREMRANGEBYSCORE", &owned, &["-inf", &old])
            .await?;
        self.enter(&layout.group("batches"), &order.id).await?;
        let times = [(Status::Validating, order.created)];
        let arguments = [
            serde_json::to_string(order).unwrap_or_default(),
            serde_json::to_string(&times).unwrap_or_default(),
            (order.expires + order.keep).to_string(),
        ];
        self.over(BEGIN, &order.id, &arguments).await?;
        Ok(())
    }

    async fn find(&self, id: &str) -> Result<Option<Batch>, StoreError> {
        let name = self.names(id).state;
        const FIELDS: [&str; 11] = [
            "order",
            "status",
            "times",
            "wrong",
            "total",
            "units",
            "completed",
            "failed",
            "output_bytes",
            "error_bytes",
            "again",
        ];
        let reply = list(self.command("HMGET", &name, &FIELDS).await?);
        let [order, status, times, wrong, numbers @ ..] = reply.as_slice() else {
            return Ok(None);
        };
        let Some(order) = text(order.clone()) else {
            return Ok(None);
        };
        let number = |at: usize| numbers.get(at).map_or(0, count);
        let status = text(status.clone()).unwrap_or_default();
        let or_none = |value: &Value| text(value.clone()).unwrap_or_else(|| "[]".to_owned());
        Ok(Some(Batch {
            order: parsed(&name, &order)?,
            status: Status::from_name(&status)
                .ok_or_else(|| error::corrupt(&name, "it has no batch status"))?,
            times: parsed(&name, &or_none(times))?,
            wrong: parsed(&name, &or_none(wrong))?,
            total: number(0),
            units: number(1),
            completed: number(2),
            failed: number(3),
            output_bytes: number(4),
            error_bytes: number(5),
            again: number(6),
        }))
    }

    async fn active_ids(&self) -> Result<Vec<String>, StoreError> {
        let index = self.client.settings.layout.group("batches");
        let ids = self.listed(&index, false).await?;
        if ids.is_empty() {
            return Ok(ids);
        }
        let asked = ids
            .iter()
            .map(|id| request("HGET", &self.names(id).state, &["status"]));
        let asked: Vec<KeyedCommand> = asked.collect();
        let replies = self.client.run(&asked).await?;
        let mut active = Vec::new();
        for (id, reply) in ids.into_iter().zip(replies) {
            match text(reply).as_deref().and_then(Status::from_name) {
                Some(status) if !status.is_final() => active.push(id),
                Some(_) => drop(self.command("ZREM", &index, &[&id]).await?),
                None => {
                    let before = clock::millis().saturating_sub(BEGUN_BY_NOW).to_string();
                    let score = self.command("ZSCORE", &index, &[&id]).await?;
                    let score = text(score).and_then(|text| text.parse::<f64>().ok());
                    let since = score.map_or(0, |score| score as u64);
                    if since < before.parse().unwrap_or_default() {
                        self.command("ZREM", &index, &[&id]).await?;
                    }
                }
            }
        }
        Ok(active)
    }

    async fn change_status(&self, id: &str, step: &BatchTransition) -> Result<bool, StoreError> {
        let wrong = match step.wrong.as_slice() {
            [] => String::new(),
            wrong => serde_json::to_string(wrong).unwrap_or_default(),
        };
        let counted = step
            .counted
            .map(|(total, units)| (total.to_string(), units.to_string()));
        let (total, units) = counted.unwrap_or_default();
        let mut arguments = vec![
            step.to.word().to_owned(),
            step.at.to_string(),
            wrong,
            total,
            units,
            u8::from(step.to.is_final()).to_string(),
        ];
        arguments.extend(step.from.iter().map(|status| status.word().to_owned()));
        let taken = count(&self.over(STEP, id, &arguments).await?) == 1;
        if taken && step.to.is_final() {
            let index = self.client.settings.layout.group("batches");
            self.command("ZREM", &index, &[id]).await?;
        }
        Ok(taken)
    }

    async fn lease_unit(
        &self,
        id: &str,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<BatchChunk>, StoreError> {
        let arguments = [worker.to_owned(), milliseconds(lease)];
        let reply = list(self.over(CLAIM, id, &arguments).await?);
        let [unit, again] = reply.as_slice() else {
            return Ok(None);
        };
        let unit = text(unit.clone()).unwrap_or_default();
        let number = unit
            .split('-')
            .next()
            .and_then(|number| number.parse().ok());
        Ok(number.map(|number| BatchChunk {
            number,
            again: count(again) == 1,
        }))
    }

    async fn store_results(
        &self,
        id: &str,
        report: &Report,
        at: u64,
    ) -> Result<Option<Status>, StoreError> {
        let names = self.names(id);
        let keys = [&names.state, &names.units, &names.output, &names.errors];
        let keys = keys.map(String::as_str);
        let mut arguments = vec![
            report.unit.to_string().into_bytes(),
            u8::from(report.done).to_string().into_bytes(),
            report.again.to_string().into_bytes(),
            at.to_string().into_bytes(),
        ];
        for result in &report.results {
            arguments.push(result.row.to_string().into_bytes());
            arguments.push(u8::from(result.failed).to_string().into_bytes());
            arguments.push(result.line.clone());
        }
        let reply = self.client.ask(script(REPORT, &keys, &arguments)).await?;
        Ok(text(reply).as_deref().and_then(Status::from_name))
    }
}

/// Formats a lease in milliseconds, limited to the range that the scripts support.
fn milliseconds(lease: Duration) -> String {
    lease.as_millis().min(LEASE).to_string()
}

fn request(command: &str, key: &str, arguments: &[&str]) -> KeyedCommand {
    let mut command = redis::cmd(command);
    command.arg(key).arg(arguments);
    KeyedCommand {
        name: key.to_owned(),
        command,
    }
}

fn page(reply: Vec<Value>) -> FileChunkPage {
    let mut values = reply.into_iter();
    let next = values.next().map_or(0, |value| count(&value));
    let mut page = FileChunkPage {
        pieces: Vec::new(),
        next: (next > 0).then_some(next),
    };
    while let (Some(number), Some(Value::BulkString(bytes))) = (values.next(), values.next()) {
        page.pieces.push(FileChunk {
            number: count(&number),
            bytes,
        });
    }
    page
}

fn parsed<T: DeserializeOwned>(name: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json)
        .map_err(|error| error::corrupt(name, &format!("invalid value: {error}")))
}

impl Batches for RedisBatches {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn add_pieces<'a>(
        &'a self,
        file: &'a str,
        pieces: &'a [FileChunk],
        expires: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let name = self.client.settings.layout.file(file).pieces;
            let mut arguments = vec![expires.to_string().into_bytes()];
            for piece in pieces {
                arguments.push(piece.number.to_string().into_bytes());
                arguments.push(piece.bytes.clone());
            }
            let adding = script(ADD_PIECES, &[&name], &arguments);
            self.client.ask(adding).await.map(|_| ())
        }
        .boxed()
    }

    fn keep_file<'a>(&'a self, file: &'a FileInfo) -> BoxFuture<'a, Result<(), StoreError>> {
        self.keep(file).boxed()
    }

    fn file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FileInfo>, StoreError>> {
        self.known(id).boxed()
    }

    fn files<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, StoreError>> {
        self.files_of(owner).boxed()
    }

    fn pieces<'a>(
        &'a self,
        file: &'a str,
        from: u64,
        bytes: usize,
    ) -> BoxFuture<'a, Result<FileChunkPage, StoreError>> {
        self.read(file, from, bytes).boxed()
    }

    fn remove_file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.remove(id).boxed()
    }

    fn begin<'a>(&'a self, order: &'a BatchOrder) -> BoxFuture<'a, Result<(), StoreError>> {
        self.start(order).boxed()
    }

    fn batch<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Batch>, StoreError>> {
        self.find(id).boxed()
    }

    fn batches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        async move {
            let index = self.client.settings.layout.owned(owner, "batches");
            self.listed(&index, true).await
        }
        .boxed()
    }

    fn active(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.active_ids().boxed()
    }

    fn step<'a>(
        &'a self,
        id: &'a str,
        step: &'a BatchTransition,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.change_status(id, step).boxed()
    }

    fn add_units<'a>(
        &'a self,
        id: &'a str,
        units: &'a [u64],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            for some in units.chunks(UNITS) {
                let numbers: Vec<String> = some.iter().map(u64::to_string).collect();
                self.over(ADD_UNITS, id, &numbers).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<BatchChunk>, StoreError>> {
        self.lease_unit(id, worker, lease).boxed()
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        units: &'a [u64],
        lease: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut arguments = vec![worker.to_owned(), milliseconds(lease)];
            arguments.extend(units.iter().map(u64::to_string));
            self.over(RENEW, id, &arguments).await.map(|_| ())
        }
        .boxed()
    }

    fn answered<'a>(
        &'a self,
        id: &'a str,
        first: u64,
        last: u64,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        async move {
            let names = self.names(id);
            let keys = [names.output.as_str(), names.errors.as_str()];
            let rows = [first.to_string(), last.to_string()];
            let reply = self.client.ask(script(ANSWERED, &keys, &rows)).await?;
            Ok(list(reply).iter().map(count).collect())
        }
        .boxed()
    }

    fn report<'a>(
        &'a self,
        id: &'a str,
        report: &'a Report,
        at: u64,
    ) -> BoxFuture<'a, Result<Option<Status>, StoreError>> {
        self.store_results(id, report, at).boxed()
    }

    fn release_chunk<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        unit: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let arguments = [worker.to_owned(), unit.to_string()];
            self.over(GIVE_BACK, id, &arguments).await.map(|_| ())
        }
        .boxed()
    }

    /// Redis deletes expired keys by itself.
    fn sweep(&self, _: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        async { Ok(()) }.boxed()
    }
}
