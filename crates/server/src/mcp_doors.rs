//! Where MCP clients come in: each token is offered what it may have rendered.

use std::sync::Arc;

use quillet_host::StoredOffer;
use quillet_host::definitions::Rights;
use quillet_prompt::PromptService;
use quillet_tools::serve::HttpDoor;

use crate::auth::{Auth, Caller};

/// The doors.
#[derive(Debug)]
pub(crate) struct McpDoors {
    /// Of those who may do everything.
    whole: HttpDoor,
    /// By the number of a token; none of one that may do everything.
    own: Vec<Option<HttpDoor>>,
}

impl McpDoors {
    pub(crate) fn new(prompts: &Arc<PromptService>, auth: &Auth, body_bytes: usize) -> Self {
        let door = |rights: Arc<Rights>| {
            let offer = StoredOffer::new(prompts.clone()).with_rights(rights);
            HttpDoor::new(Arc::new(offer), body_bytes)
        };
        let own = auth
            .rights()
            .map(|rights| (!rights.are_all()).then(|| door(rights.clone())));
        McpDoors {
            own: own.collect(),
            whole: door(Arc::new(Rights::all())),
        }
    }

    /// The door of whoever calls.
    pub(crate) fn of(&self, caller: Caller) -> &HttpDoor {
        let own = match caller {
            Caller::Token(number) => self.own.get(number).and_then(Option::as_ref),
            Caller::Anyone => None,
        };
        own.unwrap_or(&self.whole)
    }
}
