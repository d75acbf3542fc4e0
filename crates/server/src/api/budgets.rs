//! The route that shows the caller's budgets.

use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use quillet_core::ErrorCode;
use quillet_core::budget::{Account, AccountUsage, Amount, day_of};
use quillet_core::clock;
use serde::Serialize;
use utoipa::ToSchema;

use super::json_body;
use crate::caller::Caller;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::request_context::RequestContext;

/// The daily budgets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BudgetList {
    /// Always `list`.
    object: &'static str,
    /// The day in UTC: `2026-11-26`.
    day: String,
    /// Seconds until the next day begins.
    resets_in_s: u64,
    /// The budget of all keys together, then those of single keys.
    data: Vec<BudgetResponse>,
}

/// The budget of a day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct BudgetResponse {
    /// `all`, or `key:NAME`.
    name: String,
    /// The daily limit; units without a limit are absent.
    limit: BudgetAmount,
    /// The cost of finished calls.
    spent: BudgetAmount,
    /// The amount reserved for running calls.
    held: BudgetAmount,
    /// The remaining amount; units without a limit are absent.
    left: BudgetAmount,
}

/// A daily amount in dollars and tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Sum)]
pub(crate) struct BudgetAmount {
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
    /// Tokens of requests and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
}

impl BudgetAmount {
    fn of(amount: Amount) -> Self {
        BudgetAmount {
            usd: Some(amount.usd()),
            tokens: Some(amount.tokens),
        }
    }

    /// Returns the amount in the units that an account limits.
    fn limited(account: &Account, amount: Amount) -> Self {
        BudgetAmount {
            usd: account.limit.nano_usd.map(|_| amount.usd()),
            tokens: account.limit.tokens.map(|_| amount.tokens),
        }
    }
}

impl BudgetResponse {
    fn new(account: &Account, used: AccountUsage) -> Self {
        let limit = Amount {
            tokens: account.limit.tokens.unwrap_or_default(),
            nano_usd: account.limit.nano_usd.unwrap_or_default(),
        };
        BudgetResponse {
            name: account.name.to_string(),
            limit: BudgetAmount::limited(account, limit),
            spent: BudgetAmount::of(used.spent),
            held: BudgetAmount::of(used.held),
            left: BudgetAmount::limited(
                account,
                limit.saturating_sub(used.spent).saturating_sub(used.held),
            ),
        }
    }
}

/// Returns the caller's daily budgets; with the permission `admin`, those of all keys
#[utoipa::path(get, path = "/budgets", tag = "operation", responses(
    (status = 200, body = BudgetList),
    (status = 503, body = ProblemDetails, description = "The store of budgets is unavailable"),
))]
pub(crate) async fn list_budgets(call: RequestContext) -> Result<Response, ApiError> {
    let mut accounts = Vec::new();
    let spending = call.app.spending.as_ref();
    if let Some(spending) = spending {
        accounts = spending.accounts();
        let name = &call.app.auth.owner(call.client).0;
        let own = match call.client.caller() {
            Caller::Token(_) => format!("key:{name}"),
            Caller::Anyone => String::new(),
        };
        // The shared budget `all` is visible to everyone, other keys' budgets only to unrestricted
        // tokens.
        if !call.rights().are_all() {
            accounts.retain(|account| *account.name == *own || &*account.name == "all");
        }
    }
    // Without budgets the response still has the day and its remaining time.
    let (mut seen, mut left) = (
        Vec::new(),
        quillet_core::budget::left_of_day(clock::millis()),
    );
    if let Some(spending) = spending.filter(|_| !accounts.is_empty()) {
        let used = spending.used(&accounts).await;
        (seen, left) = used.map_err(|error| {
            problem(ErrorCode::BudgetUnavailable, error.to_string())
                .with_retry_after(std::time::Duration::from_secs(1))
        })?;
    }
    let data = accounts.iter().zip(seen);
    let now = clock::millis() / 1000 + left.as_secs();
    json_body(&BudgetList {
        object: "list",
        // The store with the budgets determines the time until the reset, so the day is computed
        // from its end.
        day: date(day_of(now.saturating_sub(1) * 1000)),
        resets_in_s: left.as_secs(),
        data: data
            .map(|(account, used)| BudgetResponse::new(account, used))
            .collect(),
    })
}

fn date(day: u64) -> String {
    let seconds = i64::try_from(day).unwrap_or_default() * 86_400;
    let begin = Timestamp::from_second(seconds).unwrap_or_default();
    begin.to_zoned(TimeZone::UTC).date().to_string()
}
