//! Where MCP clients come in: each token is offered what it may have rendered.

use std::sync::Arc;

use quillet_host::StoredOffer;
use quillet_host::agent::{AgentService, Who};
use quillet_host::definitions::Rights;
use quillet_prompt::PromptService;
use quillet_tools::serve::HttpDoor;

use crate::auth::{Auth, Caller};

/// The doors.
#[derive(Debug)]
pub(crate) struct McpDoors {
    /// Where nobody needs a token.
    whole: HttpDoor,
    /// By the number of a token.
    own: Vec<HttpDoor>,
}

impl McpDoors {
    pub(crate) fn new(
        prompts: &Arc<PromptService>,
        agents: Option<&Arc<AgentService>>,
        auth: &Auth,
        body_bytes: usize,
    ) -> Self {
        let door = |rights: Arc<Rights>, who: Who| {
            let offer = StoredOffer::new(prompts.clone()).with_rights(rights);
            let offer = match agents {
                Some(agents) => offer.with_agents(agents.clone(), who),
                None => offer,
            };
            HttpDoor::new(Arc::new(offer), body_bytes)
        };
        let own = auth.rights().map(|(rights, who)| door(rights.clone(), who));
        McpDoors {
            own: own.collect(),
            whole: door(Arc::new(Rights::all()), Who::at("")),
        }
    }

    /// The door of whoever calls.
    pub(crate) fn of(&self, caller: Caller) -> &HttpDoor {
        let own = match caller {
            Caller::Token(number) => self.own.get(number),
            Caller::Anyone => None,
        };
        own.unwrap_or(&self.whole)
    }
}
