//! What is left of the budgets of whoever asks.

use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use quillet_core::ErrorCode;
use quillet_core::budget::{Account, AccountUsage, Amount, day_of};
use quillet_core::clock;
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use crate::auth::Caller;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::request_context::RequestContext;

/// Budgets of days.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BudgetList {
    /// Always `list`.
    object: &'static str,
    /// The day in UTC: `2026-11-26`.
    day: String,
    /// Seconds until the next one begins.
    resets_in_s: u64,
    /// That of everybody, then those of keys.
    data: Vec<BudgetResponse>,
}

/// The budget of a day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct BudgetResponse {
    /// `all`, or `key:NAME`.
    name: String,
    /// What a day brings; a unit that is not limited is not there.
    limit: BudgetAmount,
    /// What calls cost that are over.
    spent: BudgetAmount,
    /// What calls may cost that are under way.
    held: BudgetAmount,
    /// What is left; a unit that is not limited is not there.
    left: BudgetAmount,
}

/// An amount.
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

    /// The units that an account limits.
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
            left: BudgetAmount::limited(account, limit.less(used.spent).less(used.held)),
        }
    }
}

/// The budgets of the day that whoever asks draws from; with the right `admin`, those of all keys.
#[utoipa::path(get, path = "/budgets", tag = "operation", responses(
    (status = 200, body = BudgetList),
    (status = 503, body = ProblemDetails, description = "the books cannot be had"),
))]
pub(crate) async fn list_budgets(call: RequestContext) -> Result<Response, ApiError> {
    let mut accounts = Vec::new();
    let spending = call.app.spending.as_ref();
    if let Some(spending) = spending {
        accounts = spending.accounts();
        let name = &call.app.auth.known(call.client).0;
        let own = match call.client.caller() {
            Caller::Token(_) => format!("key:{name}"),
            Caller::Anyone => String::new(),
        };
        if !call.rights().are_all() {
            accounts.retain(|account| *account.name == *own || &*account.name == "all");
        }
    }
    let (mut seen, mut left) = (
        Vec::new(),
        quillet_core::budget::left_of_day(clock::millis()),
    );
    if let Some(spending) = spending.filter(|_| !accounts.is_empty()) {
        let used = spending.used(&accounts).await;
        (seen, left) = used.map_err(|error| {
            problem(ErrorCode::BudgetUnavailable, error.to_string())
                .retry_after(std::time::Duration::from_secs(1))
        })?;
    }
    let data = accounts.iter().zip(seen);
    let now = clock::millis() / 1000 + left.as_secs();
    json(&BudgetList {
        object: "list",
        // Of the day that ends then: whoever keeps the books says which it is.
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
