//! Every directive of the language: what it is called, what it takes, what it is for.
//!
//! One table for the interpreter, `quillet check`, the editor and the language reference.

use quillet_core::nearest;

/// A directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name without `$`.
    pub name: &'static str,
    /// Other names of it, without `$`.
    pub aliases: &'static [&'static str],
    /// What it takes, in the order of arguments without names.
    pub parameters: &'static [Parameter],
    /// Whether it takes names besides its parameters: variables, options of a model, arguments.
    pub open: bool,
    /// Where it may stand, and which blocks it takes.
    pub form: Form,
    /// One sentence for hovers and lists.
    pub doc: &'static str,
    /// Numbers of the inventory that say what it does.
    pub notes: &'static [u16],
}

/// A parameter of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// Whether the directive cannot do without it.
    pub required: bool,
}

/// The form in which a directive is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An instruction.
    Plain,
    /// An instruction that takes blocks by these keys.
    Blocks(&'static [&'static str]),
    /// An instruction whose keys that begin with `:`, and `_`, are patterns with blocks.
    Patterns,
    /// An instruction in a block of a loop.
    InLoop,
}

/// The directive of a name, with or without `$`.
#[must_use]
pub fn directive(name: &str) -> Option<&'static Directive> {
    let name = name.strip_prefix('$').unwrap_or(name);
    // Each step of a loop asks, and nearly always by a name of its own: they are in order.
    match DIRECTIVES.binary_search_by(|known| known.name.cmp(name)) {
        Ok(at) => DIRECTIVES.get(at),
        Err(_) => DIRECTIVES
            .iter()
            .find(|known| known.aliases.contains(&name)),
    }
}

impl Directive {
    /// Why it cannot be given a name, and how to fix that; `None` if it takes it.
    #[must_use]
    pub fn refusal(&self, name: &str) -> Option<(String, String)> {
        if self.open {
            return None;
        }
        let own = self.parameters.iter().map(|parameter| parameter.name);
        let blocks: &[&str] = match self.form {
            Form::Blocks(blocks) => blocks,
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
                match rest.is_empty() {
                    true => format!("it takes `{last}`"),
                    false => format!("it takes {} and `{last}`", rest.join(", ")),
                }
            }
        };
        Some((why, help))
    }
}

/// The name, with `$`, that is most like a mistyped one among the directives and other names that
/// are known.
#[must_use]
pub fn nearest_directive<'a>(
    name: &str,
    others: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let name = name.strip_prefix('$').unwrap_or(name);
    let names = DIRECTIVES.iter().map(|known| known.name).chain(others);
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
    doc: &'static str,
    notes: &'static [u16],
) -> Directive {
    Directive {
        name,
        aliases: &[],
        parameters,
        open: false,
        form: Form::Plain,
        doc,
        notes,
    }
}

impl Directive {
    const fn open(self) -> Self {
        Directive { open: true, ..self }
    }

    const fn form(self, form: Form) -> Self {
        Directive { form, ..self }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Directive { aliases, ..self }
    }
}

/// All directives, in alphabetical order.
pub const DIRECTIVES: &[Directive] = &[
    plain(
        "AI",
        &[
            takes(
                "shouldAppendResponse",
                "true adds a message, false replaces the last, null decides by the last message",
            ),
            takes(
                "pushMessage",
                "whether the answer joins the dialogue; true by default",
            ),
            takes("stream", "whether the answer streams"),
        ],
        "Asks the model for the next message.",
        &[108, 109],
    )
    .open()
    .also(&["llm"]),
    plain(
        "abort",
        &[takes("reason", "what the error says")],
        "Ends the model's answer or the run with an error.",
        &[116],
    ),
    plain("break", &[], "Leaves the loop.", &[96]).form(Form::InLoop),
    plain(
        "cleanResult",
        &[takes("content", "the text; the latest result by default")],
        "Gives a text without the fence of code that a model put around it.",
        &[106],
    ),
    plain("continue", &[], "Goes on with the loop's next turn.", &[96]).form(Form::InLoop),
    plain(
        "countTokens",
        &[needs("text", "the text")],
        "Counts a text's tokens for the model.",
        &[106],
    ),
    plain(
        "ctx",
        &[
            takes("key", "the variable; all of them by default"),
            takes("value", "what to set it to"),
            takes("id", "whose variables; this script's by default"),
            takes("rootScope", "whether the outermost script keeps them"),
        ],
        "Reads or sets what the caller keeps for this script.",
        &[104],
    ),
    plain(
        "echo",
        &[needs("content", "the value")],
        "Gives a value as the result.",
        &[102],
    )
    .open(),
    plain(
        "emit",
        &[
            needs("event", "the event's name"),
            takes("args", "an argument, or a list of them"),
        ],
        "Sends an event to its listeners; the result is the last listener's.",
        &[128],
    ),
    plain(
        "exec",
        &[
            takes("id", "the script's id"),
            takes("filename", "the script's file"),
            takes("args", "what it is given"),
            takes(
                "memoized",
                "whether an earlier result may be taken; true by default",
            ),
            takes("script", "a script as text"),
            takes("tag", "a tag of the script"),
        ],
        "Runs another script.",
        &[70, 134],
    ),
    plain(
        "exit",
        &[takes("value", "the result")],
        "Ends the script, and all that called it, with a result.",
        &[100],
    )
    .open(),
    plain(
        "fetch",
        &[
            needs("url", "an http or https address"),
            takes("method", "GET by default"),
            takes("headers", "an object of names and values"),
            takes("body", "a text, or a value that is sent as JSON"),
            takes(
                "encoding",
                "`base64` for a body of bytes, and an answer that is no text",
            ),
        ],
        "Fetches an address, where that was granted: ok, status, url, headers and text.",
        &[93],
    ),
    plain(
        "for",
        &[
            needs("list", "a count, a range, a list or an object"),
            takes("as", "names for value, index and items"),
            takes("step", "the step of a range; 1 by default"),
        ],
        "Runs a block for each element.",
        &[97, 98],
    )
    .form(Form::Blocks(&["do"])),
    plain(
        "format",
        &[
            needs("template", "the template"),
            takes("data", "its variables; the script's by default"),
            takes("templateFormat", "hf, golang or fstring"),
        ],
        "Renders a template.",
        &[56],
    ),
    plain(
        "get",
        &[needs("key", "a key path, or a list of them")],
        "Reads variables.",
        &[101],
    )
    .open(),
    plain(
        "getMessages",
        &[],
        "Gives the messages of the dialogue.",
        &[106],
    ),
    plain(
        "if",
        &[needs("condition", "an expression, or a call")],
        "Runs `then` or `else`.",
        &[95],
    )
    .form(Form::Blocks(&["then", "else"])),
    plain(
        "isDir",
        &[
            takes("path", "the path"),
            takes("dir", "the same"),
            takes("content", "the same, as a chain hands it on"),
        ],
        "Whether a path is a folder.",
        &[107],
    ),
    plain(
        "listFilenames",
        &[
            takes("path", "the folder; the script's own by default"),
            takes("pattern", "which files, such as *.md"),
            takes("dir", "the same as `path`"),
            takes(
                "extname",
                "endings of the files, such as .md: a text or a list",
            ),
            takes(
                "recursive",
                "whether folders inside are gone through, too; false by default",
            ),
        ],
        "Lists the files of a folder, by their names in it.",
        &[107],
    ),
    plain(
        "log",
        &[
            takes("content", "the value"),
            takes("level", "debug, info, warn or error"),
        ],
        "Writes to the log.",
        &[106],
    )
    .open(),
    plain(
        "match",
        &[
            takes("condition", "the value; the latest result by default"),
            takes(
                "allMatches",
                "whether all branches that match are run; false by default",
            ),
            takes(
                "parallel",
                "whether they are run side by side; false by default",
            ),
        ],
        "Runs the branch whose pattern matches.",
        &[99],
    )
    .form(Form::Patterns),
    plain(
        "off",
        &[
            needs("event", "the event's name"),
            takes("callback", "the listener; all of them by default"),
        ],
        "Takes a listener away.",
        &[128],
    ),
    plain(
        "on",
        &[
            needs("event", "the event's name"),
            needs("callback", "a function's name, a function or an expression"),
            takes("onError", "`ignore` lets the script go on when it fails"),
        ],
        "Listens to an event.",
        &[128, 133],
    ),
    plain(
        "once",
        &[
            needs("event", "the event's name"),
            needs("callback", "a function's name, a function or an expression"),
            takes("onError", "`ignore` lets the script go on when it fails"),
        ],
        "Listens to an event's next time.",
        &[128, 133],
    ),
    plain("parameters", &[], "Sets parameters of the model.", &[103]).open(),
    plain(
        "pipe",
        &[takes("next", "what gets the result")],
        "Hands the result to the next instruction.",
        &[69],
    )
    .open(),
    plain(
        "print",
        &[needs("content", "the value")],
        "Writes a line to standard output.",
        &[102],
    )
    .open(),
    plain("prompt", &[], "Sets variables of the prompt.", &[103]).open(),
    plain(
        "push",
        &[
            needs("key", "the list's key path"),
            needs("value", "what is added"),
        ],
        "Adds to a list.",
        &[101],
    )
    .open(),
    plain(
        "pushMessage",
        &[
            needs("content", "its text"),
            takes("role", "whose it is; user by default"),
        ],
        "Adds a message.",
        &[106],
    )
    .open(),
    plain(
        "readFile",
        &[needs("path", "the file, relative to the script that asks")],
        "Reads a text file; only where it was granted.",
        &[79],
    ),
    plain(
        "ready",
        &[takes("isReady", "true by default")],
        "Says that the script is ready for conversation.",
        &[106, 131],
    ),
    plain(
        "replaceMessage",
        &[
            needs("content", "its new text"),
            takes("index", "which one; the last by default"),
            takes("role", "its new role"),
        ],
        "Replaces a message.",
        &[106],
    )
    .open(),
    plain(
        "ret",
        &[takes("value", "the result")],
        "Ends the script with a result.",
        &[100],
    )
    .open(),
    plain("set", &[], "Sets variables by key paths.", &[101]).open(),
    plain(
        "throw",
        &[needs("error", "what the error says")],
        "Fails.",
        &[100],
    )
    .open(),
    plain(
        "tokenize",
        &[needs("text", "the text")],
        "Gives a text's tokens for the model.",
        &[106],
    ),
    plain(
        "tool",
        &[needs("name", "the tool's name")],
        "Calls a registered tool; `llm` is the model.",
        &[108],
    )
    .open(),
    plain(
        "truncateToTokenLimit",
        &[
            needs("text", "the text"),
            needs("limit", "how many tokens it has at most"),
        ],
        "Cuts a text to a number of tokens.",
        &[106],
    ),
    plain(
        "unset",
        &[needs("key", "a key path, or a list of them")],
        "Takes variables away.",
        &[101],
    )
    .open(),
    plain(
        "while",
        &[needs("condition", "an expression")],
        "Runs a block as long as the condition holds.",
        &[96],
    )
    .form(Form::Blocks(&["do"])),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_no_name_stands_twice() {
        let names = |known: &'static Directive| {
            [known.name]
                .into_iter()
                .chain(known.aliases.iter().copied())
        };
        let all: Vec<_> = DIRECTIVES.iter().flat_map(names).collect();
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        let main: Vec<_> = DIRECTIVES.iter().map(|known| known.name).collect();
        assert!(main.is_sorted(), "{main:?}");
    }

    #[test]
    fn names_are_found_with_and_without_their_sign() {
        assert_eq!(directive("$llm").map(|known| known.name), Some("AI"));
        assert_eq!(directive("ai"), None);
        assert_eq!(nearest_directive("$prnt", []).as_deref(), Some("$print"));
        assert_eq!(
            nearest_directive("$hallo", ["hello"]).as_deref(),
            Some("$hello")
        );
    }
}
