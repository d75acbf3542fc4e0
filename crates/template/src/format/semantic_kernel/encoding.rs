//! Language of Semantic Kernel, and its encoding rules.

use crate::plugin_function;

/// Language of the Semantic Kernel implementation. The rules of the implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostLanguage {
    /// C#, the original implementation.
    #[default]
    DotNet,
    /// Python, version 1.45.
    Python,
}

impl HostLanguage {
    /// Resolves a function name: first an exact match, then another spelling (only in .NET), then
    /// the first function with that name in any plugin.
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

/// Encoding of the output. As in Semantic Kernel, output is HTML-encoded unless a flag disables the
/// encoding. For a single input variable, add its name to [`crate::CompileOptions::trusted`]
/// instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Language whose encoding and rules are used.
    pub dialect: HostLanguage,
    /// `allow_dangerously_set_content` of the prompt. In .NET, this disables the encoding of
    /// literal values and of function results. In Python, it disables only the encoding of function
    /// results, because literal values are never encoded.
    pub allow_prompt: bool,
    /// `AllowDangerouslySetContent` of the factory. If set, nothing is encoded.
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
