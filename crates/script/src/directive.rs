//! All directives of the language with their names, parameters and descriptions.
//!
//! The interpreter, `quillet check`, the editor and the language reference share this table. They
//! match on [`Directive`], so that a new directive does not compile until the interpreter handles
//! it.

use quillet_core::nearest;

/// Static description of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectiveSpec {
    /// The name, without `$`.
    pub name: &'static str,
    /// The aliases, without `$`.
    pub aliases: &'static [&'static str],
    /// The parameters, in the order of positional arguments.
    pub parameters: &'static [Parameter],
    /// Whether other names than the parameters are accepted, such as variables, model options or
    /// arguments.
    pub open: bool,
    /// Where the directive is allowed, and which blocks it has.
    pub form: DirectiveForm,
    /// A one-sentence description for hovers and lists.
    pub doc: &'static str,
    /// Numbers of the language reference features that describe the directive.
    pub notes: &'static [u16],
}

/// A parameter of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Whether the parameter is required.
    pub required: bool,
}

/// The syntactic form of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveForm {
    /// An instruction.
    Plain,
    /// An instruction with blocks under these keys.
    Blocks(&'static [&'static str]),
    /// An instruction with patterns as keys: those that start with `:`, and `_`. Each has a block.
    Patterns,
    /// An instruction that is allowed only in a loop.
    InLoop,
}

impl Directive {
    /// Returns the directive with this name. The name may start with `$`.
    ///
    /// ```
    /// use quillet_script::directive::Directive;
    ///
    /// let directive = Directive::named("$for").unwrap();
    /// assert_eq!(directive.name(), "for");
    /// assert!(Directive::named("$nothing").is_none());
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Directive> {
        let name = name.strip_prefix('$').unwrap_or(name);
        // The table is sorted by name, and aliases are rare.
        match Directive::ALL.binary_search_by(|known| known.name().cmp(name)) {
            Ok(at) => Directive::ALL.get(at).copied(),
            Err(_) => Directive::ALL
                .iter()
                .copied()
                .find(|known| known.spec().aliases.contains(&name)),
        }
    }

    /// Returns the directive's name, without `$`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

impl DirectiveSpec {
    /// Returns why the directive rejects a named argument and how to fix that, or `None` if the
    /// argument is accepted.
    #[must_use]
    pub fn refusal(&self, name: &str) -> Option<(String, String)> {
        if self.open {
            return None;
        }
        let own = self.parameters.iter().map(|parameter| parameter.name);
        let blocks: &[&str] = match self.form {
            DirectiveForm::Blocks(blocks) => blocks,
            _ => &[],
        };
        let mut names: Vec<&str> = own.chain(blocks.iter().copied()).collect();
        if names.contains(&name) {
            return None;
        }
        let why = format!("`${}` takes no `{name}`", self.name);
        let near = nearest(name, names.iter().copied());
        let help = match (near, names.pop()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, None) => "it takes nothing by name".to_owned(),
            (None, Some(last)) => {
                let rest = names.iter().map(|name| format!("`{name}`"));
                let rest: Vec<String> = rest.collect();
                if rest.is_empty() {
                    format!("it takes `{last}`")
                } else {
                    format!("it takes {} and `{last}`", rest.join(", "))
                }
            }
        };
        Some((why, help))
    }
}

/// Returns the most similar name among the directives and other known names. The result starts with
/// `$`.
///
/// ```
/// use quillet_script::directive::nearest_directive;
///
/// assert_eq!(nearest_directive("$fro", []).as_deref(), Some("$for"));
/// ```
#[must_use]
pub fn nearest_directive<'a>(
    name: &str,
    others: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let name = name.strip_prefix('$').unwrap_or(name);
    let names = Directive::ALL.iter().map(|known| known.name());
    let names = names.chain(others);
    Some(format!("${}", nearest(name, names)?))
}

const fn needs(name: &'static str, doc: &'static str) -> Parameter {
    let required = true;
    Parameter {
        name,
        doc,
        required,
    }
}

const fn takes(name: &'static str, doc: &'static str) -> Parameter {
    let required = false;
    Parameter {
        name,
        doc,
        required,
    }
}

const fn plain(
    name: &'static str,
    parameters: &'static [Parameter],
    notes: &'static [u16],
) -> DirectiveSpec {
    DirectiveSpec {
        name,
        aliases: &[],
        parameters,
        open: false,
        form: DirectiveForm::Plain,
        doc: "",
        notes,
    }
}

impl DirectiveSpec {
    const fn open(self) -> Self {
        DirectiveSpec { open: true, ..self }
    }

    const fn form(self, form: DirectiveForm) -> Self {
        DirectiveSpec { form, ..self }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        DirectiveSpec { aliases, ..self }
    }
}

/// Defines [`Directive`] and its specifications in a single list, so that they cannot differ. The
/// comment on a row is its description for hovers and lists.
macro_rules! directives {
    ($(#[doc = $doc:literal] $directive:ident = $spec:expr,)*) => {
        /// A directive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Directive {
            $(#[doc = $doc] $directive,)*
        }

        impl Directive {
            /// All directives, sorted by name.
            pub const ALL: &'static [Directive] = &[$(Directive::$directive,)*];

            /// Returns the directive's static description.
            #[must_use]
            pub const fn spec(self) -> &'static DirectiveSpec {
                match self {
                    $(Directive::$directive => {
                        const SPEC: DirectiveSpec = DirectiveSpec {
                            doc: $doc.trim_ascii(),
                            ..$spec
                        };
                        &SPEC
                    })*
                }
            }
        }
    };
}

directives! {
    /// Asks the model for the next message.
    Ai = plain(
        "AI",
        &[
            takes(
                "shouldAppendResponse",
                "true adds a message, false replaces the last, null decides by the last message",
            ),
            takes(
                "pushMessage",
                "whether the answer is added to the dialogue; true by default",
            ),
            takes("stream", "whether the answer streams"),
        ],
        &[108, 109],
    )
    .open()
    .also(&["llm"]),
    /// Ends the model's answer or the run with an error.
    Abort = plain(
        "abort",
        &[takes("reason", "the error message")],
        &[116],
    ),
    /// Leaves the loop.
    Break = plain("break", &[], &[96]).form(DirectiveForm::InLoop),
    /// Removes the code fence that a model put around a text.
    CleanResult = plain(
        "cleanResult",
        &[takes("content", "the text; the latest result by default")],
        &[106],
    ),
    /// Continues with the next iteration of the loop.
    Continue = plain("continue", &[], &[96]).form(DirectiveForm::InLoop),
    /// Counts the tokens of a text for the model.
    CountTokens = plain(
        "countTokens",
        &[needs("text", "the text")],
        &[106],
    ),
    /// Reads or sets state that the caller keeps for this script.
    Ctx = plain(
        "ctx",
        &[
            takes("key", "the variable; all variables by default"),
            takes("value", "the new value"),
            takes("id", "the script that owns the variables; this script by default"),
            takes("rootScope", "whether the outermost script keeps the variables"),
        ],
        &[104],
    ),
    /// Returns a value as the result.
    Echo = plain(
        "echo",
        &[needs("content", "the value")],
        &[102],
    )
    .open(),
    /// Sends an event to its listeners and returns the result of the last one.
    Emit = plain(
        "emit",
        &[
            needs("event", "the event name"),
            takes("args", "an argument or a list of arguments"),
        ],
        &[128],
    ),
    /// Runs another script.
    Exec = plain(
        "exec",
        &[
            takes("id", "the script id"),
            takes("filename", "the script file"),
            takes("args", "the input of the script"),
            takes(
                "memoized",
                "whether a cached result may be used; true by default",
            ),
            takes("script", "a script as text"),
            takes("tag", "a tag of the script"),
        ],
        &[70, 134],
    ),
    /// Ends the script and all its callers with a result.
    Exit = plain(
        "exit",
        &[takes("value", "the result")],
        &[100],
    )
    .open(),
    /// Fetches a URL, if permitted; returns ok, status, url, headers and text.
    Fetch = plain(
        "fetch",
        &[
            needs("url", "an http or https address"),
            takes("method", "GET by default"),
            takes("headers", "an object of header names and values"),
            takes("body", "a string, or a value that is sent as JSON"),
            takes(
                "encoding",
                "`base64` for a binary request and response body",
            ),
        ],
        &[93],
    ),
    /// Runs a block for each element.
    For = plain(
        "for",
        &[
            needs("list", "a count, a range, a list or an object"),
            takes("as", "variable names for value, index and items"),
            takes("step", "the step of a range; 1 by default"),
        ],
        &[97, 98],
    )
    .form(DirectiveForm::Blocks(&["do"])),
    /// Renders a template.
    Format = plain(
        "format",
        &[
            needs("template", "the template"),
            takes("data", "the variables; those of the script by default"),
            takes("templateFormat", "hf, golang or fstring"),
        ],
        &[56],
    ),
    /// Reads variables.
    Get = plain(
        "get",
        &[needs("key", "a key path or a list of key paths")],
        &[101],
    )
    .open(),
    /// Returns the messages of the dialogue.
    GetMessages = plain(
        "getMessages",
        &[],
        &[106],
    ),
    /// Runs `then` or `else`.
    If = plain(
        "if",
        &[needs("condition", "an expression or a call")],
        &[95],
    )
    .form(DirectiveForm::Blocks(&["then", "else"])),
    /// Returns whether a path is a folder.
    IsDir = plain(
        "isDir",
        &[
            takes("path", "the path"),
            takes("dir", "the same"),
            takes("content", "the same, as passed by a chain"),
        ],
        &[107],
    ),
    /// Lists the names of the files in a folder.
    ListFilenames = plain(
        "listFilenames",
        &[
            takes("path", "the folder; the script's own by default"),
            takes("pattern", "a file name pattern, such as *.md"),
            takes("dir", "the same as `path`"),
            takes(
                "extname",
                "file extensions, such as .md: a string or a list",
            ),
            takes(
                "recursive",
                "whether subfolders are searched; false by default",
            ),
        ],
        &[107],
    ),
    /// Writes to the log.
    Log = plain(
        "log",
        &[
            takes("content", "the value"),
            takes("level", "debug, info, warn or error"),
        ],
        &[106],
    )
    .open(),
    /// Runs the first branch whose pattern matches.
    Match = plain(
        "match",
        &[
            takes("condition", "the value; the latest result by default"),
            takes(
                "allMatches",
                "whether all matching branches run; false by default",
            ),
            takes(
                "parallel",
                "whether branches run concurrently; false by default",
            ),
        ],
        &[99],
    )
    .form(DirectiveForm::Patterns),
    /// Removes a listener.
    Off = plain(
        "off",
        &[
            needs("event", "the event name"),
            takes("callback", "the listener; all listeners by default"),
        ],
        &[128],
    ),
    /// Listens to an event.
    On = plain(
        "on",
        &[
            needs("event", "the event name"),
            needs("callback", "a function's name, a function or an expression"),
            takes("onError", "`ignore` lets the script continue if the listener fails"),
        ],
        &[128, 133],
    ),
    /// Listens to the next occurrence of an event.
    Once = plain(
        "once",
        &[
            needs("event", "the event name"),
            needs("callback", "a function's name, a function or an expression"),
            takes("onError", "`ignore` lets the script continue if the listener fails"),
        ],
        &[128, 133],
    ),
    /// Sets model parameters.
    Parameters = plain("parameters", &[], &[103]).open(),
    /// Passes the result to the next instruction.
    Pipe = plain(
        "pipe",
        &[takes("next", "the instruction that receives the result")],
        &[69],
    )
    .open(),
    /// Writes a line to standard output.
    Print = plain(
        "print",
        &[needs("content", "the value")],
        &[102],
    )
    .open(),
    /// Sets prompt variables.
    Prompt = plain("prompt", &[], &[103]).open(),
    /// Appends a value to a list.
    Push = plain(
        "push",
        &[
            needs("key", "the key path of the list"),
            needs("value", "the value to add"),
        ],
        &[101],
    )
    .open(),
    /// Adds a message to the dialogue.
    PushMessage = plain(
        "pushMessage",
        &[
            needs("content", "the text of the message"),
            takes("role", "the role; user by default"),
        ],
        &[106],
    )
    .open(),
    /// Reads a text file, if permitted.
    ReadFile = plain(
        "readFile",
        &[needs("path", "the file, relative to the calling script")],
        &[79],
    ),
    /// Marks the script as ready for conversation.
    Ready = plain(
        "ready",
        &[takes("isReady", "true by default")],
        &[106, 131],
    ),
    /// Replaces a message.
    ReplaceMessage = plain(
        "replaceMessage",
        &[
            needs("content", "the new text"),
            takes("index", "the index of the message; the last by default"),
            takes("role", "the new role"),
        ],
        &[106],
    )
    .open(),
    /// Ends the script with a result.
    Ret = plain(
        "ret",
        &[takes("value", "the result")],
        &[100],
    )
    .open(),
    /// Sets variables by key paths.
    Set = plain("set", &[], &[101]).open(),
    /// Fails with an error.
    Throw = plain(
        "throw",
        &[needs("error", "the error message")],
        &[100],
    )
    .open(),
    /// Returns the tokens of a text for the model.
    Tokenize = plain(
        "tokenize",
        &[needs("text", "the text")],
        &[106],
    ),
    /// Calls a registered tool; `llm` is the model.
    Tool = plain(
        "tool",
        &[needs("name", "the tool name")],
        &[108],
    )
    .open(),
    /// Truncates a text to a number of tokens.
    TruncateToTokenLimit = plain(
        "truncateToTokenLimit",
        &[
            needs("text", "the text"),
            needs("limit", "the maximum number of tokens"),
        ],
        &[106],
    ),
    /// Removes variables.
    Unset = plain(
        "unset",
        &[needs("key", "a key path or a list of key paths")],
        &[101],
    )
    .open(),
    /// Runs a block as long as the condition holds.
    While = plain(
        "while",
        &[needs("condition", "an expression")],
        &[96],
    )
    .form(DirectiveForm::Blocks(&["do"])),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_no_name_stands_twice() {
        let names = |known: &Directive| {
            let spec = known.spec();
            [spec.name].into_iter().chain(spec.aliases.iter().copied())
        };
        let all: Vec<_> = Directive::ALL.iter().flat_map(names).collect();
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        let main: Vec<_> = Directive::ALL.iter().map(|known| known.name()).collect();
        assert!(main.is_sorted(), "{main:?}");
    }

    #[test]
    fn names_are_found_with_and_without_their_sign() {
        assert_eq!(Directive::named("$llm"), Some(Directive::Ai));
        assert_eq!(Directive::named("ai"), None);
        assert_eq!(nearest_directive("$prnt", []).as_deref(), Some("$print"));
        assert_eq!(
            nearest_directive("$hallo", ["hello"]).as_deref(),
            Some("$hello")
        );
    }
}
