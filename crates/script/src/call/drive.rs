//! The steps of a logical call: request, further thinking rounds, parsing, and repair requests.

use quillet_core::chat::{ChatRequest, FinishReason};
use quillet_core::{Message, Role, Value};

use super::form::{AnswerConstraint, ConstraintCheck};
use super::guard::BoundedModel;
use super::listen::StreamObserver;
use super::plan::{CallPlan, add_instructions};
use super::protocol::{self, ToolCallFilter};
use super::tools;
use super::turn::{self, TurnResult, beginning};
use super::{CallError, CallEvent, CallObserver, Constraint, ModelAnswer, ModelCall};
use crate::ErrorKind;
use crate::answer::{ChoiceConstraint, Random, ThinkingMode};
use crate::run::{EnforcedBy, EnforcedConstraint};

/// Calls a model and returns its answer in the requested form.
///
/// # Errors
/// The model or its provider failed or timed out, the answer does not have the requested form, or
/// the observer ended the call. The error contains the text received so far.
pub async fn ask(ask: ModelCall, progress: &dyn CallObserver) -> Result<ModelAnswer, CallError> {
    if let Some(Constraint::Choice(choice)) = &ask.constraint
        && choice.random
    {
        return Ok(random_choice(choice, ask.seed));
    }
    let plan = CallPlan::new(&ask)?;
    let mut messages = ask.messages.clone();
    add_instructions(&mut messages, &plan.words);
    if ask.dry {
        return dry(&ask, plan, messages, progress).await;
    }
    let model = BoundedModel::new(ask.model.model.clone(), &ask.settings);
    let done = ModelAnswer {
        warnings: plan.warnings.clone(),
        ..ModelAnswer::default()
    };
    let mut call = CallDriver {
        ask: &ask,
        plan,
        model,
        telling: StreamObserver::new(progress, &ask.settings),
        done,
    };
    call.quieten();
    let said = call.think(messages.clone()).await?;
    call.read(messages, said).await
}

/// Makes a random choice without a model.
fn random_choice(choice: &ChoiceConstraint, seed: u64) -> ModelAnswer {
    let picked = choice.draw(&mut Random::new(seed));
    let content = choice.text(&picked);
    ModelAnswer {
        value: Some(content.as_str().into()),
        original: content.clone(),
        content,
        ..ModelAnswer::default()
    }
}

async fn dry(
    ask: &ModelCall,
    plan: CallPlan,
    messages: Vec<Message>,
    progress: &dyn CallObserver,
) -> Result<ModelAnswer, CallError> {
    let request = ChatRequest {
        model: ask.model.name.clone(),
        messages,
        options: plan.options,
    };
    progress.event(CallEvent::Request(&request)).await?;
    Ok(ModelAnswer {
        warnings: plan.warnings,
        ..ModelAnswer::default()
    })
}

/// A call in progress.
struct CallDriver<'a> {
    ask: &'a ModelCall,
    plan: CallPlan,
    model: BoundedModel,
    telling: StreamObserver<'a>,
    /// The answer so far.
    done: ModelAnswer,
}

impl CallDriver<'_> {
    /// Disables streaming of an answer that is readable only when it is complete.
    fn quieten(&mut self) {
        let wrapped = self.plan.provided.as_ref();
        let wrapped = wrapped.is_some_and(|provided| provided.wrapped);
        let choice = matches!(self.ask.constraint, Some(Constraint::Choice(_)));
        self.telling.waits = choice || wrapped;
    }

    /// Requests an answer, with the number of thinking rounds in `shouldThink.depth`.
    async fn think(&mut self, mut messages: Vec<Message>) -> Result<TurnResult, CallError> {
        let mut said = self.take(messages.clone()).await?;
        let thinking = &self.ask.settings.thinking;
        let rounds = match thinking.mode {
            ThinkingMode::Off => 1,
            _ => thinking.depth,
        };
        for _ in 1..rounds {
            answered(&mut messages, &said.raw, thinking.again());
            self.telling.again("the model reviews its answer").await?;
            let before = said.thinking;
            said = self.take(messages.clone()).await?;
            said.thinking = join(before, &said.thinking);
        }
        Ok(said)
    }

    /// Requests an answer, including the tool calls for it.
    async fn take(&mut self, messages: Vec<Message>) -> Result<TurnResult, CallError> {
        let tools = !self.ask.tools.is_empty();
        match tools && self.ask.model.abilities.tools {
            true => {
                let uses = &mut self.done.tools;
                let options = &self.plan.options;
                let telling = &mut self.telling;
                let said = tools::run(&self.model, self.ask, options, messages, telling, uses);
                let said = said.await?;
                self.note(&said);
                Ok(said)
            }
            false if tools => self.converse(messages).await,
            false => self.request_reply(messages).await,
        }
    }

    /// Requests answers until one does not contain a tool call in text form.
    async fn converse(&mut self, mut messages: Vec<Message>) -> Result<TurnResult, CallError> {
        let rounds = self.ask.settings.tool_rounds;
        for round in 1..=rounds {
            self.telling.screen = Some(ToolCallFilter::default());
            let said = self.request_reply(messages.clone()).await?;
            let calls = match said.finish.ensure_complete() {
                Ok(()) => protocol::calls(&said.answer, &self.ask.tools),
                Err(_) => Vec::new(),
            };
            if calls.is_empty() {
                self.telling.unscreen().await?;
                return Ok(said);
            }
            self.telling.again("the model calls tools").await?;
            let uses = tools::make(calls, self.telling.progress).await?;
            let report = protocol::report(&uses, round == rounds);
            answered(&mut messages, &said.raw, &report);
            self.done.tools.extend(uses);
        }
        let said = self.request_reply(messages).await?;
        self.telling.unscreen().await?;
        if protocol::calls(&said.answer, &self.ask.tools).is_empty() {
            Ok(said)
        } else {
            Err(tools::too_many_rounds(self.ask))
        }
    }

    /// Requests an answer without tools.
    async fn request_reply(&mut self, messages: Vec<Message>) -> Result<TurnResult, CallError> {
        let continues = self.continues();
        let options = &self.plan.options;
        let telling = &mut self.telling;
        let said = turn::take(&self.model, self.ask, options, messages, continues, telling);
        let said = said.await?;
        self.note(&said);
        Ok(said)
    }

    fn note(&mut self, said: &TurnResult) {
        let done = &mut self.done;
        done.usage += said.usage;
        done.retries += said.retries;
        done.finish_reason = said.finish;
        done.model.clone_from(&said.model);
    }

    /// Returns whether an answer can be continued. Structured output of a provider cannot.
    fn continues(&self) -> bool {
        self.ask.settings.continues && self.plan.by != EnforcedBy::Provider
    }

    /// Parses the answer, and requests a repair if it does not have the required form.
    async fn read(
        mut self,
        mut messages: Vec<Message>,
        mut said: TurnResult,
    ) -> Result<ModelAnswer, CallError> {
        let Some(form) = self.plan.form.take() else {
            return self.finish(said, None, None).await;
        };
        let ask = self.ask;
        let (before, after) = if ask.settings.whole_message {
            (beginning(&ask.messages), ask.suffix.as_str())
        } else {
            ("", "")
        };
        let mut repairs = 0;
        // The last value that violates its schema is kept, because it is better than no value.
        let mut best: Option<(Value, TurnResult, String)> = None;
        loop {
            // A truncated answer may still have the required form: a number without its last
            // digits, or an option that is the prefix of another.
            let verdict = match said.finish.ensure_complete() {
                Ok(()) => {
                    let provided = self.plan.provided.as_ref();
                    form.check(&said.answer, before, after, provided)
                }
                Err(cut) => ConstraintCheck::Unreadable(cut.to_string()),
            };
            let why = match verdict {
                ConstraintCheck::Good(shown, value) => {
                    self.enforced(form.name(), repairs, true);
                    return self.finish(said, shown, Some(value)).await;
                }
                ConstraintCheck::Breaks(value, why) => {
                    best = Some((value, said.clone(), why.clone()));
                    why
                }
                ConstraintCheck::Unreadable(why) => why,
            };
            if repairs == form.repairs() || said.finish == FinishReason::Length {
                self.enforced(form.name(), repairs, false);
                return self.without_form(&form, said, why, best).await;
            }
            repairs += 1;
            self.telling.again(&why).await?;
            answered(&mut messages, &said.raw, &form.complaint(&why));
            said = self.take(messages.clone()).await?;
        }
    }

    fn enforced(&mut self, constraint: &'static str, repairs: u32, kept: bool) {
        self.done.enforced = Some(EnforcedConstraint {
            variable: String::new(),
            constraint,
            by: self.plan.by,
            repairs,
            kept,
        });
    }

    /// Returns the result for an answer without the required form.
    async fn without_form(
        mut self,
        form: &AnswerConstraint,
        said: TurnResult,
        why: String,
        best: Option<(Value, TurnResult, String)>,
    ) -> Result<ModelAnswer, CallError> {
        let settings = &self.ask.settings;
        if let Some((value, said, why)) = best {
            if settings.strict_output {
                let message = format!("the answer does not match output: {why}");
                return Err(CallError::new(ErrorKind::Output, message).partial(&said.raw));
            }
            let warning = format!("the answer does not match output; it is returned anyway: {why}");
            self.done.warnings.push(warning);
            return self.finish(said, None, Some(value)).await;
        }
        if form.may_stay_text() {
            return self.finish(said, None, None).await;
        }
        let message = format!("the answer does not have the requested form: {why}");
        let error = CallError::new(ErrorKind::Output, message).partial(&said.raw);
        Err(match said.finish {
            FinishReason::Length => error.help(
                "the token limit truncated the answer: raise parameters.max_tokens, because a \
                value cannot be continued in another call",
            ),
            _ => error,
        })
    }

    async fn finish(
        mut self,
        said: TurnResult,
        shown: Option<String>,
        value: Option<Value>,
    ) -> Result<ModelAnswer, CallError> {
        let content = shown.unwrap_or(said.answer);
        self.telling.show_complete(&content).await?;
        if let Err(cut) = said.finish.ensure_complete() {
            self.done
                .warnings
                .push(format!("the truncated answer is returned as it is: {cut}"));
        }
        if self.model.repeated() {
            let count = self.ask.settings.repeats;
            self.done.warnings.push(format!(
                "the answer was stopped because its end repeated {count} times \
                (parameters.minTailRepeatCount)"
            ));
        }
        let thinking = said.thinking;
        Ok(ModelAnswer {
            content,
            value,
            thinking: Some(thinking).filter(|text| !text.is_empty()),
            original: said.raw,
            ..self.done
        })
    }
}

/// Adds the answer and a reply to it to the dialogue.
fn answered(messages: &mut Vec<Message>, answer: &str, reply: &str) {
    let before = beginning(messages).to_owned();
    if !before.is_empty() {
        messages.pop();
    }
    let whole = format!("{before}{answer}");
    if !whole.is_empty() {
        messages.push(Message::new(Role::Assistant, whole));
    }
    messages.push(Message::new(Role::User, reply));
}

fn join(before: String, after: &str) -> String {
    if before.is_empty() || after.is_empty() {
        before + after
    } else {
        format!("{before}\n\n{after}")
    }
}
