//! Whether a customer's quota lets an attempt through.
//!
//! Owns the two points at which [`crate::quota`] is asked, and the answer that turns an attempt
//! away: 429, the provider's code and `Retry-After`. Such an answer is never stored, and the key
//! is free again: the same key can succeed later.

use std::sync::Arc;

use hyper::StatusCode;

use crate::{
    arrival::Standing,
    core::Core,
    duration::Span,
    profile::Code,
    quota::{Limited, Permit},
    record::Attempt,
    reply::Reply,
};

impl Core {
    /// A request has arrived: it may be worked on, or its standing is that it may not. What cannot
    /// be accepted anyway and lookups are not limited.
    pub(crate) fn admit(&self, attempt: &Arc<Attempt>, standing: &mut Standing) -> Option<Permit> {
        let quotas = self.quotas.as_ref()?;
        if matches!(standing, Standing::Wrong(_) | Standing::Lookup(_)) {
            return None;
        }
        match quotas.admit(attempt.reading().customer, attempt.at()) {
            Ok(permit) => Some(permit),
            Err(limited) => {
                *standing = Standing::Wrong(self.over_quota(limited));
                None
            }
        }
    }

    /// A message is about to be accepted: the answer where it may not be.
    pub(crate) fn limit(&self, attempt: &Attempt) -> Option<Reply> {
        let quotas = self.quotas.as_ref()?;
        let now = self.clock.now();
        quotas
            .take(
                attempt.reading().customer,
                attempt.request.said().sender,
                now,
                self.clock.unix(now),
                self.life.in_queue(self.validity(attempt)),
            )
            .err()
            .map(|limited| self.over_quota(limited))
    }

    /// After a restart: what was accepted before it counts as if the provider had never been away.
    pub(crate) fn recount(&self) {
        let Some(quotas) = &self.quotas else { return };
        for delivery in self.records.deliveries() {
            let by = &delivery.by;
            quotas.took(
                by.reading().customer,
                by.request.said().sender,
                delivery.at(),
                self.clock.unix(delivery.at()),
                self.life.in_queue(self.validity(by)),
            );
        }
    }

    fn over_quota(&self, limited: Limited) -> Reply {
        let by = limited.by;
        let code = Code(by.code().to_string());
        self.profile
            .errors
            .other(StatusCode::TOO_MANY_REQUESTS, Some(code), by.message())
            .retry_after(Some(Span(limited.wait)))
    }
}
