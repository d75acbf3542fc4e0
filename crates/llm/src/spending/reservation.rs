//! Reservation of a running call.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use quillet_core::budget::{Amount, BudgetAccounts, Budgets, Reservation, RunReservation};
use quillet_core::chat::{ChatEvent, ChatStream, ModelError, Usage};
use tokio::time::{Instant, sleep_until};

use super::call::TokenPrice;
use super::counts::KeyCounters;
use super::message;

/// Bytes per token if a provider does not report the usage.
const BYTES_PER_TOKEN: usize = 4;

/// Reservation of a call and its cost so far. Dropping it records the cost and releases the
/// reservation.
pub(super) struct ActiveReservation {
    books: Arc<dyn Budgets>,
    counts: Arc<KeyCounters>,
    payer: BudgetAccounts,
    held: Option<(Option<Reservation>, RunReservation)>,
    tariff: TokenPrice,
    /// Estimated tokens of the request.
    input: u64,
    /// Whether the request was sent. From then on it costs money, even without an answer.
    pub(super) asked: bool,
    usage: Option<Usage>,
    heard_bytes: usize,
}

impl ActiveReservation {
    pub(super) fn new(
        books: Arc<dyn Budgets>,
        counts: Arc<KeyCounters>,
        payer: BudgetAccounts,
        held: Option<Reservation>,
        run: RunReservation,
        tariff: TokenPrice,
        input: u64,
    ) -> Self {
        ActiveReservation {
            books,
            counts,
            payer,
            held: Some((held, run)),
            tariff,
            input,
            asked: false,
            usage: None,
            heard_bytes: 0,
        }
    }

    /// Returns the deadline of the run, and the error after it.
    pub(super) fn deadline(&self) -> Option<(Instant, ModelError)> {
        let (left, run) = self.payer.time_left()?;
        Some((Instant::now() + left, message::out_of_time(run)))
    }

    fn see(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::Usage(usage) => self.usage = Some(*usage),
            ChatEvent::Text { text, .. }
            | ChatEvent::Reasoning { text, .. }
            | ChatEvent::Refusal { text, .. } => self.heard_bytes += text.len(),
            ChatEvent::ToolCall { arguments, .. } => self.heard_bytes += arguments.len(),
            _ => {}
        }
    }

    /// Returns the cost reported by the provider, or an estimate from the request and the received
    /// text.
    fn spent(&self) -> Amount {
        let heard = self.usage.unwrap_or(Usage {
            input_tokens: self.input,
            output_tokens: self.heard_bytes.div_ceil(BYTES_PER_TOKEN) as u64,
            ..Usage::default()
        });
        if self.asked {
            self.tariff.amount(&heard)
        } else {
            Amount::default()
        }
    }

    /// Records the cost in the budgets of the run, and returns a future that does so for the daily
    /// budgets.
    fn close(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let (hold, run) = self.held.take()?;
        let spent = self.spent();
        run.settle(spent);
        self.counts
            .change(&self.payer, |count| count.spent += spent);
        let (books, hold) = (self.books.clone(), hold?);
        Some(async move {
            if let Err(error) = books.settle(&hold, spent).await {
                tracing::warn!(target: "quillet::budgets", %error, "cannot record the cost of a call");
            }
        })
    }

    /// Records the cost and releases the reservation.
    pub(super) async fn settle(mut self) {
        if let Some(work) = self.close() {
            // The work is spawned, so that it completes even if the caller is cancelled.
            let _ = tokio::spawn(work).await;
        }
    }
}

impl Drop for ActiveReservation {
    fn drop(&mut self) {
        let Some(work) = self.close() else { return };
        // Without a runtime, the reservation expires after its time limit.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

/// Returns a stream that records the cost at its end and fails at the deadline of its run.
pub(super) fn guarded(
    stream: ChatStream,
    holding: ActiveReservation,
    until: Option<(Instant, ModelError)>,
) -> ChatStream {
    let state = (stream, Some(holding), until);
    Box::pin(unfold(state, |(mut stream, holding, until)| async move {
        let mut holding = holding?;
        let next = match &until {
            None => stream.next().await,
            Some((at, error)) => tokio::select! {
                biased;
                next = stream.next() => next,
                () = sleep_until(*at) => Some(Err(error.clone())),
            },
        };
        match next {
            Some(Ok(event)) => {
                holding.see(&event);
                Some((Ok(event), (stream, Some(holding), until)))
            }
            Some(Err(error)) => {
                // The connection is closed before anything else.
                drop(stream);
                holding.settle().await;
                let nothing: ChatStream = Box::pin(futures_util::stream::empty());
                Some((Err(error), (nothing, None, until)))
            }
            None => {
                holding.settle().await;
                None
            }
        }
    }))
}
