//! An ordered map by id with cheap copies.
//!
//! Entries are stored in sorted chunks that copies share. A copy duplicates only the list of chunk
//! pointers, and a change duplicates one chunk. Changing one prompt in a snapshot of 20,000 takes a
//! few microseconds and hardly any memory.

use std::fmt;
use std::sync::Arc;

/// Maximum number of entries in a chunk. A change copies one chunk and the list of chunks.
const MOST: usize = 128;

type TableChunk<V> = Arc<Vec<(Arc<str>, V)>>;

/// An ordered map from ids to values, in chunks that its copies share.
///
/// # Examples
///
/// ```
/// use quillet_prompt::ChunkedTable;
///
/// let mut table = ChunkedTable::default();
/// table.insert("mail.send".into(), 1);
/// table.insert("math.add".into(), 2);
/// let before = table.clone();
/// table.remove("mail.send");
/// assert_eq!((table.len(), before.get("mail.send")), (1, Some(&1)));
/// ```
#[derive(Clone)]
pub struct ChunkedTable<V> {
    /// Sorted chunks. No chunk is empty.
    pieces: Vec<TableChunk<V>>,
    len: usize,
}

impl<V> ChunkedTable<V> {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the map has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the value of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&V> {
        self.get_key_value(id).map(|(_, value)| value)
    }

    /// Returns the stored id and its value.
    #[must_use]
    pub fn get_key_value(&self, id: &str) -> Option<(&Arc<str>, &V)> {
        let piece = self.pieces.get(self.piece_of(id))?;
        let (id, value) = piece.get(place(piece, id).ok()?)?;
        Some((id, value))
    }

    /// Whether the id exists.
    #[must_use]
    pub fn contains_key(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    /// Returns the entries in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &V)> {
        self.pieces.iter().flat_map(|piece| piece.iter().map(pair))
    }

    /// Returns the ids in order.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.iter().map(|(id, _)| id)
    }

    /// Returns the values in the order of their ids.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the entries whose ids have this prefix, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::ChunkedTable;
    ///
    /// let mut table = ChunkedTable::default();
    /// for (id, value) in [("mail.send", 1), ("math.add", 2), ("mail.read", 3)] {
    ///     table.insert(id.into(), value);
    /// }
    /// let mail: Vec<i32> = table.beginning_with("mail.").map(|(_, value)| *value).collect();
    /// assert_eq!(mail, [3, 1]);
    /// ```
    pub fn beginning_with<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a V)> {
        let first = self.piece_of(text);
        let pieces = self.pieces.iter().skip(first);
        let entries = pieces.flat_map(|piece| piece.iter().map(pair));
        // The first chunk in the range may start with smaller ids.
        let entries = entries.skip_while(move |(id, _)| &***id < text);
        entries.take_while(move |(id, _)| id.starts_with(text))
    }

    /// Returns the index of the chunk that contains an id, if any does.
    fn piece_of(&self, id: &str) -> usize {
        let begins_before =
            |piece: &TableChunk<V>| piece.first().is_some_and(|(first, _)| &**first <= id);
        // An id smaller than all others belongs to the first chunk.
        self.pieces.partition_point(begins_before).saturating_sub(1)
    }
}

impl<V: Clone> ChunkedTable<V> {
    /// Inserts a value and returns the previous one.
    pub fn insert(&mut self, id: Arc<str>, value: V) -> Option<V> {
        let number = self.piece_of(&id);
        let Some(piece) = self.pieces.get_mut(number) else {
            self.pieces.push(Arc::new(vec![(id, value)]));
            self.len += 1;
            return None;
        };
        match place(piece, &id) {
            Ok(at) => {
                // Copies the chunk only if another table shares it.
                let entry = Arc::make_mut(piece).get_mut(at)?;
                Some(std::mem::replace(&mut entry.1, value))
            }
            Err(at) => {
                self.len += 1;
                Arc::make_mut(piece).insert(at, (id, value));
                if piece.len() > MOST {
                    self.split(number, at);
                }
                None
            }
        }
    }

    /// Removes an id and returns its value.
    pub fn remove(&mut self, id: &str) -> Option<V> {
        let number = self.piece_of(id);
        let piece = self.pieces.get_mut(number)?;
        let at = place(piece, id).ok()?;
        self.len -= 1;
        let (_, value) = Arc::make_mut(piece).remove(at);
        // Empty chunks must be removed, because `piece_of` compares first entries.
        if piece.is_empty() {
            self.pieces.remove(number);
        }
        Some(value)
    }

    /// Splits a chunk after an insertion at `last`. At the end of the chunk, only the new entry is
    /// split off, so that entries inserted in order fill their chunks.
    fn split(&mut self, number: usize, last: usize) {
        let Some(piece) = self.pieces.get_mut(number) else {
            return;
        };
        let piece = Arc::make_mut(piece);
        let at = if last + 1 == piece.len() {
            last
        } else {
            piece.len() / 2
        };
        let rest = piece.split_off(at);
        // `split_off` keeps the capacity of the whole chunk.
        piece.shrink_to_fit();
        self.pieces.insert(number + 1, Arc::new(rest));
    }
}

fn pair<V>(entry: &(Arc<str>, V)) -> (&Arc<str>, &V) {
    (&entry.0, &entry.1)
}

fn place<V>(piece: &[(Arc<str>, V)], id: &str) -> Result<usize, usize> {
    piece.binary_search_by(|(known, _)| (**known).cmp(id))
}

impl<V> Default for ChunkedTable<V> {
    fn default() -> Self {
        ChunkedTable {
            pieces: Vec::new(),
            len: 0,
        }
    }
}

impl<V: fmt::Debug> fmt::Debug for ChunkedTable<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_an_ordered_map_and_older_versions_stay(
            steps in prop::collection::vec((0_u16..700, prop::option::weighted(0.7, any::<u8>())), 0..1500)
        ) {
            let (mut table, mut model) = (ChunkedTable::default(), BTreeMap::new());
            let mut before = (table.clone(), model.clone());
            for (number, (id, value)) in steps.into_iter().enumerate() {
                let id: Arc<str> = format!("m{}.p{}", id % 7, id / 7).into();
                if number % 100 == 50 {
                    before = (table.clone(), model.clone());
                }
                match value {
                    Some(value) => prop_assert_eq!(table.insert(id.clone(), value), model.insert(id, value)),
                    None => prop_assert_eq!(table.remove(&id), model.remove(&id)),
                }
                prop_assert_eq!(table.len(), model.len());
            }
            for (table, model) in [(table, model), before] {
                prop_assert!(table.iter().eq(model.iter()));
                prop_assert!(model.iter().all(|(id, value)| table.get(id) == Some(value)));
                for text in ["", "m", "m3.", "m3.p1", "m9", "a"] {
                    let expected = model.iter().filter(|(id, _)| id.starts_with(text));
                    prop_assert!(table.beginning_with(text).eq(expected), "{}", text);
                }
            }
        }
    }

    #[test]
    fn a_change_copies_one_piece() {
        let mut table = ChunkedTable::default();
        for number in 0..20_000 {
            table.insert(format!("p{number:05}").into(), number);
        }
        let before = table.clone();
        table.insert("p10000".into(), 1);
        let pieces = table.pieces.iter().zip(&before.pieces);
        let copied = pieces.filter(|(new, old)| !Arc::ptr_eq(new, old)).count();
        assert_eq!(copied, 1);
        assert!(table.pieces.len() < 20_000 / MOST + 2, "pieces are full");
    }
}
