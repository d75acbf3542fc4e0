//! Shares one expensive initialization, such as a descriptor pool, among concurrent calls. It
//! continues if the call that started it is cancelled: with a render limit of 500 ms, a slow server
//! would otherwise be started again and again and never used. It is aborted once no caller needs
//! it.

use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use quillet_core::lock::lock;
use quillet_core::tool::{ToolError, ToolErrorKind};
use tokio_util::task::AbortOnDropHandle;

type InFlight<T> = Shared<BoxFuture<'static, Result<T, ToolError>>>;

/// The value, ready or in progress.
#[derive(Debug)]
pub(crate) struct SingleFlight<T: Clone>(Mutex<Option<InFlight<T>>>);

impl<T: Clone> Default for SingleFlight<T> {
    fn default() -> Self {
        SingleFlight(Mutex::new(None))
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// Returns the value. Calls `make` if there is no value, the last attempt failed, or `serves`
    /// rejects the value.
    pub(crate) async fn get<F>(
        &self,
        serves: impl Fn(&T) -> bool,
        make: impl FnOnce() -> F,
    ) -> Result<T, ToolError>
    where
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        self.current(serves, make).await
    }

    fn current<F>(&self, serves: impl Fn(&T) -> bool, make: impl FnOnce() -> F) -> InFlight<T>
    where
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let mut current = lock(&self.0);
        if let Some(making) = &*current {
            match making.peek() {
                Some(Ok(made)) if serves(made) => return making.clone(),
                // The value is still in progress, so it cannot be checked yet.
                None => return making.clone(),
                _ => {}
            }
        }
        let task = AbortOnDropHandle::new(tokio::spawn(make()));
        let making = async move { task.await.unwrap_or_else(|error| Err(ended(&error))) };
        let making = making.boxed().shared();
        *current = Some(making.clone());
        making
    }
}

fn ended(error: &tokio::task::JoinError) -> ToolError {
    let message = format!("the connection attempt stopped unexpectedly: {error}");
    ToolError::new(ToolErrorKind::Transport, message)
}
