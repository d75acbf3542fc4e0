//! Output buffers that the renders of a thread reuse.
//!
//! A render writes its text into a buffer with reserved capacity and returns a copy of the exact
//! size. The memory of the buffers of a thread is bounded.

use std::cell::RefCell;

/// Maximum number of stored buffers per thread: about one per message of a prompt.
const MOST_KEPT: usize = 8;
/// Maximum capacity of a reused buffer. A larger text is returned without a copy.
const MOST_BYTES: usize = 64 << 10;
/// Initial capacity. It fits a short prompt, so the text of such a prompt is never moved.
const FIRST_BYTES: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer.
pub(crate) fn take() -> Vec<u8> {
    // `try_with`, because the destructor of another thread-local may render while the thread ends.
    let kept = KEPT.try_with(|kept| kept.borrow_mut().pop());
    let kept = kept.ok().flatten();
    kept.unwrap_or_else(|| Vec::with_capacity(FIRST_BYTES))
}

/// Returns the text in a buffer, and stores the buffer if there is room.
pub(crate) fn finish(buffer: Vec<u8>) -> Vec<u8> {
    // Copying a large text costs more than the allocation that reusing its buffer would save.
    if buffer.capacity() > MOST_BYTES {
        return buffer;
    }
    let text = buffer.as_slice().to_vec();
    leave(buffer);
    text
}

/// Stores a buffer whose text is no longer needed, if there is room.
pub(crate) fn leave(mut buffer: Vec<u8>) {
    if buffer.capacity() > MOST_BYTES {
        return;
    }
    buffer.clear();
    // A thread that is ending stores no buffers.
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < MOST_KEPT {
            kept.push(buffer);
        }
    });
}
