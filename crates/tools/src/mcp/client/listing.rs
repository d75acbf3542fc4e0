//! Tool lists of a server, read page by page, and their validity.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::tool::ToolErrorKind;
use rmcp::model::{PaginatedRequestParams, Tool};

use super::failure::{error_text, kind};
use super::handler::McpSession;

/// Maximum number of tools of one server. Models cannot choose among more.
const MOST_TOOLS: usize = 1_000;
/// Maximum number of pages, in case pages are small or empty.
const MOST_PAGES: usize = 100;
/// Lists expire, because a restarted server at the same address does not announce changed tools.
const HOLDS: Duration = Duration::from_secs(60);

/// Tool list of a server.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// The session's change counter, and its value when the list was made.
    changes: Arc<AtomicU64>,
    at_change: u64,
    made: Instant,
}

impl Listing {
    /// Whether the list is still valid: it must belong to the session of this counter and be
    /// unchanged.
    pub(super) fn holds(&self, changes: &Arc<AtomicU64>) -> bool {
        // Another counter means another session, whose tools may differ.
        Arc::ptr_eq(&self.changes, changes)
            && self.at_change == changes.load(Ordering::SeqCst)
            && self.made.elapsed() < HOLDS
    }
}

/// Requests all pages of the list.
///
/// # Errors
/// The problem, as the server or this client describes it.
pub(super) async fn list(
    session: McpSession,
    most_bytes: usize,
) -> Result<Listing, (ToolErrorKind, String)> {
    let changes = session.service().changes.clone();
    // The counter is read before the pages, so that a change during the listing invalidates the
    // listing.
    let at_change = changes.load(Ordering::SeqCst);
    let (mut tools, mut cursor, mut bytes) = (Vec::new(), None, 0);
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = session.list_tools(Some(params)).await;
        let page = page.map_err(|error| (kind(&error), error_text(&error)))?;
        for tool in page.tools {
            bytes += serde_json::to_vec(&tool).map_or(0, |text| text.len());
            tools.push(tool);
        }
        if bytes > most_bytes {
            let why = format!("the list is larger than {most_bytes} bytes (tools.response_bytes)");
            return Err((ToolErrorKind::TooLarge, why));
        }
        if tools.len() > MOST_TOOLS {
            let why = format!("it has more than {MOST_TOOLS}");
            return Err((ToolErrorKind::TooLarge, why));
        }
        // An empty cursor counts as the end, because it could mean the first page again.
        cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
        if cursor.is_none() {
            return Ok(Listing {
                tools,
                changes,
                at_change,
                made: Instant::now(),
            });
        }
    }
    let why = format!("the list has more than {MOST_PAGES} pages");
    Err((ToolErrorKind::TooLarge, why))
}
