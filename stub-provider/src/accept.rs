//! The moment of decision: a message is accepted, an answer is replayed, or neither.
//!
//! Owns what an attempt is answered when nothing goes wrong. Everything here happens at once,
//! without waiting; whether an attempt comes to this point is decided elsewhere. Where a store
//! must keep what was decided, the decision carries what is left to do once it has.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hyper::StatusCode;

use crate::{
    arrival::{Asked, Standing, Ticket},
    core::Core,
    event::EventKind,
    fault::MessageStatus,
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId},
    message::MessageId,
    profile::{InFlightRule, Replays},
    record::{Attempt, Delivery, Reached, status_word},
    reply::Reply,
    template::Filling,
};

/// What an attempt is answered.
pub(crate) struct Decision {
    pub(crate) reply: Arc<Reply>,
    /// Whether it is a stored answer.
    pub(crate) replayed: bool,
    /// Whether a message stands behind it, so that the stage after acceptance was reached. A
    /// lookup that was answered counts too.
    pub(crate) accepted: bool,
    /// The message, where this very attempt had it accepted.
    pub(crate) delivery: Option<Delivery>,
    /// What a store must keep before the answer may leave.
    pub(crate) conclusion: Option<Box<Conclusion>>,
}

impl Decision {
    pub(crate) fn plain(reply: impl Into<Arc<Reply>>) -> Self {
        Self {
            reply: reply.into(),
            replayed: false,
            accepted: false,
            delivery: None,
            conclusion: None,
        }
    }
}

/// What an attempt was decided, before anybody else knows it.
pub(crate) struct Conclusion {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) ticket: Option<Ticket>,
    /// What replays return; `None`: nothing is replayed.
    pub(crate) answer: Option<Arc<Reply>>,
    pub(crate) delivery: Option<Delivery>,
    /// The provider's clock.
    pub(crate) at: Duration,
}

impl Conclusion {
    /// The key that it settles.
    pub(crate) fn key(&self) -> Option<&KeyId> {
        self.ticket.as_ref().map(|ticket| &ticket.id)
    }

    /// What the key is bound to.
    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.ticket.as_ref().map(|ticket| &ticket.fingerprint)
    }

    /// Lets everybody know: whoever waits for the key goes on.
    pub(crate) fn publish(mut self, core: &Core) {
        if let Some(delivery) = &self.delivery {
            core.delivered(delivery);
        }
        if let Some(ticket) = &mut self.ticket {
            let message = self.delivery.as_ref().map(|delivery| delivery.id);
            ticket.settle(self.answer.take(), message, self.at);
        }
    }
}

/// The provider cannot keep its promises now; nothing was accepted.
pub(crate) fn out_of_service() -> Reply {
    Reply::problem(
        StatusCode::SERVICE_UNAVAILABLE,
        None,
        "what is accepted cannot be kept at the moment; nothing was accepted",
    )
}

impl Core {
    /// Decides an attempt. `None`: its key is being worked on, ask again. `instead` is what is
    /// stored in place of the true answer.
    pub(crate) fn decide(
        &self,
        attempt: &Arc<Attempt>,
        standing: &mut Standing,
        instead: Option<Reply>,
    ) -> Option<Decision> {
        Some(match standing {
            Standing::Wrong(reply) => Decision::plain(reply.clone()),
            Standing::Lookup(asked) => {
                let mut decision = Decision::plain(self.look_up(attempt, asked));
                decision.accepted = true;
                decision
            }
            Standing::Keyless => self.accept(attempt, None, instead),
            Standing::Keyed(ticket, claim) => match claim {
                Claim::Won => self.accept(attempt, Some(ticket), instead),
                Claim::InFlight if self.profile.key.in_flight == InFlightRule::Wait => {
                    return None;
                }
                Claim::InFlight => Decision::plain(in_flight()),
                Claim::Refused(refusal) => {
                    Decision::plain(in_flight().retry_after(refusal.retry_after))
                }
                Claim::Mismatch => Decision::plain(Reply::problem(
                    self.profile.key.mismatch,
                    None,
                    "this idempotency key was used with another request",
                )),
                Claim::Stored { .. } if self.profile.key.replays == Replays::Nothing => {
                    Decision::plain(Reply::problem(
                        StatusCode::CONFLICT,
                        None,
                        "this idempotency key was used already",
                    ))
                }
                Claim::Stored {
                    answer,
                    of,
                    message,
                } => {
                    attempt.reach(Reached::Replayed);
                    self.counters.replays.fetch_add(1, Ordering::Relaxed);
                    let of = *of;
                    self.observers.emit(|| EventKind::Replayed {
                        attempt: attempt.id,
                        of,
                    });
                    Decision {
                        replayed: true,
                        accepted: message.is_some(),
                        ..Decision::plain(answer.clone())
                    }
                }
            },
        })
    }

    fn accept(
        &self,
        attempt: &Arc<Attempt>,
        ticket: Option<&mut Ticket>,
        instead: Option<Reply>,
    ) -> Decision {
        let reading = &attempt.reading;
        let refused = self
            .profile
            .refusal(reading.to.as_deref(), attempt.sender.as_deref());
        let mut decision = if let Some(refused) = refused {
            Decision::plain(Reply::problem(
                StatusCode::BAD_REQUEST,
                Some(refused.code),
                &refused.message,
            ))
        } else {
            let delivery = self.records.deliver(attempt, self.clock.now());
            attempt.reach(Reached::Accepted);
            let name = self.naming.name(delivery.id);
            let reply = self.success(reading.to.as_deref().unwrap_or_default(), &name);
            Decision {
                accepted: true,
                delivery: Some(delivery),
                ..Decision::plain(reply)
            }
        };
        if let Some(reply) = instead {
            decision.reply = Arc::new(reply);
        }
        let success = decision.reply.status.is_success();
        let keep = self.profile.key.replays != Replays::Successes || success;
        if self.store.keeps() {
            decision.conclusion = Some(Box::new(Conclusion {
                attempt: attempt.clone(),
                ticket: ticket.map(Ticket::hand_over),
                answer: keep.then(|| decision.reply.clone()),
                delivery: decision.delivery.clone(),
                at: self.clock.now(),
            }));
            return decision;
        }
        if let Some(delivery) = &decision.delivery {
            self.delivered(delivery);
        }
        if let Some(ticket) = ticket {
            ticket.settle(
                keep.then(|| decision.reply.clone()),
                decision.delivery.as_ref().map(|delivery| delivery.id),
                self.clock.now(),
            );
        }
        decision
    }

    /// Says that a message is delivered. Before its key is settled: whoever waits for the key must
    /// find this said already.
    fn delivered(&self, delivery: &Delivery) {
        self.observers.emit(|| EventKind::Delivered {
            attempt: delivery.by.id,
            message: self.naming.name(delivery.id),
        });
    }

    /// The answer that accepts a message.
    pub(crate) fn success(&self, to: &str, name: &str) -> Reply {
        let body = self.profile.answer.fill(&Filling {
            id: name,
            to,
            status: status_word(MessageStatus::Queued),
        });
        Reply::json(self.profile.success, body)
    }

    /// An answer that promises a message that never was.
    pub(crate) fn false_promise(&self, attempt: &Attempt) -> Reply {
        // Counted from the far end, where no true message ever gets its number.
        let name = self.naming.name(MessageId(u64::MAX - attempt.id));
        self.success(attempt.reading.to.as_deref().unwrap_or_default(), &name)
    }

    fn look_up(&self, attempt: &Attempt, asked: &Asked) -> Reply {
        let customer = &attempt.reading.customer;
        match asked {
            Asked::ByKey(key) => {
                let Some(known) = self.ledger.look(&KeyId::new(customer, key)) else {
                    return Reply::problem(
                        StatusCode::NOT_FOUND,
                        None,
                        "no message is known under this idempotency key",
                    );
                };
                let messages: Vec<_> = known
                    .messages
                    .iter()
                    .filter_map(|id| self.records.delivery(*id))
                    .map(|delivery| self.shown(&delivery))
                    .collect();
                let mut body = serde_json::json!({ "messages": messages });
                if known.in_flight {
                    body["status"] = "in_progress".into();
                }
                Reply::value(StatusCode::OK, &body)
            }
            Asked::ById(id) => self
                .naming
                .parse(id)
                .and_then(|id| self.records.delivery(id))
                .filter(|delivery| delivery.by.reading.customer == *customer)
                .map_or_else(
                    || Reply::problem(StatusCode::NOT_FOUND, None, "no message has this id"),
                    |delivery| Reply::value(StatusCode::OK, &self.shown(&delivery)),
                ),
            Asked::Submit => Reply::problem(StatusCode::NOT_FOUND, None, "nothing was asked for"),
        }
    }

    /// A message as clients see it.
    fn shown(&self, delivery: &Delivery) -> serde_json::Value {
        let reading = &delivery.by.reading;
        serde_json::json!({
            "id": self.naming.name(delivery.id),
            "to": reading.to,
            "status": status_word(self.status(delivery)),
            "idempotency_key": reading.key,
        })
    }
}

pub(crate) fn in_flight() -> Reply {
    Reply::problem(
        StatusCode::CONFLICT,
        None,
        "a request with this idempotency key is being worked on",
    )
}
