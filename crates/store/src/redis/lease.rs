//! Concurrency slots of this process: renewed while their permits exist, and released when they are
//! dropped. The slots of a dead process expire with their lease.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::runs::Permit;
use redis::Value;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::client::RedisClient;
use super::connections::KeyedCommand;
use super::pubsub::Notifiers;
use super::script::{number, script};

/// KEYS: slots of the key. ARGV: slot, lease. Acquires the slot again if Redis has lost it.
// ZADD is used without XX. After a restart of Redis without persistence, the slot must count again,
// or more runs than allowed would start.
const RENEW_PLACE: &str = "
local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0";

/// KEYS: log, state. ARGV: slot, lease, retention time. Returns whether the run was cancelled.
// Another holder means that the run was started again under this id after our lease expired. The
// old process must not overwrite the state of the new run.
const RENEW_RUN: &str = "
local t = redis.call('TIME')
local holder = redis.call('HGET', KEYS[2], 'place')
if holder and holder ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'place', ARGV[1],
  'lease', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2])
redis.call('HDEL', KEYS[2], 'missed')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return tonumber(redis.call('HGET', KEYS[2], 'cancelled') or '0')";

/// KEYS: slots of the key. ARGV: slot.
const FREE_PLACE: &str = "return redis.call('ZREM', KEYS[1], ARGV[1])";

/// KEYS: log, state. ARGV: slot, retention time. A run without a permit has ended, even if its last
/// event is missing.
// HSETNX keeps the value 1 of a run whose last event is in the log. Only a run that ended without a
// last event in the log gets the value 2, which readers see as lost.
const END_RUN: &str = "
if redis.call('HGET', KEYS[2], 'place') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[2], 'lease')
if redis.call('HSETNX', KEYS[2], 'ended', 2) == 1 then redis.call('PUBLISH', KEYS[1], KEYS[1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 0";

/// A slot and the keys that refer to it.
#[derive(Clone, Debug)]
pub(crate) struct SemaphoreSlot {
    /// Unique id.
    pub(crate) id: String,
    /// Name of the sorted set of the key's slots.
    pub(crate) places: String,
    /// Name of the run's log.
    pub(crate) log: String,
}

impl SemaphoreSlot {
    /// Returns the name of the run's state, which shares the hash slot of its log.
    fn state(&self) -> String {
        state_of(&self.log)
    }

    pub(crate) fn release_command(&self) -> KeyedCommand {
        script(FREE_PLACE, &[&self.places], &[&self.id])
    }

    fn end(&self, keep: Duration) -> KeyedCommand {
        let arguments = [self.id.clone(), keep.as_millis().to_string()];
        script(END_RUN, &[&self.log, &self.state()], &arguments)
    }

    fn renew_place(&self, lease: Duration) -> KeyedCommand {
        let arguments = [self.id.clone(), lease.as_millis().to_string()];
        script(RENEW_PLACE, &[&self.places], &arguments)
    }

    fn renew_run(&self, lease: Duration, keep: Duration) -> KeyedCommand {
        let (lease, keep) = (lease.as_millis().to_string(), keep.as_millis().to_string());
        let arguments = [self.id.clone(), lease, keep];
        script(RENEW_RUN, &[&self.log, &self.state()], &arguments)
    }
}

pub(crate) fn state_of(log: &str) -> String {
    format!("{log}:state")
}

/// Returns the name of the notifier for cancellation.
pub(crate) fn cancel_of(log: &str) -> String {
    format!("{log}:cancel")
}

/// A leased slot, released on drop.
#[derive(Debug)]
pub(crate) struct SlotLease {
    place: SemaphoreSlot,
    changes: mpsc::UnboundedSender<LeaseEvent>,
}

impl Permit for SlotLease {}

impl Drop for SlotLease {
    fn drop(&mut self) {
        // If the renewal task has ended, the slot is released when its lease expires.
        let _ = self
            .changes
            .send(LeaseEvent::Dropped(self.place.id.clone()));
    }
}

/// Event of a slot.
#[derive(Debug)]
pub(crate) enum LeaseEvent {
    Taken(SemaphoreSlot),
    Dropped(String),
}

impl SlotLease {
    pub(crate) fn new(place: SemaphoreSlot, changes: &mpsc::UnboundedSender<LeaseEvent>) -> Self {
        let _ = changes.send(LeaseEvent::Taken(place.clone()));
        SlotLease {
            place,
            changes: changes.clone(),
        }
    }
}

/// The task that renews and releases slots.
pub(crate) struct LeaseRenewer {
    pub(crate) client: Arc<RedisClient>,
    pub(crate) bells: Arc<Notifiers>,
    pub(crate) lease: Duration,
    pub(crate) keep: Duration,
    pub(crate) changes: mpsc::UnboundedReceiver<LeaseEvent>,
}

impl LeaseRenewer {
    /// Runs until all senders are dropped.
    pub(crate) async fn run(mut self) {
        let mut held = HashMap::new();
        // A third of the lease, so two renewals may fail before the lease expires.
        let mut renewal = interval((self.lease / 3).max(Duration::from_millis(1)));
        // After a pause of the process, one renewal is enough; a burst would only repeat it.
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Some(change) => self.follow(&mut held, change).await,
                    None => return,
                },
                _ = renewal.tick() => self.renew(&held).await,
            }
        }
    }

    /// Handles an event and all queued ones in one round trip.
    async fn follow(&mut self, held: &mut HashMap<String, SemaphoreSlot>, first: LeaseEvent) {
        let mut requests = Vec::new();
        let mut next = Some(first);
        while let Some(change) = next {
            match change {
                LeaseEvent::Taken(place) => drop(held.insert(place.id.clone(), place)),
                LeaseEvent::Dropped(id) => {
                    let place = held.remove(&id);
                    // The run ends before its slot is released, so a new run with the same id never
                    // finds the old state.
                    let given_back =
                        place.map(|place| [place.end(self.keep), place.release_command()]);
                    requests.extend(given_back.into_iter().flatten());
                }
            }
            // Many runs may end at the same time. All queued events share one round trip.
            next = self.changes.try_recv().ok();
        }
        if requests.is_empty() {
            return;
        }
        if let Err(error) = self.client.run(&requests).await {
            tracing::warn!(%error, "permits of runs stay taken until their lease expires");
        }
    }

    async fn renew(&self, held: &HashMap<String, SemaphoreSlot>) {
        let requests: Vec<KeyedCommand> = held
            .values()
            .flat_map(|place| {
                let run = place.renew_run(self.lease, self.keep);
                [run, place.renew_place(self.lease)]
            })
            .collect();
        if requests.is_empty() {
            return;
        }
        match self.client.run(&requests).await {
            Ok(replies) => self.notify_cancelled(held, &replies),
            // This is only logged at debug level, because the next tick retries, and the connection
            // manager has already logged a warning.
            Err(error) => tracing::debug!(%error, "permits of runs were not renewed"),
        }
    }

    /// Notifies cancelled runs, in case they missed the message.
    // Pub/sub messages are lost while the subscription reconnects, so every renewal also reads the
    // cancel flag.
    fn notify_cancelled(&self, held: &HashMap<String, SemaphoreSlot>, replies: &[Value]) {
        for (place, replies) in held.values().zip(replies.chunks(2)) {
            if replies.first().is_some_and(|stop| number(stop) == 1) {
                self.bells.notify(&cancel_of(&place.log));
            }
        }
    }
}
