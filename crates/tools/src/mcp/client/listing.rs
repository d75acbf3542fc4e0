//! The tools that a server lists, page by page, and how long a list holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::tool::{ToolError, ToolErrorKind};
use rmcp::model::{PaginatedRequestParams, Tool};

use super::session::{Server, Session};

/// Tools of one server; no model can choose among more.
const MOST_TOOLS: usize = 1_000;
/// Pages of one list, for servers that give few or none a page.
const MOST_PAGES: usize = 100;
/// A server that was started anew behind the same address does not say that its
/// tools are others now.
const HOLDS: Duration = Duration::from_secs(60);

/// What a server listed.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// The session's count of changes, and what it was when the list was made.
    changes: Arc<AtomicU64>,
    at_change: u64,
    made: Instant,
}

impl Server {
    /// The tools that the server has now: listed again after a new session, a
    /// notice that they changed, or a minute.
    pub(crate) async fn listing(self: &Arc<Self>) -> Result<Arc<Listing>, ToolError> {
        let session = self.session().await?;
        let changes = session.service().changes.clone();
        let serves = |listing: &Arc<Listing>| {
            Arc::ptr_eq(&listing.changes, &changes)
                && listing.at_change == changes.load(Ordering::SeqCst)
                && listing.made.elapsed() < HOLDS
        };
        let make = || {
            let (endpoint, limit) = (self.endpoint.clone(), self.patience.start);
            let listing = list(session.clone(), self.response_bytes);
            async move {
                let listed = tokio::time::timeout(limit, listing).await;
                let failed = |kind, why: String| {
                    ToolError::new(kind, format!("{endpoint} did not list its tools: {why}"))
                };
                match listed {
                    Ok(Ok(listing)) => Ok(Arc::new(listing)),
                    Ok(Err((kind, why))) => Err(failed(kind, why)),
                    Err(_) => {
                        let why = format!("no answer within {limit:?} (tools.mcp_start_ms)");
                        Err(failed(ToolErrorKind::Timeout, why))
                    }
                }
            }
        };
        self.listing.get(&self.endpoint, serves, make).await
    }
}

async fn list(session: Session, most_bytes: usize) -> Result<Listing, (ToolErrorKind, String)> {
    let changes = session.service().changes.clone();
    // Read first: a change that comes while the pages do makes the list old.
    let at_change = changes.load(Ordering::SeqCst);
    let (mut tools, mut cursor, mut bytes) = (Vec::new(), None, 0);
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = session.list_tools(Some(params)).await;
        let page = page.map_err(|error| (super::kind(&error), super::said(&error)))?;
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
