//! Detects changes in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::key_path::{LABELS, Roots};
use super::stable_read::SETTLE;

/// Interval of scans while notifications work. The folder itself may be replaced, or a notification
/// may be lost.
const LOOK: Duration = Duration::from_secs(15);
/// Interval of scans without notifications, such as on network mounts or for a missing folder.
const LOOK_OFTEN: Duration = Duration::from_secs(2);

/// Notifications about changes below a folder.
#[derive(Debug)]
pub(crate) struct Watch {
    signs: Arc<WatchSignals>,
    /// Dropping it stops the notifications.
    watcher: Option<RecommendedWatcher>,
}

#[derive(Debug, Default)]
struct WatchSignals {
    touched: Notify,
    /// Whether the folder itself was moved or removed. A watch follows the folder instead of its
    /// name.
    moved: AtomicBool,
}

impl Watch {
    /// Watches the folders of a store; those that cannot be watched are scanned more often.
    pub(crate) fn new(roots: &Roots) -> Self {
        let signs = Arc::new(WatchSignals::default());
        let watcher = watcher(roots, signs.clone());
        if let Err(error) = &watcher {
            let folder = roots.definitions.display();
            tracing::debug!(%folder, %error, "no file system notifications: checking every {LOOK_OFTEN:?}");
        }
        Watch {
            signs,
            watcher: watcher.ok(),
        }
    }

    /// Waits until the folder must be scanned. Returns `false` if a new watch is also needed,
    /// because the watched folder may no longer be at this path.
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
        // The pause gives programs time to finish most writes.
        sleep(SETTLE).await;
        !self.signs.moved.load(Ordering::Relaxed)
    }
}

fn watcher(roots: &Roots, signs: Arc<WatchSignals>) -> notify::Result<RecommendedWatcher> {
    let places = WatchPaths::new(roots);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = &event {
            // The store's own reads must not trigger a scan.
            if matches!(event.kind, EventKind::Access(_)) || places.is_elsewhere(event) {
                return;
            }
            if places.replaces_root(event) {
                signs.moved.store(true, Ordering::Relaxed);
            }
        }
        signs.touched.notify_one();
    })?;
    // Recursive watches also include folders that are created later.
    watcher.watch(&roots.definitions, RecursiveMode::Recursive)?;
    if roots.history.is_dir() {
        watcher.watch(&roots.history, RecursiveMode::Recursive)?;
    }
    // The history folder is created with the first version, so its parent is watched.
    match roots.history.parent() {
        Some(parent) if parent != roots.definitions => {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        _ => {}
    }
    Ok(watcher)
}

/// The watched paths under all names that the system may report.
#[derive(Debug)]
struct WatchPaths {
    definitions: Vec<PathBuf>,
    history: Vec<PathBuf>,
}

impl WatchPaths {
    fn new(roots: &Roots) -> Self {
        // macOS reports canonical paths (`/private/var/…`) for watched links.
        let names = |path: &Path| [Some(path.to_owned()), fs::canonicalize(path).ok()];
        let names = |path: &Path| names(path).into_iter().flatten().collect();
        WatchPaths {
            definitions: names(&roots.definitions),
            history: names(&roots.history),
        }
    }

    /// Whether an event only concerns irrelevant paths.
    fn is_elsewhere(&self, event: &Event) -> bool {
        !event.paths.is_empty() && event.paths.iter().all(|path| self.is_other(path))
    }

    /// Whether a path is irrelevant: a sibling of the folders, or a history file other than labels.
    fn is_other(&self, path: &Path) -> bool {
        let within = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        if within(&self.history) {
            let is_label = |folder: &PathBuf| path.starts_with(folder.join(LABELS));
            return !self.history.iter().any(|it| path == it || is_label(it));
        }
        let beside = |folder: &PathBuf| folder.parent() == path.parent();
        !within(&self.definitions) && self.history.iter().any(beside)
    }

    /// Whether an event replaces one of the folders.
    fn replaces_root(&self, event: &Event) -> bool {
        let kind = event.kind;
        let goes = kind.is_remove() || matches!(kind, EventKind::Modify(ModifyKind::Name(_)));
        let is_any = |folders: &[PathBuf]| event.paths.iter().any(|path| folders.contains(path));
        // The existing watch does not include a history folder that was just created.
        let comes = kind.is_create() && is_any(&self.history);
        comes || (goes && (is_any(&self.definitions) || is_any(&self.history)))
    }
}
