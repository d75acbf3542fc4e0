//! Budget usage in an SQLite file, which several processes on one machine can share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::budget::{
    Account, AccountUsage, Amount, Budgets, Reservation, ReserveResult, day_of, exceeded_unit,
    left_of_day,
};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::OnceCell;

use crate::sqlite::{Database, SchemaModule};

static PART: SchemaModule = SchemaModule {
    name: "budgets",
    steps: &["
        CREATE TABLE budgets (
            account TEXT PRIMARY KEY,
            day INTEGER NOT NULL,
            tokens INTEGER NOT NULL,
            nano_usd INTEGER NOT NULL) STRICT;
        CREATE TABLE budget_holds (
            id TEXT NOT NULL,
            account TEXT NOT NULL,
            day INTEGER NOT NULL,
            until INTEGER NOT NULL,
            tokens INTEGER NOT NULL,
            nano_usd INTEGER NOT NULL,
            PRIMARY KEY (id, account)) STRICT, WITHOUT ROWID;
        CREATE INDEX budget_holds_account ON budget_holds (account);"],
};

/// Budget usage in an SQLite file.
#[derive(Debug)]
pub struct SqliteBudgets {
    path: PathBuf,
    /// Opened by the first call that a budget limits.
    database: OnceCell<Database>,
    clock: fn() -> u64,
}

impl SqliteBudgets {
    /// Creates a store in a file that is opened or created on first use.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        SqliteBudgets::at(path, clock::millis)
    }

    /// Creates a store that uses the given clock. The clock returns milliseconds since 1970.
    #[must_use]
    pub fn at(path: &Path, clock: fn() -> u64) -> Self {
        SqliteBudgets {
            path: path.to_owned(),
            database: OnceCell::new(),
            clock,
        }
    }

    async fn change<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let open = || Database::open(&self.path, &PART);
        let database = self.database.get_or_try_init(open).await?;
        database.change(work).await
    }
}

/// Deletes expired reservations and those of past days.
fn forget(file: &Connection, now: u64) -> rusqlite::Result<()> {
    // Reservations of another day do not count, in whichever direction the clock was changed.
    let old = "DELETE FROM budget_holds WHERE until <= ?1 OR day <> ?2";
    file.prepare(old)?.execute(params![now, day_of(now)])?;
    Ok(())
}

fn used(file: &Connection, account: &str, day: u64) -> rusqlite::Result<AccountUsage> {
    let amount = |row: &rusqlite::Row<'_>| {
        Ok(Amount {
            tokens: row.get(0)?,
            nano_usd: row.get(1)?,
        })
    };
    let spent = "SELECT tokens, nano_usd FROM budgets WHERE account = ?1 AND day = ?2";
    let mut spent = file.prepare(spent)?;
    let spent = spent.query_row(params![account, day], amount).optional()?;
    let held = "SELECT coalesce(sum(tokens), 0), coalesce(sum(nano_usd), 0)
        FROM budget_holds WHERE account = ?1 AND day = ?2";
    let mut held = file.prepare(held)?;
    Ok(AccountUsage {
        spent: spent.unwrap_or_default(),
        held: held.query_row(params![account, day], amount)?,
    })
}

fn reserve(
    file: &Connection,
    id: &str,
    accounts: &[Account],
    amount: Amount,
    now: u64,
    until: u64,
) -> rusqlite::Result<ReserveResult> {
    forget(file, now)?;
    let day = day_of(now);
    let mut seen = Vec::with_capacity(accounts.len());
    for (place, account) in accounts.iter().enumerate() {
        let used = used(file, &account.name, day)?;
        if let Some(unit) = exceeded_unit(account, used, amount) {
            return Ok(ReserveResult::Over {
                account: place,
                unit,
                used,
                left: left_of_day(now),
            });
        }
        seen.push(used);
    }
    // The statement replaces instead of inserting, so reserving twice with the same id counts once.
    let hold = "INSERT OR REPLACE INTO budget_holds VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut hold = file.prepare(hold)?;
    for account in accounts {
        hold.execute(params![
            id,
            &*account.name,
            day,
            until,
            amount.tokens,
            amount.nano_usd
        ])?;
    }
    let hold = Reservation {
        id: id.into(),
        day,
        accounts: accounts
            .iter()
            .map(|account| account.name.clone())
            .collect(),
        amount,
    };
    Ok(ReserveResult::Held { hold, seen })
}

fn settle(file: &Connection, hold: &Reservation, spent: Amount, now: u64) -> rusqlite::Result<()> {
    forget(file, now)?;
    if hold.day != day_of(now) {
        return Ok(());
    }
    file.prepare("DELETE FROM budget_holds WHERE id = ?1")?
        .execute([&*hold.id])?;
    let add = "INSERT INTO budgets VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (account) DO UPDATE SET
            tokens = excluded.tokens + iif(day = excluded.day, tokens, 0),
            nano_usd = excluded.nano_usd + iif(day = excluded.day, nano_usd, 0),
            day = excluded.day";
    let mut add = file.prepare(add)?;
    for account in &*hold.accounts {
        add.execute(params![&**account, hold.day, spent.tokens, spent.nano_usd])?;
    }
    Ok(())
}

impl Budgets for SqliteBudgets {
    fn describe(&self) -> String {
        format!("sqlite {}", self.path.display())
    }

    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>> {
        let (id, accounts, clock) = (id.to_owned(), accounts.to_vec(), self.clock);
        let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2);
        // The clock is read inside the transaction, so two transactions around midnight see its
        // times in order.
        let work = move |file: &Connection| {
            let now = clock();
            let until = now.saturating_add(time.unsigned_abs());
            reserve(file, &id, &accounts, amount, now, until)
        };
        self.change(work).boxed()
    }

    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (hold, clock) = (hold.clone(), self.clock);
        let work = move |file: &Connection| settle(file, &hold, spent, clock());
        self.change(work).boxed()
    }

    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>> {
        let (accounts, clock) = (accounts.to_vec(), self.clock);
        let work = move |file: &Connection| {
            let now = clock();
            forget(file, now)?;
            let used = accounts.iter().map(|name| used(file, name, day_of(now)));
            let used: rusqlite::Result<Vec<AccountUsage>> = used.collect();
            Ok((used?, left_of_day(now)))
        };
        self.change(work).boxed()
    }
}
