//! Notices that something in a folder has changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Editors write a file in several steps; a change is reported when this long has passed since the
/// first of them.
const SETTLE: Duration = Duration::from_millis(50);
/// A look without notice, where notices work: the folder itself may have been replaced,
/// or a notice lost.
const LOOK: Duration = Duration::from_secs(15);
/// A look where the system gives no notices, as on network mounts, or where the folder is gone.
const LOOK_OFTEN: Duration = Duration::from_secs(2);

/// Notices of changes below a folder.
#[derive(Debug)]
pub(crate) struct Watch {
    signs: Arc<Signs>,
    /// Held for its drop, which ends the notices.
    watcher: Option<RecommendedWatcher>,
}

#[derive(Debug, Default)]
struct Signs {
    touched: Notify,
    /// The folder itself was moved or removed. A watch follows what it watches, not its name.
    moved: AtomicBool,
}

impl Watch {
    /// Watches a folder; one that cannot be watched is looked at more often.
    pub(crate) fn new(folder: &Path) -> Self {
        let signs = Arc::new(Signs::default());
        let watcher = watcher(folder, signs.clone());
        if let Err(error) = &watcher {
            let folder = folder.display();
            tracing::debug!(%folder, %error, "no notice of changes: looking every {LOOK_OFTEN:?}");
        }
        Watch {
            signs,
            watcher: watcher.ok(),
        }
    }

    /// Waits until it is time to look at the folder. `false` if it is also time for a
    /// new watch, since this one may be of a folder that is here no more.
    pub(crate) async fn changed(&self) -> bool {
        let patience = match self.watcher {
            Some(_) => LOOK,
            None => LOOK_OFTEN,
        };
        if timeout(patience, self.signs.touched.notified())
            .await
            .is_err()
        {
            return false;
        }
        sleep(SETTLE).await;
        !self.signs.moved.load(Ordering::Relaxed)
    }
}

fn watcher(folder: &Path, signs: Arc<Signs>) -> notify::Result<RecommendedWatcher> {
    let watched = folder.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = &event {
            // Our own reading must not wake us.
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            if moves(event) && event.paths.contains(&watched) {
                signs.moved.store(true, Ordering::Relaxed);
            }
        }
        signs.touched.notify_one();
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}

fn moves(event: &Event) -> bool {
    let kind = event.kind;
    kind.is_remove() || matches!(kind, EventKind::Modify(ModifyKind::Name(_)))
}
