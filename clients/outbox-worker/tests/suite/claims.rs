//! Claims, as the worker makes them: exclusive, leased and fenced.

use std::collections::HashSet;
use std::time::Duration;

use outbox_worker::clock;
use outbox_worker::config::DatabaseConfig;
use outbox_worker::message::Message;
use outbox_worker::policy::Next;
use outbox_worker::store::{AttemptEnd, Facts, Store};

use crate::lab::Lab;

on_both_databases!(
    a_claimed_row_is_nobody_elses,
    a_worker_that_slept_through_its_lease_changes_nothing,
    an_attempt_cut_off_by_the_lease_may_have_been_accepted,
    a_claim_without_an_attempt_goes_back_unharmed,
    an_attempt_that_was_not_sent_is_none,
    the_sweeper_leaves_alone_what_is_worked_on_right_here,
);

fn open(lab: &Lab, work: impl AsyncFnOnce(Store)) {
    lab.enqueue("login-1", &[]);
    let config = DatabaseConfig {
        url: lab.url().to_owned(),
        busy_timeout: Duration::from_secs(5),
        synchronous: "off".to_owned(),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::connect(&config, 2).await.expect("it opens");
        work(store.clone()).await;
        store.close().await;
    });
}

/// Claims what is due, under a lease that has ended already.
async fn claim(store: &Store, owner: &str) -> Vec<Message> {
    let now = clock::now();
    store
        .claim(owner, now, now - 1, 10)
        .await
        .expect("the database answers")
}

fn unknown() -> Facts {
    Facts {
        touched: true,
        ambiguous: true,
        provider: 1,
        lookups: 0,
    }
}

fn accepted(attempt_no: i64) -> AttemptEnd {
    AttemptEnd {
        attempt_no,
        state: "ACCEPTED",
        http_status: Some(201),
        detail: "201".to_owned(),
    }
}

fn a_claimed_row_is_nobody_elses(lab: &Lab) {
    open(lab, async |store| {
        assert_eq!(claim(&store, "first").await.len(), 1);
        assert_eq!(claim(&store, "second").await.len(), 0);
    });
    assert_eq!(lab.query("select lease_owner from sms_outbox"), ["first"]);
}

fn a_worker_that_slept_through_its_lease_changes_nothing(lab: &Lab) {
    open(lab, async |store| {
        let mut slept = claim(&store, "first").await.remove(0);
        let now = clock::now();
        assert!(store.begin_attempt(&slept, now).await.expect("it answers"));
        slept.attempts += 1;
        assert_eq!(
            store.sweep(now, &HashSet::new()).await.expect("it answers"),
            ["login-1"]
        );
        let taken = claim(&store, "second").await.remove(0);
        assert!(taken.fence > slept.fence);

        let settled = store
            .settle(&slept, Some(&accepted(1)), unknown(), Next::Sent, None, now)
            .await;
        assert!(!settled.expect("it answers"));
        assert!(!store.begin_attempt(&slept, now).await.expect("it answers"));
        store.release(&slept, true, now).await.expect("it answers");
    });
    assert_eq!(lab.status("login-1"), ("in_progress".to_owned(), 1));
    assert_eq!(lab.query("select lease_owner from sms_outbox"), ["second"]);
    // What it saw of its own attempt is a fact all the same.
    assert_eq!(lab.attempt_states(), ["ACCEPTED"]);
}

fn an_attempt_cut_off_by_the_lease_may_have_been_accepted(lab: &Lab) {
    open(lab, async |store| {
        let cut = claim(&store, "first").await.remove(0);
        let now = clock::now();
        assert!(store.begin_attempt(&cut, now).await.expect("it answers"));
        store.sweep(now, &HashSet::new()).await.expect("it answers");
        let next = claim(&store, "second").await.remove(0);
        assert!(next.ambiguous && next.touched);
        assert_eq!((next.attempts, next.id), (1, cut.id));
    });
    assert_eq!(lab.attempt_states(), ["SUBMISSION_UNKNOWN"]);
}

fn a_claim_without_an_attempt_goes_back_unharmed(lab: &Lab) {
    open(lab, async |store| {
        claim(&store, "first").await;
        store
            .sweep(clock::now(), &HashSet::new())
            .await
            .expect("it answers");
        let next = claim(&store, "second").await.remove(0);
        assert!(!next.ambiguous && !next.touched);
        assert_eq!((next.attempts, next.first_attempt_at), (0, None));
    });
}

fn an_attempt_that_was_not_sent_is_none(lab: &Lab) {
    open(lab, async |store| {
        let mut message = claim(&store, "first").await.remove(0);
        let now = clock::now();
        assert!(
            store
                .begin_attempt(&message, now)
                .await
                .expect("it answers")
        );
        message.attempts += 1;
        store
            .release(&message, true, now)
            .await
            .expect("it answers");
        let next = claim(&store, "second").await.remove(0);
        assert_eq!((next.attempts, next.first_attempt_at), (0, None));
    });
    assert!(lab.attempt_states().is_empty());
}

fn the_sweeper_leaves_alone_what_is_worked_on_right_here(lab: &Lab) {
    open(lab, async |store| {
        let late = claim(&store, "first").await.remove(0);
        let live = HashSet::from([late.id.clone()]);
        let now = clock::now();
        let swept = store.sweep(now, &live).await.expect("it answers");
        assert!(swept.is_empty());
        let settled = store.settle(&late, None, unknown(), Next::Sent, None, now);
        assert!(settled.await.expect("it answers"));
    });
    assert_eq!(lab.status("login-1").0, "sent");
}
