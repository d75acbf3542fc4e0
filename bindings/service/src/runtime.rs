//! The runtime whose threads follow stores and run background tasks.

use std::io;
use std::sync::Mutex;

use quillet_core::lock::lock;
use tokio::runtime::{Builder, Handle, Runtime};

/// Created at the first use, for one process: a forked process has none of its threads.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// Number of threads. Tasks on them never wait for the lock of a host language.
const THREADS: usize = 2;

/// Returns the runtime of this process. In Python, the caller must hold the interpreter lock, so
/// that the process cannot fork during the call.
///
/// # Errors
/// The system cannot start a thread.
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
            // The runtime lives as long as the process. A parent's runtime is leaked, because
            // dropping it would wait for threads that do not exist in this process.
            let runtime: &'static Runtime = Box::leak(Box::new(runtime));
            *kept = Some((std::process::id(), runtime));
            Ok(runtime.handle().clone())
        }
    }
}
