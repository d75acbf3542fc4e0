//! Warnings in responses: failed tool calls, unknown members, unused or missing variables, and
//! parameters that the model refuses.

use quillet_core::chat::ChatRequest;
use quillet_llm::models::{ModelRouter, RefusedParameters};
use quillet_prompt::{ToolFailure, UnresolvedVariable, UnusedVariable};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::members::UnknownField;

/// A warning for the client about a failed tool call with a fallback value, or an unknown member or
/// variable of the request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Warning {
    /// The function name of the tool, if the warning concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The stable code, such as `tool.timeout`, `request.unknown_member`,
    /// `request.unused_variable`.
    code: &'static str,
    /// A description of the problem.
    message: String,
    /// The duration of the call in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
}

impl Warning {
    fn of_request(code: &'static str, message: String) -> Self {
        Warning {
            tool: None,
            code,
            message,
            elapsed_ms: None,
        }
    }

    fn unknown(member: &UnknownField) -> Self {
        let hint = member
            .nearest
            .map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!("unknown member {:?} is ignored{hint}", member.name);
        Warning::of_request("request.unknown_member", message)
    }

    /// Returns the warning for a variable that the prompt neither declares nor uses.
    fn unused(variable: &UnusedVariable) -> Self {
        let near = variable.nearest.as_deref();
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!(
            "the prompt neither declares nor uses the variable {:?}{hint}",
            variable.name
        );
        Warning::of_request("request.unused_variable", message)
    }

    /// Returns the warning for an undeclared variable that the prompt uses and the request does not
    /// set.
    fn absent(variable: &UnresolvedVariable) -> Self {
        let near = variable.nearest.as_deref();
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!(
            "missing variable {:?}: the prompt uses it but does not declare it{hint}",
            variable.name
        );
        Warning::of_request("request.missing_variable", message)
    }
}

/// Returns the warning about parameters that are not sent because the model refuses them.
pub(crate) fn refused_parameters(
    models: Option<&ModelRouter>,
    request: &ChatRequest,
) -> Option<Warning> {
    let configured = models.and_then(ModelRouter::default_model);
    let model = request.model.as_deref().or(configured)?;
    let refused = RefusedParameters::of(model, &request.options)?;
    let code = "request.refused_parameter";
    Some(Warning::of_request(code, refused.to_string()))
}

pub(crate) fn warnings(
    unknown: &[UnknownField],
    unused: &[UnusedVariable],
    absent: &[UnresolvedVariable],
    failures: Vec<ToolFailure>,
) -> Vec<Warning> {
    let of_tool = |failure: ToolFailure| Warning {
        tool: Some(failure.tool),
        code: failure.code.as_str(),
        message: failure.message,
        elapsed_ms: Some(failure.elapsed_ms),
    };
    let of_tools = failures.into_iter().map(of_tool);
    let of_members = unknown.iter().map(Warning::unknown);
    let of_variables = unused.iter().map(Warning::unused);
    let of_absent = absent.iter().map(Warning::absent);
    let of_request = of_members.chain(of_variables).chain(of_absent);
    of_tools.chain(of_request).collect()
}
