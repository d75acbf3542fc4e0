//! Target formats of prompt file conversions.

/// The format or kind of file to convert to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertTarget {
    /// A Quillet definition, as JSON.
    Definition,
    /// `NAME.prompt`.
    Dotprompt,
    /// `NAME.prompty`.
    Prompty,
    /// A Semantic Kernel function, as YAML.
    SemanticKernel,
}

impl ConvertTarget {
    /// Every target and its name on a command line.
    pub const NAMES: [(&'static str, ConvertTarget); 4] = [
        ("json", ConvertTarget::Definition),
        ("prompt", ConvertTarget::Dotprompt),
        ("prompty", ConvertTarget::Prompty),
        ("semantic-kernel", ConvertTarget::SemanticKernel),
    ];

    /// Returns the target with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::convert::ConvertTarget;
    ///
    /// assert_eq!(ConvertTarget::parse("prompty"), Some(ConvertTarget::Prompty));
    /// assert_eq!(ConvertTarget::parse("docx"), None);
    /// ```
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, target)| *target)
    }
}
