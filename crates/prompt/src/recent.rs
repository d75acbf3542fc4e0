//! Least-recently-used cache.
//!
//! A hit takes a read lock for one lookup and updates one counter in its entry, so hits do not
//! block each other. The order is exact: the least recently used entry is evicted.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use quillet_core::lock::{read, write};

/// A cache with a fixed maximum number of entries.
#[derive(Debug)]
pub(crate) struct LruCache<K, V> {
    capacity: usize,
    /// Logical clock that gives each use a unique number.
    clock: AtomicU64,
    kept: RwLock<LruState<K, V>>,
}

#[derive(Debug)]
struct LruState<K, V> {
    entries: HashMap<Arc<K>, LruEntry<V>, foldhash::fast::RandomState>,
    /// Keys by the number of a use, which may not be the latest use.
    order: BTreeMap<u64, Arc<K>>,
}

#[derive(Debug)]
struct LruEntry<V> {
    value: V,
    /// Number of the latest use.
    used: AtomicU64,
}

impl<K: Eq + Hash, V: Clone> LruCache<K, V> {
    /// Creates a cache for up to `capacity` entries, at least one.
    pub(crate) fn new(capacity: usize) -> Self {
        LruCache {
            capacity: capacity.max(1),
            clock: AtomicU64::new(0),
            kept: RwLock::new(LruState {
                entries: HashMap::default(),
                order: BTreeMap::new(),
            }),
        }
    }

    /// Returns the value of a key and records a use.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let kept = read(&self.kept);
        let entry = kept.entries.get(key)?;
        self.touch(entry);
        Some(entry.value.clone())
    }

    /// Inserts a value, evicting the least recently used entry if the cache is full. If the key
    /// exists, the existing value stays. Returns the cached value.
    pub(crate) fn insert(&self, key: &Arc<K>, value: V) -> V {
        let mut kept = write(&self.kept);
        // Two threads may have created the same value, and both use the first one.
        if let Some(entry) = kept.entries.get(key) {
            self.touch(entry);
            return entry.value.clone();
        }
        while kept.entries.len() >= self.capacity && kept.drop_oldest() {}
        let now = self.tick();
        let entry = LruEntry {
            value: value.clone(),
            used: AtomicU64::new(now),
        };
        kept.entries.insert(Arc::clone(key), entry);
        kept.order.insert(now, Arc::clone(key));
        value
    }

    /// Records a use. Skipped for the most recently used entry, so one hot key causes no writes.
    fn touch(&self, entry: &LruEntry<V>) {
        if entry.used.load(Ordering::Relaxed) != self.clock.load(Ordering::Relaxed) {
            // If two threads write, the larger number remains.
            entry.used.fetch_max(self.tick(), Ordering::Relaxed);
        }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl<K: Eq + Hash, V> LruState<K, V> {
    /// Evicts the least recently used entry. `order` may be outdated: entries used since then move
    /// to their current position.
    fn drop_oldest(&mut self) -> bool {
        while let Some((seen, key)) = self.order.pop_first() {
            let entry = self.entries.get(&key);
            let used = entry.map_or(0, |entry| entry.used.load(Ordering::Relaxed));
            if used <= seen {
                return self.entries.remove(&key).is_some();
            }
            // The entry was used after this number was assigned, so it moves to the position of its
            // last use.
            self.order.insert(used, key);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Reference model: the entry at the front is the least recently used.
    fn used(model: &mut VecDeque<u32>, key: u32, capacity: usize) -> bool {
        let known = model.iter().position(|other| *other == key);
        match known {
            Some(at) => drop(model.remove(at)),
            None if model.len() == capacity => drop(model.pop_front()),
            None => {}
        }
        model.push_back(key);
        known.is_some()
    }

    #[test]
    fn the_hundred_most_recently_used_are_kept_and_no_others() {
        let recent = LruCache::new(100);
        let mut model = VecDeque::new();
        let mut random = 7_u32;
        for turn in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The keys come from a scan of many keys, a few frequent keys, and random keys.
            let key = match turn % 3 {
                0 => turn / 3 % 150,
                1 => random >> 29,
                _ => random >> 24,
            };
            let expected = used(&mut model, key, 100);
            assert_eq!(recent.get(&key), expected.then_some(key), "turn {turn}");
            if !expected {
                recent.insert(&Arc::new(key), key);
            }
        }
    }

    #[test]
    fn the_first_of_two_values_is_kept() {
        let recent = LruCache::new(0);
        let key = Arc::new("key");
        assert_eq!(recent.insert(&key, 1), 1);
        assert_eq!(recent.insert(&key, 2), 1);
        assert_eq!(recent.get(&key), Some(1));
        recent.insert(&Arc::new("other"), 3);
        assert_eq!(recent.get(&key), None, "there is room for one");
    }

    #[test]
    fn threads_that_use_it_together_leave_as_many_as_there_is_room_for() {
        let recent = LruCache::new(10);
        let work = |seed: u32| {
            for turn in 0..5_000_u32 {
                let key = turn.wrapping_mul(seed) % 40;
                let value = recent.get(&key);
                let value = value.unwrap_or_else(|| recent.insert(&Arc::new(key), key));
                assert_eq!(value, key);
            }
        };
        std::thread::scope(|scope| {
            for seed in [1, 3, 7, 9] {
                scope.spawn(move || work(seed));
            }
        });
        let found = (0..40).filter(|key| recent.get(key).is_some()).count();
        assert_eq!(found, 10);
    }
}
