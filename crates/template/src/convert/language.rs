//! Formats that templates are converted between, and how they print values.

/// A format that templates can be converted from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `go`.
    Go,
    /// `jinja`, with the whitespace settings of transformers.
    Jinja,
    /// `jinja-plain`.
    JinjaPlain,
    /// `semantic-kernel`.
    SemanticKernel,
    /// `handlebars`.
    Handlebars,
    /// `mustache`.
    Mustache,
    /// `f-string`.
    FString,
    /// `dotprompt`: handlebars with roles.
    Dotprompt,
    /// `liquid`.
    Liquid,
}

/// The printing rules of a format family. Texts and whole numbers print the same in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintRules {
    Go,
    Python,
    JavaScript,
    DotNet,
    Ruby,
}

impl Language {
    /// All formats, in the factory's order.
    pub const ALL: [Language; 9] = [
        Language::Go,
        Language::Jinja,
        Language::JinjaPlain,
        Language::SemanticKernel,
        Language::Handlebars,
        Language::Mustache,
        Language::FString,
        Language::Dotprompt,
        Language::Liquid,
    ];

    /// Returns the format's canonical name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Language::Go => "go",
            Language::Jinja => "jinja",
            Language::JinjaPlain => "jinja-plain",
            Language::SemanticKernel => "semantic-kernel",
            Language::Handlebars => "handlebars",
            Language::Mustache => "mustache",
            Language::FString => "f-string",
            Language::Dotprompt => "dotprompt",
            Language::Liquid => "liquid",
        }
    }

    /// Returns the format with this canonical name.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::convert::Language;
    ///
    /// assert_eq!(Language::of_name("jinja-plain"), Some(Language::JinjaPlain));
    /// assert_eq!(Language::of_name("erb"), None);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|language| language.name() == name)
    }

    pub(super) fn printing(self) -> PrintRules {
        match self {
            Language::Go => PrintRules::Go,
            Language::Jinja | Language::JinjaPlain | Language::FString => PrintRules::Python,
            Language::SemanticKernel => PrintRules::DotNet,
            Language::Liquid => PrintRules::Ruby,
            Language::Handlebars | Language::Mustache | Language::Dotprompt => {
                PrintRules::JavaScript
            }
        }
    }

    /// Whether an object without fields is true in a condition.
    pub(super) fn empty_object_is_true(self) -> bool {
        matches!(
            self,
            Language::Handlebars | Language::Dotprompt | Language::Mustache | Language::Liquid
        )
    }
}

impl PrintRules {
    /// Returns how `true` and `false` print.
    pub(super) fn booleans(self) -> [&'static str; 2] {
        match self {
            PrintRules::Go | PrintRules::JavaScript | PrintRules::Ruby => ["true", "false"],
            PrintRules::Python | PrintRules::DotNet => ["True", "False"],
        }
    }
}
