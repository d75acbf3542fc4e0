//! The budget of a request. The header `X-Quillet-Budget` restricts the budget of the token.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response};
use hyper::body::{Frame, SizeHint};
use quillet_core::ErrorCode;
use quillet_core::budget::{self, BudgetAccounts, BudgetLimits};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, problem};
use crate::rate::RateKey;

/// Header with limits of a request, such as `usd=0.05, tokens=2000, s=30`. Each of them is
/// optional.
pub(crate) const HEADER: &str = "x-quillet-budget";

impl App {
    /// Returns the accounts charged for a request, or `None` if there are no limits.
    ///
    /// # Errors
    /// Fails if the header is invalid.
    pub(crate) fn request_accounts(
        &self,
        client: RateKey,
        headers: &HeaderMap,
    ) -> Result<Option<BudgetAccounts>, ApiError> {
        let payer = self.accounts_of(client);
        let payer = match headers.get(HEADER) {
            None => payer,
            Some(value) => {
                let text = value.to_str().unwrap_or_default();
                payer.with_request_limits(&read(text)?)
            }
        };
        Ok(Some(payer).filter(BudgetAccounts::is_limited))
    }

    /// Returns the accounts of a client, regardless of headers.
    pub(crate) fn accounts_of(&self, client: RateKey) -> BudgetAccounts {
        let key = match client.caller() {
            Caller::Token(_) => Some(&*self.auth.owner(client).0),
            Caller::Anyone => None,
        };
        let spending = self.spending.as_ref();
        spending.map_or_else(
            || BudgetAccounts::of(key.map(Into::into)),
            |it| it.payer(key),
        )
    }
}

fn read(text: &str) -> Result<BudgetLimits, ApiError> {
    let wrong = |why: String| {
        problem(ErrorCode::InvalidValue, format!("X-Quillet-Budget: {why}"))
            .with_hint("set a limit, such as X-Quillet-Budget: usd=0.05, tokens=2000, s=30")
    };
    let mut limits = BudgetLimits::default();
    for part in text.split(',') {
        let (name, number) = part.split_once('=').unwrap_or((part, ""));
        let name = name.trim();
        if !["usd", "tokens", "s"].contains(&name) {
            return Err(wrong(format!(
                "unknown unit {name:?}: expected usd, tokens or s"
            )));
        }
        let number: f64 = number
            .trim()
            .parse()
            .map_err(|_| wrong(format!("{name} must be a number, not {:?}", number.trim())))?;
        let set = limits.set(&format!("run_{name}"), number);
        set.map_err(|error| wrong(error.to_string()))?;
    }
    Ok(limits)
}

/// Charges the same accounts while the response body is produced.
pub(crate) fn charge_body(payer: BudgetAccounts, response: Response<Body>) -> Response<Body> {
    response.map(|body| Body::new(PaidBody { payer, body }))
}

struct PaidBody {
    payer: BudgetAccounts,
    body: Body,
}

impl hyper::body::Body for PaidBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The body is polled outside the handler's task-local scope, so set the accounts again for
        // each poll. A streamed reply calls models while it is polled.
        let payer = self.payer.clone();
        budget::with_accounts(Some(payer), || Pin::new(&mut self.body).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_header_has_one_two_or_three_limits() {
        let limits = read("usd=0.05, tokens=2000,s=1.5").unwrap();
        assert_eq!(limits.run.nano_usd, Some(50_000_000));
        assert_eq!(limits.run.tokens, Some(2000));
        assert_eq!(limits.run_time, Some(Duration::from_millis(1500)));
        assert_eq!(read("tokens=1").unwrap().run.tokens, Some(1));
        for (wrong, named) in [
            ("", "\"\""),
            ("eur=1", "eur"),
            ("usd", "usd"),
            ("usd=x", "\"x\""),
            ("usd=-1", "run_usd"),
            ("tokens=1.5", "run_tokens"),
            ("usd=1;s=1", "1;s=1"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(
                error.message().contains(named),
                "{wrong}: {}",
                error.message()
            );
        }
    }
}
