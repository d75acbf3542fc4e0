//! Output buffers that renders leave behind for the next ones on their thread.
//!
//! A text grows in a buffer that has its room already and is handed out in one
//! allocation of its own size. What a thread keeps is bounded.

use std::cell::RefCell;

/// Buffers that a thread keeps: as many as prompts have messages.
const MOST_KEPT: usize = 8;
/// Larger ones are not reused; their text is handed out without a copy.
const MOST_BYTES: usize = 64 << 10;
/// Room for a short prompt, so that it is not moved while it grows.
const FIRST_BYTES: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub(crate) fn take() -> Vec<u8> {
    let kept = KEPT.try_with(|kept| kept.borrow_mut().pop());
    let kept = kept.ok().flatten();
    kept.unwrap_or_else(|| Vec::with_capacity(FIRST_BYTES))
}

/// The text in a buffer, which is kept if there is room for it.
pub(crate) fn finish(buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > MOST_BYTES {
        return buffer;
    }
    let text = buffer.as_slice().to_vec();
    leave(buffer);
    text
}

/// Keeps a buffer whose text is done with, if there is room for it.
pub(crate) fn leave(mut buffer: Vec<u8>) {
    if buffer.capacity() > MOST_BYTES {
        return;
    }
    buffer.clear();
    // A thread that ends keeps nothing.
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < MOST_KEPT {
            kept.push(buffer);
        }
    });
}
