//! Reports words that are probably not intended as a role: a misspelled role, a block outside its
//! instruction, or a directive without its `$`.
//!
//! Roles that the script lists under `roles`, or uses as its own `name`, are never reported.
//! Neither are words with capital letters, unless they differ from a known role only in case.

use quillet_core::{Diagnostic, Span, nearest};

use crate::directive::Directive;
use crate::syntax::{Instruction, InstructionBlock, ItemKind, MessageTemplate, Script, ScriptText};

/// Keys of blocks, and the instruction that each belongs to.
const BLOCKS: [(&str, &str); 3] = [
    ("then", "`$if`"),
    ("else", "`$if`"),
    ("do", "`$for` or `$while`"),
];

/// Directives whose names are unlikely as names of speakers.
const UNSIGNED: [Directive; 8] = [
    Directive::If,
    Directive::While,
    Directive::For,
    Directive::Match,
    Directive::Set,
    Directive::Print,
    Directive::Ret,
    Directive::Echo,
];

/// Reports suspicious roles of messages. `roles` contains all roles that the script defines.
pub(super) fn roles(script: &Script, roles: &[String]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut each = |role: &str, at: Span| {
        let Some(mistake) = mistake(role, roles) else {
            return;
        };
        let (why, help) = mistake.message_and_help(role);
        found.push(script.source.error("script.role", why, at).help(help));
    };
    let configured = script.config.get("prompt");
    let configured = configured.and_then(|prompt| prompt.get("messages")?.items());
    for message in configured.unwrap_or_default() {
        match (message.get("role"), message.entries()) {
            (Some(role), _) => each(role.as_str().unwrap_or_default(), role.span),
            (None, Some([entry])) => each(entry.name(), entry.key.span),
            _ => {}
        }
    }
    block(&script.body, &mut |role| each(&role.value, role.span));
    found
}

fn block(items: &InstructionBlock, each: &mut dyn FnMut(&ScriptText)) {
    for Instruction { kind, .. } in &items.items {
        match kind {
            ItemKind::Message(MessageTemplate {
                role: Some(role), ..
            }) => each(role),
            ItemKind::Call(call) => call
                .branches
                .iter()
                .for_each(|branch| block(&branch.block, each)),
            ItemKind::Block(inner) => block(inner, each),
            _ => {}
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum RoleTypo<'a> {
    Role(&'a str),
    Block(&'static str, &'static str),
    Directive(&'a str),
}

impl RoleTypo<'_> {
    /// Returns the problem and the fix.
    fn message_and_help(&self, role: &str) -> (String, String) {
        match self {
            RoleTypo::Role(near) => (
                format!("unknown role `{role}`"),
                format!("did you mean `{near}`? Declare your own roles under `roles`"),
            ),
            RoleTypo::Block(name, owner) => (
                format!("`{role}` is read as the role of a message here"),
                format!("indent `{name}` below {owner}"),
            ),
            RoleTypo::Directive(name) => (
                format!("unknown role `{name}`"),
                format!("write the directive as `${name}`"),
            ),
        }
    }
}

fn mistake<'a>(role: &'a str, roles: &'a [String]) -> Option<RoleTypo<'a>> {
    if role.is_empty() || roles.iter().any(|known| known == role) {
        return None;
    }
    let known = || roles.iter().map(String::as_str);
    // Checked before capital letters, because `Assistant` is the standard role and not a name.
    if let Some(same) = known().find(|known| known.eq_ignore_ascii_case(role)) {
        return Some(RoleTypo::Role(same));
    }
    // Capital letters and other scripts indicate the name of a speaker, which is never corrected.
    if !role.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    if UNSIGNED.iter().any(|known| known.name() == role) {
        return Some(RoleTypo::Directive(role));
    }
    let of_block = |(name, owner): &(&'static str, &'static str)| {
        (role == *name || is_near(role, name)).then_some(RoleTypo::Block(name, owner))
    };
    if let Some(found) = BLOCKS.iter().find_map(of_block) {
        return Some(found);
    }
    known()
        .find(|known| is_near(role, known))
        .map(RoleTypo::Role)
}

/// Returns whether a word is probably a typo of the other. One letter in three may differ. A short
/// word must also have the same first letter or the same letters in another order.
fn is_near(word: &str, known: &str) -> bool {
    if known.len() < 3 || nearest(word, [known]).is_none() {
        return false;
    }
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    // Many real words differ from a short word by one letter: `fool` is not a typo of `tool`.
    known.len() > 5 || word.chars().next() == known.chars().next() || sorted(word) == sorted(known)
}

#[cfg(test)]
mod tests {
    use super::{RoleTypo, mistake};

    #[test]
    fn near_misses_are_told_from_names() {
        let roles: Vec<String> = ["system", "user", "assistant", "tool", "developer", "dobby"]
            .map(str::to_owned)
            .into();
        let near = |role, known| assert_eq!(mistake(role, &roles), Some(RoleTypo::Role(known)));
        for (role, known) in [
            ("asistant", "assistant"),
            ("assitant", "assistant"),
            ("assistent", "assistant"),
            ("assistants", "assistant"),
            ("Assistant", "assistant"),
            ("sytem", "system"),
            ("systme", "system"),
            ("SYSTEM", "system"),
            ("usr", "user"),
            ("uesr", "user"),
            ("suer", "user"),
            ("users", "user"),
            ("tol", "tool"),
            ("develper", "developer"),
            ("doby", "dobby"),
            ("Dobby", "dobby"),
        ] {
            near(role, known);
        }
        for (role, name) in [
            ("then", "then"),
            ("thn", "then"),
            ("esle", "else"),
            ("els", "else"),
            ("do", "do"),
        ] {
            let found = mistake(role, &roles);
            assert!(
                matches!(found, Some(RoleTypo::Block(known, _)) if known == name),
                "{role}: {found:?}"
            );
        }
        assert_eq!(mistake("print", &roles), Some(RoleTypo::Directive("print")));
        for role in [
            "narrator",
            "user",
            "guide",
            "fool",
            "Elsie",
            "Theo",
            "judge",
            "critic",
            "teacher",
            "student",
            "writer",
            "editor",
            "translator",
            "boss",
            "Al",
            "旁白",
            "her",
            "cook",
        ] {
            assert_eq!(mistake(role, &roles), None, "{role}");
        }
    }
}
