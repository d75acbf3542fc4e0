//! MCP endpoints. The endpoint of a token offers the prompts and tools that the token may render.

use std::sync::Arc;

use quillet_host::StoredOffer;
use quillet_host::agent::{AgentService, Principal};
use quillet_host::definitions::PermissionSet;
use quillet_prompt::PromptService;
use quillet_tools::serve::HttpTransport;

use crate::auth::Auth;
use crate::caller::Caller;

/// One MCP endpoint per token.
#[derive(Debug)]
pub(crate) struct McpEndpoints {
    /// The endpoint for servers without tokens.
    whole: HttpTransport,
    /// The endpoints by token index.
    own: Vec<HttpTransport>,
}

impl McpEndpoints {
    pub(crate) fn new(
        prompts: &Arc<PromptService>,
        agents: Option<&Arc<AgentService>>,
        auth: &Auth,
        body_bytes: usize,
    ) -> Self {
        let door = |rights: Arc<PermissionSet>, who: Principal| {
            let offer = StoredOffer::new(prompts.clone()).with_rights(rights);
            let offer = match agents {
                Some(agents) => offer.with_agents(agents.clone(), who),
                None => offer,
            };
            HttpTransport::new(Arc::new(offer), body_bytes)
        };
        // All endpoints are built at startup, one per token, so that a request only selects its
        // endpoint.
        let own = auth.rights().map(|(rights, who)| door(rights.clone(), who));
        McpEndpoints {
            own: own.collect(),
            whole: door(Arc::new(PermissionSet::all()), Principal::from_address("")),
        }
    }

    /// Returns the endpoint of a caller.
    pub(crate) fn endpoint_of(&self, caller: Caller) -> &HttpTransport {
        let own = match caller {
            Caller::Token(number) => self.own.get(number),
            Caller::Anyone => None,
        };
        own.unwrap_or(&self.whole)
    }
}
