//! Notices that something in a folder has changed.

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

/// A look without notice, where notices work: the folder itself may have been replaced,
/// or a notice lost.
const LOOK: Duration = Duration::from_secs(15);
/// A look where the system gives no notices, as on network mounts, or where the folder is gone.
const LOOK_OFTEN: Duration = Duration::from_secs(2);

/// Notices of changes below a folder.
#[derive(Debug)]
pub(crate) struct Watch {
    signs: Arc<WatchSignals>,
    /// Held for its drop, which ends the notices.
    watcher: Option<RecommendedWatcher>,
}

#[derive(Debug, Default)]
struct WatchSignals {
    touched: Notify,
    /// The folder itself was moved or removed. A watch follows what it watches, not its name.
    moved: AtomicBool,
}

impl Watch {
    /// Watches the folders of a store; those that cannot be watched are looked at more often.
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
        // Until then most files are written.
        sleep(SETTLE).await;
        !self.signs.moved.load(Ordering::Relaxed)
    }
}

fn watcher(roots: &Roots, signs: Arc<WatchSignals>) -> notify::Result<RecommendedWatcher> {
    let places = WatchPaths::new(roots);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = &event {
            // Our own reading must not wake us.
            if matches!(event.kind, EventKind::Access(_)) || places.is_elsewhere(event) {
                return;
            }
            if places.replaces_root(event) {
                signs.moved.store(true, Ordering::Relaxed);
            }
        }
        signs.touched.notify_one();
    })?;
    // Recursive watches also cover folders that are created later.
    watcher.watch(&roots.definitions, RecursiveMode::Recursive)?;
    if roots.history.is_dir() {
        watcher.watch(&roots.history, RecursiveMode::Recursive)?;
    }
    // The folder of histories is made with the first version.
    match roots.history.parent() {
        Some(parent) if parent != roots.definitions => {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        _ => {}
    }
    Ok(watcher)
}

/// What is watched, as we call it and as the system may.
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

    /// Whether all that an event is about is of no interest.
    fn is_elsewhere(&self, event: &Event) -> bool {
        !event.paths.is_empty() && event.paths.iter().all(|path| self.is_other(path))
    }

    /// Whether a path is a neighbour of the folders, or in the histories and of no label.
    fn is_other(&self, path: &Path) -> bool {
        let within = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        if within(&self.history) {
            let is_label = |folder: &PathBuf| path.starts_with(folder.join(LABELS));
            return !self.history.iter().any(|it| path == it || is_label(it));
        }
        let beside = |folder: &PathBuf| folder.parent() == path.parent();
        !within(&self.definitions) && self.history.iter().any(beside)
    }

    /// Whether one of the folders is another one now.
    fn replaces_root(&self, event: &Event) -> bool {
        let kind = event.kind;
        let goes = kind.is_remove() || matches!(kind, EventKind::Modify(ModifyKind::Name(_)));
        let is_any = |folders: &[PathBuf]| event.paths.iter().any(|path| folders.contains(path));
        // A history folder that was just created is not covered by the existing watch.
        let comes = kind.is_create() && is_any(&self.history);
        comes || (goes && (is_any(&self.definitions) || is_any(&self.history)))
    }
}
