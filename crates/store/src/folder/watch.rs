//! Notices that something in a folder has changed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Editors write a file in several steps; a change is told when this long has passed
/// since the first of them.
const SETTLE: Duration = Duration::from_millis(50);
/// A look without notice, for file systems that give none (network mounts).
const LOOK: Duration = Duration::from_secs(2);

/// Waits for changes. Without the system's notices it still looks now and then.
#[derive(Debug)]
pub(crate) struct Watch {
    touched: Arc<Notify>,
    /// Held for its drop, which ends the notices.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    pub(crate) fn new(root: &Path) -> Self {
        let touched = Arc::new(Notify::new());
        let watcher = watcher(root, touched.clone());
        if let Err(error) = &watcher {
            let root = root.display();
            tracing::warn!(%root, %error, "no notice of changes: looking every {LOOK:?}");
        }
        Watch {
            touched,
            _watcher: watcher.ok(),
        }
    }

    /// Returns when it is time to look at the folder again.
    pub(crate) async fn changed(&self) {
        if timeout(LOOK, self.touched.notified()).await.is_ok() {
            sleep(SETTLE).await;
        }
    }
}

fn watcher(root: &Path, touched: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading must not wake us.
        if !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
            touched.notify_one();
        }
    })?;
    watcher.watch(root, RecursiveMode::Recursive)?;
    Ok(watcher)
}
