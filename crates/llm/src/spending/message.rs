//! Errors for exceeded budgets. They name the budget, its usage and the time of its reset.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::budget::{
    Account, AccountUsage, Amount, BudgetLimit, BudgetUnit, RunBudget, RunBudgetExceeded,
};
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_core::store::StoreError;

/// Error for an exceeded daily budget.
pub(super) fn over_day(
    account: Option<&Account>,
    unit: BudgetUnit,
    used: AccountUsage,
    most: Amount,
    left: Duration,
) -> ModelError {
    let name = account.map_or("", |account| &*account.name);
    let limit = account.map(|account| account.limit).unwrap_or_default();
    let (whose, title) = match name.split_once(':') {
        Some(("key", key)) => (format!("of key {key}"), format!("server.token.{key}.day")),
        Some((kind, name)) => (format!("of {kind} {name}"), "budget.day".to_owned()),
        None => ("of all keys".to_owned(), "budget.day".to_owned()),
    };
    let setting = format!("{title}_{}", suffix(unit));
    let begun = format!("the daily budget {whose} ({setting})");
    let can_wait = most_of(limit, unit).is_none_or(|limit| pick(most, unit) <= limit);
    let when = if can_wait {
        let (hours, minutes) = (left.as_secs() / 3600, left.as_secs() % 3600 / 60);
        format!("it resets at 00:00 UTC, in {hours} h {minutes} min")
    } else {
        "the call exceeds the budget of a whole day".to_owned()
    };
    let message = format!("{begun} {}; {when}", state(limit, unit, used, most));
    ModelError {
        retry_after: can_wait.then_some(left),
        ..ModelError::new(ModelErrorKind::Budget, message)
    }
}

/// Error for an exceeded budget of the run.
pub(super) fn over_run(over: &RunBudgetExceeded, most: Amount) -> ModelError {
    if over.unit == BudgetUnit::Seconds {
        return out_of_time(&over.run);
    }
    let title = &over.run.title;
    let setting = format!("{title}.run_{}", suffix(over.unit));
    let state = state(over.run.limit, over.unit, over.used, most);
    let message = format!("the budget of this run ({setting}) {state}");
    ModelError::new(ModelErrorKind::Budget, message)
}

/// Error for an exceeded time limit of the run.
pub(super) fn out_of_time(run: &Arc<RunBudget>) -> ModelError {
    let title = &run.title;
    let time = run.time.unwrap_or_default();
    let message = format!("the run has exceeded its time limit ({title}.run_s): {time:?}");
    ModelError::new(ModelErrorKind::Budget, message)
}

/// Error for a model with an unknown price.
pub(super) fn unpriced(model: &str) -> ModelError {
    let message = format!(
        "a money budget limits this call, and the price of {model} is unknown: use a model with a known price, or set budget.unpriced_usd to the price of a million of its tokens"
    );
    ModelError::new(ModelErrorKind::Unpriced, message)
}

/// Error for an unavailable budget store.
pub(super) fn away(error: &StoreError) -> ModelError {
    let message = format!("cannot check the budget for this call: {error}");
    ModelError {
        retry_after: Some(Duration::from_secs(1)),
        ..ModelError::new(ModelErrorKind::BudgetAway, message)
    }
}

fn state(limit: BudgetLimit, unit: BudgetUnit, used: AccountUsage, most: Amount) -> String {
    let show = |amount: Amount| match unit {
        BudgetUnit::Usd => format!("{} USD", usd(amount.nano_usd)),
        _ => format!("{} tokens", amount.tokens),
    };
    let whole = Amount {
        tokens: limit.tokens.unwrap_or_default(),
        nano_usd: limit.nano_usd.unwrap_or_default(),
    };
    let (spent, held) = (used.spent, used.held);
    let left = whole.saturating_sub(spent).saturating_sub(held);
    format!(
        "has {} left of {}, and this call may cost {}: {} spent, {} reserved by running calls",
        show(left),
        show(whole),
        show(most),
        show(spent),
        show(held)
    )
}

fn pick(amount: Amount, unit: BudgetUnit) -> u64 {
    match unit {
        BudgetUnit::Usd => amount.nano_usd,
        _ => amount.tokens,
    }
}

fn most_of(limit: BudgetLimit, unit: BudgetUnit) -> Option<u64> {
    match unit {
        BudgetUnit::Usd => limit.nano_usd,
        _ => limit.tokens,
    }
}

fn suffix(unit: BudgetUnit) -> &'static str {
    match unit {
        BudgetUnit::Tokens => "tokens",
        BudgetUnit::Usd => "usd",
        BudgetUnit::Seconds => "s",
    }
}

/// Formats dollars with at least two decimal places and without trailing zeros.
fn usd(nano: u64) -> String {
    let text = format!("{}.{:09}", nano / 1_000_000_000, nano % 1_000_000_000);
    let short = text.trim_end_matches('0');
    let places = short.len() - short.find('.').unwrap_or_default() - 1;
    let zeros = 2usize.saturating_sub(places);
    format!("{short}{}", "0".repeat(zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_which_budget_what_is_left_and_when_it_is_free() {
        let account = Account {
            name: "key:ci".into(),
            limit: BudgetLimit {
                tokens: None,
                nano_usd: Some(1_000_000_000),
            },
        };
        let amount = |nano_usd| Amount {
            tokens: 1,
            nano_usd,
        };
        let used = AccountUsage {
            spent: amount(900_000_000),
            held: amount(50_000_000),
        };
        let left = Duration::from_secs(3 * 3600 + 125);
        let error = over_day(
            Some(&account),
            BudgetUnit::Usd,
            used,
            amount(60_000_001),
            left,
        );
        assert_eq!(
            error.message,
            "the daily budget of key ci (server.token.ci.day_usd) has 0.05 USD \
             left of 1.00 USD, and this call may cost 0.060000001 USD: 0.90 USD spent, 0.05 USD \
             reserved by running calls; it resets at 00:00 UTC, in 3 h 2 min"
        );
        assert_eq!(error.retry_after, Some(left));
        // The amount exceeds the limit of a whole day, so waiting does not help.
        let most = amount(1_000_000_001);
        let error = over_day(Some(&account), BudgetUnit::Usd, used, most, left);
        assert_eq!(error.retry_after, None, "{}", error.message);
    }
}
