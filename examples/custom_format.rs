//! A template format of one's own: `[user.name]` prints a variable, `[short weather city]` calls
//! `short` with what `weather` says of `city`, `[]` is a plain bracket. It waits for nothing
//! itself, and calls that do not need each other run at the same time. Run it:
//! `cargo run --example custom_format`.

use quillet::core::{BoxFuture, Map, Span, Value, json};
use quillet::template::*;
use std::{sync::Arc, time::Duration, time::Instant};

#[derive(Debug)]
pub(crate) struct Brackets;

#[derive(Debug)]
struct Compiled {
    sources: Vec<Parsed>,
    references: References,
}

/// A source, and where in it which words stand in brackets.
#[derive(Debug)]
struct Parsed {
    name: String,
    text: String,
    holes: Vec<(Span, Vec<String>)>,
}

impl TemplateFormat for Brackets {
    fn name(&self) -> &'static str {
        "brackets"
    }

    fn escape(&self, literal: &str) -> Option<String> {
        Some(literal.replace('[', "[]"))
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        _: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let sources: Vec<Parsed> = sources.iter().map(parse).collect::<Result<_, _>>()?;
        let mut references = References::default();
        for (index, source) in sources.iter().enumerate() {
            for (span, words) in &source.holes {
                for (left, name) in words.iter().rev().enumerate() {
                    let path = name.split('.');
                    match left {
                        0 => references.add_variable(VariableReference::new(path, index, *span)),
                        _ => references.add_function(FunctionReference::new(name, index, *span)),
                    }
                }
            }
        }
        let compiled = Compiled {
            sources,
            references,
        };
        Ok(Arc::new(compiled))
    }
}

fn parse(source: &TemplateSource<'_>) -> Result<Parsed, CompileError> {
    let (mut holes, mut end) = (Vec::new(), 0);
    while let Some(before) = source.text[end..].find('[') {
        let start = end + before;
        let Some(length) = source.text[start..].find(']') else {
            let message = "the bracket is not closed: write [] for a plain one";
            return Err(CompileError::syntax(source, start..start + 1, message));
        };
        end = start + length + 1;
        let words = source.text[start + 1..end - 1].split_whitespace();
        holes.push((Span { start, end }, words.map(str::to_owned).collect()));
    }
    let (name, text) = (source.name.into(), source.text.into());
    Ok(Parsed { name, text, holes })
}

impl CompiledTemplate for Compiled {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let mut end = 0;
        let Some(source) = self.sources.iter().find(|source| source.name == entry) else {
            return Ok(());
        };
        for (span, words) in &source.holes {
            pass.step()?;
            pass.literal(&source.text[end..span.start])?;
            print(words, pass).map_err(|stop| stop.at(entry, &source.text, *span))?;
            end = span.end;
        }
        pass.literal(&source.text[end..])
    }
}

fn print(words: &[String], pass: &mut Pass<'_>) -> Result<(), StopReason> {
    let Some((path, functions)) = words.split_last() else {
        return pass.literal("[");
    };
    let missing = || RenderError::new(ErrorKind::MissingVariable, format!("{path} is not set"));
    let root = Value::Map(pass.variables().clone());
    let keys: Vec<&str> = path.split('.').collect();
    let mut value = root.get_path(&keys).cloned().ok_or_else(missing)?;
    for function in functions.iter().rev() {
        let CallState::Ready(called) = pass.call(function, vec![value].into())? else {
            pass.skip(); // The rest of this needs it, and what follows does not.
            return Ok(());
        };
        value = called;
    }
    let text = value.as_str().map(str::to_owned);
    let start = pass.begin_value();
    pass.write(&text.unwrap_or_else(|| json::to_string(&value)))?;
    pass.end_value(start, || words.first().cloned())
}

// The program: two tools, called at the same time.

struct Tools;

impl FunctionHost for Tools {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }

    fn names(&self) -> Vec<&str> {
        vec!["weather", "news"]
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let of = json::to_string(&arguments.positional.into());
            Ok(format!("the {name} of {of}").into())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let factory = TemplateFactory::standard().with(Brackets);
    let text = "[name] reads [weather city] and [news city]. []really]";
    let source = TemplateSource::new("main", text);
    let template = factory.compile("brackets", &[source], &CompileOptions::default())?;
    let variables: Map = [("name", Value::from("Ada")), ("city", "Oslo".into())]
        .into_iter()
        .collect();
    let begun = Instant::now();
    let rendered = render(&Render {
        template: &*template,
        entries: &["main"],
        variables: &variables,
        functions: &Tools,
        limits: &RenderLimits::default(),
    })
    .await?;
    println!("{}", rendered.text(0));
    println!(
        "{} calls, {} ms",
        rendered.calls,
        begun.elapsed().as_millis()
    );
    Ok(())
}
