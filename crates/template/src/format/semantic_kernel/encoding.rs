//! Whose Semantic Kernel is meant, and what of a text it encodes.

use crate::plugin_function;

/// In which language's Semantic Kernel. They differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostLanguage {
    /// C#, the original.
    #[default]
    DotNet,
    /// Python, version 1.45.
    Python,
}

impl HostLanguage {
    /// The function that a name means: itself, the same written in another way
    /// (not in Python), or the first of that name in any plugin.
    pub(super) fn function<'n>(self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if self == HostLanguage::DotNet {
            return plugin_function(name, functions);
        }
        let of_plugin = |known: &&&str| known.split_once('.').is_some_and(|(_, f)| f == name);
        let exact = functions.iter().find(|known| **known == name);
        exact.or_else(|| functions.iter().find(of_plugin)).copied()
    }
}

/// Text as Semantic Kernel writes it: HTML-encoded, unless it is allowed not to
/// be. The flag of one input variable is its name in [`crate::CompileOptions::trusted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Whose encoding and whose rules.
    pub dialect: HostLanguage,
    /// `allow_dangerously_set_content` of the prompt: frees values and results
    /// of functions in .NET, all but values (which are never encoded) in Python.
    pub allow_prompt: bool,
    /// `AllowDangerouslySetContent` of the factory: frees everything.
    pub allow_factory: bool,
}

impl Encoding {
    pub(super) fn allows_variables(self) -> bool {
        self.allow_factory || (self.allow_prompt && self.dialect == HostLanguage::Python)
    }

    pub(super) fn allows_results(self) -> bool {
        self.allow_factory || self.allow_prompt
    }

    pub(super) fn encodes_values(self) -> bool {
        self.dialect == HostLanguage::DotNet && !self.allows_results()
    }
}
