//! Signals that end `quillet sql`.

/// Waits for Control-C, SIGTERM or SIGHUP. Data files and the demo are loaded into temporary files,
/// which are deleted only if the command is dropped instead of killed.
pub(super) async fn wait_for_end() {
    tokio::select! {
        () = wait_for_interrupt() => {}
        () = wait_for_termination() => {}
    }
}

/// Waits for Control-C.
pub(super) async fn wait_for_interrupt() {
    // If the handler cannot be installed, Control-C is never reported and the command continues.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for SIGTERM or SIGHUP.
pub(super) async fn wait_for_termination() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let term = signal(SignalKind::terminate());
        let hangup = signal(SignalKind::hangup());
        if let (Ok(mut term), Ok(mut hangup)) = (term, hangup) {
            tokio::select! {
                _ = term.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
    }
    std::future::pending::<()>().await;
}
