//! What prompt files are converted to.

/// The format or kind of file to convert to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A definition of our own, as JSON.
    Definition,
    /// `NAME.prompt`.
    Dotprompt,
    /// `NAME.prompty`.
    Prompty,
    /// A function of Semantic Kernel, as YAML.
    SemanticKernel,
}

impl Target {
    /// Every target and its name on a command line.
    pub const NAMES: [(&'static str, Target); 4] = [
        ("json", Target::Definition),
        ("prompt", Target::Dotprompt),
        ("prompty", Target::Prompty),
        ("semantic-kernel", Target::SemanticKernel),
    ];

    /// The target of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, target)| *target)
    }
}
