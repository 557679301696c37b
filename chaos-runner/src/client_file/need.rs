//! Whether a client has what a scenario needs.
//!
//! Owns the answer and its reason, which stands in the report beside a skipped scenario.

use super::{Capability, ClientFile, Placeholder, Submit};
use crate::plan::Need;

impl ClientFile {
    /// Whether the client has what a scenario needs.
    ///
    /// # Errors
    ///
    /// Why it has not, for the report.
    pub fn has(&self, need: Need) -> Result<(), String> {
        let takes = |placeholder: Placeholder, capability: Capability| {
            let name = placeholder.as_str();
            self.shown(
                capability,
                self.submit_placeholders().contains(&placeholder),
                &format!("the client does not take {{{name}}} in [submit]"),
            )
        };
        match need {
            Need::Key => {
                if self.profile.has_key() {
                    Ok(())
                } else {
                    Err(format!(
                        "the provider's API has no idempotency key (profile {})",
                        self.profile.name()
                    ))
                }
            }
            Need::Callback => self
                .callback
                .as_ref()
                .map(|_| ())
                .ok_or_else(|| "the client takes no receipts (no [callback])".into()),
            Need::Customers => takes(Placeholder::Customer, Capability::Customers),
            Need::Workers => self
                .worker
                .as_ref()
                .map(|_| ())
                .ok_or_else(|| "the client has no worker (no [worker])".into()),
            Need::Failover => self.shown(
                Capability::Failover,
                false,
                "the client knows no second provider (capabilities = [\"failover\"])",
            ),
            Need::Lookup => self.shown(
                Capability::Lookup,
                false,
                "the client does not ask the provider (capabilities = [\"lookup\"])",
            ),
            // Without a worker the submission is all there is: run again, it is another one.
            Need::Restart => self.worker.as_ref().map(|_| ()).ok_or_else(|| {
                "a client without [worker] cannot be started again after a kill".into()
            }),
            Need::CallerKey => takes(Placeholder::Key, Capability::CallerKey),
            Need::Expiry => takes(Placeholder::ExpiresAt, Capability::Expiry),
            Need::Database => self
                .database
                .as_ref()
                .map(|_| ())
                .ok_or_else(|| "the client's database is not named (no [database])".into()),
            Need::FrontDoor => {
                if matches!(self.submit, Submit::Stdin(_)) {
                    Err("a client that reads all messages at once has no front door".into())
                } else {
                    takes(Placeholder::Intent, Capability::FrontDoor)
                }
            }
        }
    }

    fn shown(&self, capability: Capability, seen: bool, otherwise: &str) -> Result<(), String> {
        if seen || self.capabilities.contains(&capability) {
            Ok(())
        } else {
            Err(otherwise.to_owned())
        }
    }
}
