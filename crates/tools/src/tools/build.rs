//! Builds a tool from the text of a definition.

use std::sync::Arc;

use quillet_core::tool::{BuiltTool, ToolBuilder, ToolSpec};
use quillet_core::{Diagnostic, ErrorCode};

use super::Tools;
use super::wiring::ToolBuildError;
use crate::deadline::CallTimeout;
use crate::defined::{DefinedTool, ToolTransport};
use crate::definition::{self, ToolDefinition};
use crate::parameters::{Parameters, REST};
use crate::returns::Returns;

impl Tools {
    /// Warnings about a valid definition.
    fn remark(&self, definition: &ToolDefinition, wire: &ToolTransport) -> Option<String> {
        let relative = match wire {
            ToolTransport::Restful(restful) => restful.template.is_relative(),
            ToolTransport::Grpc(grpc) => grpc.is_relative(),
            ToolTransport::Mcp { .. } => false,
        };
        let module = &definition.module;
        let known = self
            .modules
            .get(module)
            .is_some_and(|module| module.base_url.is_some());
        (relative && !known && self.elsewhere.get().is_none()).then(|| {
            format!("the url is relative, and tools.modules.{module}.base_url is not set: calls will fail")
        })
    }
}

impl ToolBuilder for Tools {
    fn prepare(&self) {
        self.servers.look_ahead();
    }

    fn build(
        &self,
        name: &str,
        id: &str,
        source: &str,
        text: &str,
    ) -> Result<BuiltTool, Vec<Diagnostic>> {
        let (definition, mut warnings) = definition::read(source, text)?;
        let wrong = |path: &[&str], why: &str| {
            let message = format!("{}: {why}", path.join("."));
            let finding = Diagnostic::error("tool.definition", source, message);
            vec![finding.at(text, crate::field_location::of_value(text, path))]
        };
        let wire = self.wire(&definition).map_err(|unusable| match unusable {
            ToolBuildError::Field(field, why) => {
                let path: Vec<&str> = definition.own_key.into_iter().chain([field]).collect();
                wrong(&path, &why)
            }
            ToolBuildError::Missing(missing) => {
                let finding =
                    Diagnostic::error(ErrorCode::FeatureMissing, source, missing.to_string());
                vec![finding.at(text, crate::field_location::of_value(text, &["type"]))]
            }
        })?;
        let parameters = Parameters::compile(&definition.parameters)
            .map_err(|why| wrong(&["parameters"], &why))?;
        if let Some(remark) = self.remark(&definition, &wire) {
            warnings.push(Diagnostic::warning("tool.address", source, remark));
        }
        let returns = Returns::new(definition.returns.as_ref(), definition.result);
        let spec = ToolSpec {
            name: name.to_owned(),
            also: vec![id.to_owned()],
            description: definition.description,
            parameters: definition.parameters,
            rest: definition.undeclared.then(|| REST.to_owned()),
            idempotent: definition.idempotent,
            repeat: definition.repeat,
            default: returns.default(definition.default),
            returns: definition.returns,
        };
        let tool = DefinedTool {
            spec,
            parameters,
            undeclared: definition.undeclared,
            returns,
            limit: CallTimeout {
                time: definition.timeout.unwrap_or(self.config.timeout),
                setting: "timeout_ms of the definition, or tools.timeout_ms",
            },
            wire,
        };
        Ok(BuiltTool {
            tool: Arc::new(tool),
            warnings,
        })
    }
}
