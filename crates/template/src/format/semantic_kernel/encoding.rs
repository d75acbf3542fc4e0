//! Variant of Semantic Kernel, and its encoding rules.

use crate::plugin_function;

/// Language of the Semantic Kernel implementation; they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostLanguage {
    /// C#, the original.
    #[default]
    DotNet,
    /// Python, version 1.45.
    Python,
}

impl HostLanguage {
    /// Resolves a function name: an exact match, another spelling of it (not in Python), or the
    /// first function with that name in any plugin.
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

/// Output as Semantic Kernel writes it: HTML-encoded, unless allowed otherwise. The flag of one
/// input variable corresponds to its name in [`crate::CompileOptions::trusted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Encoding and rules to follow.
    pub dialect: HostLanguage,
    /// `allow_dangerously_set_content` of the prompt: in .NET, values and results of functions are
    /// not encoded; in Python, only results (values are never encoded).
    pub allow_prompt: bool,
    /// `AllowDangerouslySetContent` of the factory: nothing is encoded.
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
