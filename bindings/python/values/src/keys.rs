//! Cache of field names and short strings between renders.
//!
//! Prompt data repeats a few names (`role`, `content`) and words (`user`, `string`), and in Python
//! each of them is one object. Creating a string for each on every render would take a third of the
//! time to read a conversation.

use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Number of cached names and of cached strings; a power of two. A new entry replaces the one in
/// its slot.
const PLACES: usize = 256;
/// Longer names are not cached, so data with very long keys does not occupy memory permanently.
const LONGEST: usize = 64;

/// Longer strings are not cached, because they rarely repeat.
const LONGEST_TEXT: usize = 24;

static KEYS: Mutex<StringInterner> = Mutex::new(StringInterner {
    names: Vec::new(),
    texts: Vec::new(),
});

/// A string with its Python object. While the object is alive, no other object has its address.
type InternedString = Option<(Py<PyString>, Arc<str>)>;

/// The cached entries.
pub(crate) struct StringInterner {
    names: Vec<InternedString>,
    texts: Vec<InternedString>,
}

impl StringInterner {
    /// Returns the cache, unless it is in use: by a mapping that renders while it is read, or in a
    /// process forked meanwhile.
    pub(crate) fn lock() -> Option<MutexGuard<'static, StringInterner>> {
        let mut keys = KEYS.try_lock().ok()?;
        if keys.names.is_empty() {
            keys.names.resize_with(PLACES, || None);
            keys.texts.resize_with(PLACES, || None);
        }
        Some(keys)
    }

    /// Returns the text of a key.
    ///
    /// # Errors
    /// The string contains an unpaired surrogate.
    pub(crate) fn name(&mut self, key: &Bound<'_, PyString>) -> PyResult<Arc<str>> {
        kept(&mut self.names, key, LONGEST)
    }

    /// Returns a string.
    ///
    /// # Errors
    /// As [`StringInterner::name`].
    pub(crate) fn text(&mut self, text: &Bound<'_, PyString>) -> PyResult<Arc<str>> {
        kept(&mut self.texts, text, LONGEST_TEXT)
    }
}

fn kept(
    places: &mut [InternedString],
    object: &Bound<'_, PyString>,
    longest: usize,
) -> PyResult<Arc<str>> {
    // Objects are at least 16 bytes apart, so the low four bits of an address carry no information.
    let place = (object.as_ptr() as usize >> 4) & (PLACES - 1);
    let slot = places.get_mut(place);
    if let Some(Some((kept, text))) = &slot
        && kept.is(object)
    {
        return Ok(Arc::clone(text));
    }
    let text: Arc<str> = object.to_str()?.into();
    if text.len() <= longest
        && let Some(slot) = slot
    {
        *slot = Some((object.clone().unbind(), Arc::clone(&text)));
    }
    Ok(text)
}
