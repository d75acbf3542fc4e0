//! Names of fields, kept from one render to the next.
//!
//! Data of prompts has the same few names again and again (`role`, `content`), and in Python each is
//! one object. Making a string of each on every render would be a third of what reading a
//! conversation takes.

use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many names are kept; a power of two. A name that falls into the place of another replaces it.
const PLACES: usize = 256;
/// Longer names are not kept, so that data with keys like sentences takes no memory for good.
const LONGEST: usize = 64;

static KEYS: Mutex<Keys> = Mutex::new(Keys(Vec::new()));

/// The names that are kept, each with the object it was read from: as long as that one lives, no
/// other has its address.
pub(crate) struct Keys(Vec<Option<(Py<PyString>, Arc<str>)>>);

impl Keys {
    /// The names, if nobody else is reading: a mapping that renders while it is read, or a process
    /// that was forked in between, does without.
    pub(crate) fn lock() -> Option<MutexGuard<'static, Keys>> {
        let mut keys = KEYS.try_lock().ok()?;
        if keys.0.is_empty() {
            keys.0.resize_with(PLACES, || None);
        }
        Some(keys)
    }

    /// The text of a key.
    ///
    /// # Errors
    /// It is no text: it holds half of a surrogate pair.
    pub(crate) fn text(&mut self, key: &Bound<'_, PyString>) -> PyResult<Arc<str>> {
        // Objects stand sixteen bytes apart at least.
        let place = (key.as_ptr() as usize >> 4) & (PLACES - 1);
        let Some(slot) = self.0.get_mut(place) else {
            return Ok(key.to_str()?.into());
        };
        if let Some((kept, text)) = slot
            && kept.is(key)
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = key.to_str()?.into();
        if text.len() <= LONGEST {
            *slot = Some((key.clone().unbind(), Arc::clone(&text)));
        }
        Ok(text)
    }
}
