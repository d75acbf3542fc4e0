//! Names of fields and short texts, kept from one render to the next.
//!
//! Data of prompts has the same few names again and again (`role`, `content`), and the same words
//! (`user`, `string`); in Python each is one object. Making a string of each on every render would be
//! a third of what reading a conversation takes.

use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many names are kept, and how many texts; a power of two. What falls into the place of another
/// replaces it.
const PLACES: usize = 256;
/// Longer names are not kept, so that data with keys like sentences takes no memory for good.
const LONGEST: usize = 64;

/// Longer texts are not kept: what is long is seldom the same.
const LONGEST_TEXT: usize = 24;

static KEYS: Mutex<StringInterner> = Mutex::new(StringInterner {
    names: Vec::new(),
    texts: Vec::new(),
});

/// A string with the object it was read from: as long as that one lives, no other has its address.
type InternedString = Option<(Py<PyString>, Arc<str>)>;

/// What is kept.
pub(crate) struct StringInterner {
    names: Vec<InternedString>,
    texts: Vec<InternedString>,
}

impl StringInterner {
    /// The names, if nobody else is reading: a mapping that renders while it is read, or a process
    /// that was forked in between, does without.
    pub(crate) fn lock() -> Option<MutexGuard<'static, StringInterner>> {
        let mut keys = KEYS.try_lock().ok()?;
        if keys.names.is_empty() {
            keys.names.resize_with(PLACES, || None);
            keys.texts.resize_with(PLACES, || None);
        }
        Some(keys)
    }

    /// The text of a key.
    ///
    /// # Errors
    /// It is no text: it holds half of a surrogate pair.
    pub(crate) fn name(&mut self, key: &Bound<'_, PyString>) -> PyResult<Arc<str>> {
        kept(&mut self.names, key, LONGEST)
    }

    /// A text.
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
    // Objects stand sixteen bytes apart at least.
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
