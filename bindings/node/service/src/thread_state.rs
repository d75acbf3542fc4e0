//! What one thread of Node holds: open stores, works on their way, and the kinds of objects that its
//! JavaScript has told.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use quillet_bindings::{BackgroundTask, BindingError, BoundCatalogue, ExceptionKind, runtime};
use quillet_bridge::ThreadState;
use quillet_core::lock::lock;

/// Things by number; a number is not used twice.
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

/// Shared with the works that open stores.
type StoreSlots = Arc<Mutex<Slots<BoundCatalogue>>>;

thread_local! {
    /// Node runs each worker in a thread of its own. No JavaScript runs while these are borrowed, so
    /// they are not requested a second time.
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
    CATALOGUES.with(|open| work(&mut lock(&open)))
}

/// Where a store is kept that is being opened.
pub(crate) struct PendingStore(StoreSlots);

pub(crate) fn opened() -> PendingStore {
    PendingStore(CATALOGUES.with(Arc::clone))
}

impl PendingStore {
    /// Keeps a store; gives its number.
    pub(crate) fn keep(&self, catalogue: BoundCatalogue) -> i64 {
        let mut open = lock(&self.0);
        open.add(catalogue).into()
    }
}

/// Lets a store go where its connections can be ended.
pub(crate) fn close_store(catalogue: Option<BoundCatalogue>) {
    if let Ok(runtime) = runtime::handle() {
        let _runtime = runtime.enter();
        drop(catalogue);
    }
}

/// That a store was closed.
pub(crate) fn closed() -> BindingError {
    BindingError::new(
        ExceptionKind::Option,
        "option.value",
        "the catalogue is closed",
    )
}

/// That something is not there any more, or was of another thread.
pub(crate) fn gone() -> BindingError {
    let message = "it belongs to another thread or was freed";
    BindingError::new(ExceptionKind::Other, "package.broken", message)
}
