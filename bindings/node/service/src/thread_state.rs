//! State of one Node thread: open stores, running tasks, and registered object shapes.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use quillet_bindings::{BackgroundTask, BindingError, BoundCatalogue, ExceptionKind, runtime};
use quillet_bridge::ThreadState;
use quillet_core::lock::lock;

/// Objects identified by number; a number is never reused.
#[derive(Debug)]
pub(crate) struct Slots<T>(Vec<(u32, T)>, u32);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(Vec::new(), 0)
    }
}

impl<T> Slots<T> {
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        self.1 += 1;
        self.0.push((self.1, thing));
        self.1
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let found = self.0.iter().find(|(one, _)| *one == number);
        found.map(|(_, thing)| thing)
    }

    pub(crate) fn take(&mut self, number: u32) -> Option<T> {
        let at = self.0.iter().position(|(one, _)| *one == number)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Shared with the tasks that open stores.
type StoreSlots = Arc<Mutex<Slots<BoundCatalogue>>>;

thread_local! {
    /// Each Node worker has its own thread. No JavaScript runs while this state is borrowed, so it
    /// is never borrowed twice.
    static WORLD: RefCell<ThreadState> = RefCell::default();
    static WORKS: RefCell<Slots<BackgroundTask>> = RefCell::default();
    static CATALOGUES: StoreSlots = StoreSlots::default();
}

pub(crate) fn world<T>(work: impl FnOnce(&mut ThreadState) -> T) -> T {
    WORLD.with_borrow_mut(work)
}

pub(crate) fn works<T>(work: impl FnOnce(&mut Slots<BackgroundTask>) -> T) -> T {
    WORKS.with_borrow_mut(work)
}

pub(crate) fn catalogues<T>(work: impl FnOnce(&mut Slots<BoundCatalogue>) -> T) -> T {
    CATALOGUES.with(|open| work(&mut lock(open)))
}

/// Slot for a store that is being opened.
pub(crate) struct PendingStore(StoreSlots);

pub(crate) fn opened() -> PendingStore {
    PendingStore(CATALOGUES.with(Arc::clone))
}

impl PendingStore {
    /// Stores an open store and returns its number.
    pub(crate) fn keep(&self, catalogue: BoundCatalogue) -> i64 {
        let mut open = lock(&self.0);
        open.add(catalogue).into()
    }
}

/// Drops a store on the runtime, where its connections can be closed.
pub(crate) fn close_store(catalogue: Option<BoundCatalogue>) {
    if let Ok(runtime) = runtime::handle() {
        let _runtime = runtime.enter();
        drop(catalogue);
    }
}

/// Error for a closed store.
pub(crate) fn closed() -> BindingError {
    BindingError::new(
        ExceptionKind::Option,
        "option.value",
        "the catalogue is closed",
    )
}

/// Error for an object that was removed or belongs to another thread.
pub(crate) fn gone() -> BindingError {
    let message = "it belongs to another thread or was freed";
    BindingError::new(ExceptionKind::Other, "package.broken", message)
}
