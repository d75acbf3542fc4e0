//! The runtime on whose threads stores are followed and work is done.

use std::io;
use std::sync::Mutex;

use quillet_core::lock::lock;
use tokio::runtime::{Builder, Handle, Runtime};

/// Made at the first use, for one process: one that is forked has none of its threads.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// Threads that carry all work. Nothing that runs on them waits for a language's own lock.
const THREADS: usize = 2;

/// The runtime of this process. In Python the interpreter's lock must be held, so that nobody forks
/// meanwhile.
///
/// # Errors
/// The system gives no thread.
pub fn handle() -> io::Result<Handle> {
    let mut kept = lock(&RUNTIME);
    match *kept {
        Some((process, runtime)) if process == std::process::id() => Ok(runtime.handle().clone()),
        _ => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("quillet")
                .enable_all()
                .build()?;
            // It lives as long as the process does. That of a parent is left as it is: to end it
            // would be to wait for threads that are not here.
            let runtime: &'static Runtime = Box::leak(Box::new(runtime));
            *kept = Some((std::process::id(), runtime));
            Ok(runtime.handle().clone())
        }
    }
}
