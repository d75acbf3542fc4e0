//! Checks for unreachable instructions.

use super::diagnostics::ScriptDiagnostics;
use crate::directive::{Directive, DirectiveForm};
use crate::library::import::bare_name;
use crate::pattern::BranchPattern;
use crate::syntax::{CallExpr, InstructionBlock, ItemKind};

/// Reports instructions after one that ends its block, branches after `_`, and `$break` outside of
/// loops.
pub(super) fn block(block: &InstructionBlock, in_loop: bool, findings: &mut ScriptDiagnostics<'_>) {
    let mut ended: Option<&str> = None;
    for item in &block.items {
        if let Some(name) = ended.take() {
            let why = format!("unreachable code: ${name} ends the block before it");
            findings.warning("script.unreachable", why, item.span, "");
        }
        match &item.kind {
            ItemKind::Call(call) => {
                self::call(call, in_loop, findings);
                ended = ends(call).then_some(bare_name(&call.name.value));
            }
            ItemKind::Chain(links) => links
                .iter()
                .for_each(|link| self::call(link, in_loop, findings)),
            ItemKind::Block(inner) => self::block(inner, in_loop, findings),
            ItemKind::Message(_) | ItemKind::Separator { .. } | ItemKind::Expression(_) => {}
        }
    }
}

fn ends(call: &CallExpr) -> bool {
    use Directive::{Abort, Break, Continue, Exit, Ret, Throw};
    matches!(
        call.directive(),
        Some(Ret | Exit | Throw | Break | Continue | Abort)
    )
}

fn call(call: &CallExpr, in_loop: bool, findings: &mut ScriptDiagnostics<'_>) {
    let Some(directive) = call.directive() else {
        return call
            .branches
            .iter()
            .for_each(|branch| block(&branch.block, in_loop, findings));
    };
    let known = directive.spec();
    if known.form == DirectiveForm::InLoop && !in_loop {
        let why = format!("${} outside of a loop", known.name);
        findings.error(
            "script.loop",
            why,
            call.name.span,
            "use it in the `do` of a $for or $while",
        );
    }
    if known.form == DirectiveForm::Patterns {
        patterns(call, findings);
    }
    let in_loop = in_loop || matches!(directive, Directive::For | Directive::While);
    for branch in &call.branches {
        block(&branch.block, in_loop, findings);
    }
}

/// Reports branches of `$match` that have an invalid pattern or can never match.
fn patterns(call: &CallExpr, findings: &mut ScriptDiagnostics<'_>) {
    let mut else_before = false;
    let all = takes_all(call);
    for branch in &call.branches {
        let key = &branch.key;
        if else_before && !all {
            let why = "unreachable branch: `_` before it matches everything";
            findings.warning("script.unreachable", why, key.span, "put `_` last");
        }
        match BranchPattern::parse(&key.value, key.span) {
            Ok(pattern) => else_before |= pattern.is_else(),
            Err(error) => {
                let help = error.help.unwrap_or_default();
                findings.error("script.pattern", error.message, error.span, &help);
            }
        }
    }
}

/// Returns whether all matching branches run concurrently, instead of the first one only.
fn takes_all(call: &CallExpr) -> bool {
    let says = |text: &str| text.contains("allMatches");
    let arguments = call.arguments.iter().map(|text| text.value.as_ref());
    let mut names = arguments.chain(call.fields.iter().map(|field| field.name()));
    names.any(says)
}
