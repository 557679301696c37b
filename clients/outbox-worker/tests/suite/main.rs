//! The program, its database and a provider that misbehaves: every promise of the outbox
//! held against real processes. Nearly every test runs on `SQLite` and on `PostgreSQL`.

/// Names the tests of a file that run on either database.
macro_rules! on_both_databases {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::lab::Lab::sqlite()); })*
        }
        mod postgres {
            $(#[test] #[ignore = "needs PostgreSQL: make test-real"]
            fn $name() { super::$name(&crate::lab::Lab::postgres()); })*
        }
    };
}

mod claims;
mod front_door;
mod giving_up;
mod lab;
mod provider;
mod receipts;
mod sending;
mod workers;
