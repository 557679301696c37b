//! The moment of decision: a message is accepted, an answer is replayed, or neither.
//!
//! Owns what an attempt is answered when nothing goes wrong. Everything here happens at once,
//! without waiting; whether an attempt comes to this point is decided elsewhere. Where a store
//! must keep what was decided, the decision carries what is left to do once it has.

use std::{sync::Arc, time::Duration};

use hyper::StatusCode;

use crate::{
    arrival::{Asked, Standing, Ticket},
    core::Core,
    event::EventKind,
    fault::{MessageStatus, RequestKind},
    fingerprint::Fingerprint,
    kept::Said,
    ledger::{Claim, KeyId, Refusal},
    message::MessageId,
    profile::{
        Replays,
        errors::{About, Row},
        lookup::ListRules,
    },
    record::{Attempt, Delivery, Reached},
    reply::Reply,
    template::{Filling, Template},
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

    /// Lets everybody know: whoever waits for the key goes on. `again`: another replica had a
    /// message accepted under the key before.
    pub(crate) fn publish(mut self, core: &Core, mut again: bool) {
        if let Some(delivery) = &self.delivery {
            core.delivered(delivery);
        }
        if let Some(ticket) = &mut self.ticket {
            if core.store.is_shared() {
                // What is stored is the same for all replicas; here others only wait for it.
                ticket.release();
            } else {
                let message = self.delivery.as_ref().map(|delivery| delivery.id);
                again = ticket.settle(self.answer.take(), message, self.at);
            }
        }
        if let Some(delivery) = &self.delivery {
            core.count_delivery(delivery, again);
        }
    }
}

/// What a lookup finds.
#[derive(Default)]
pub(crate) struct Found {
    /// Whether an attempt is being worked on.
    pub(crate) in_flight: bool,
    /// In the order of acceptance.
    pub(crate) deliveries: Vec<Delivery>,
}

impl Found {
    /// The messages to a number, of the customer who asks.
    pub(crate) fn to(number: &str, mut deliveries: Vec<Delivery>, customer: &str) -> Self {
        deliveries.retain(|delivery| {
            let reading = delivery.by.reading();
            reading.customer == customer && reading.to == Some(number)
        });
        Self {
            in_flight: false,
            deliveries,
        }
    }

    /// A message that was asked for by its id, for the customer whose it is.
    pub(crate) fn one(delivery: Option<Delivery>, customer: &str) -> Self {
        let theirs = delivery.filter(|delivery| delivery.by.reading().customer == customer);
        Self {
            in_flight: false,
            deliveries: theirs.into_iter().collect(),
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
    /// stored in place of the true answer. `number` is the message's, where all replicas count
    /// together. Where keys are of recipients the decision is the part of an answer that one
    /// recipient gets.
    pub(crate) fn decide(
        &self,
        attempt: &Arc<Attempt>,
        standing: &mut Standing,
        instead: Option<Reply>,
        number: Option<MessageId>,
    ) -> Option<Decision> {
        Some(match standing {
            Standing::Wrong(reply) => Decision::plain(reply.clone()),
            Standing::Lookup(asked) => {
                self.looked_up(asked, self.find(attempt.reading().customer, asked))
            }
            Standing::Keyless => self.accept(attempt, None, instead, number),
            Standing::Keyed(ticket, claim) => match claim {
                Claim::Won => self.accept(attempt, Some(ticket), instead, number),
                Claim::InFlight => match &self.profile.errors.in_flight {
                    None => return None,
                    Some(row) => Decision::plain(self.in_flight(attempt, row)),
                },
                Claim::Refused(refusal) => Decision::plain(self.turned_away(attempt, *refusal)),
                Claim::Mismatch => {
                    self.tally.mismatches.one_more();
                    let message = "this idempotency key was used with another request";
                    Decision::plain(self.refuse(attempt, &self.profile.errors.mismatch, message))
                }
                Claim::Stored { .. } if self.profile.key.replays == Replays::Nothing => {
                    let message = "this idempotency key was used already";
                    Decision::plain(self.refuse(attempt, &self.profile.errors.used, message))
                }
                Claim::Stored {
                    answer,
                    of,
                    message,
                } => {
                    attempt.reach(Reached::Replayed);
                    self.tally.replays.one_more();
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
        number: Option<MessageId>,
    ) -> Decision {
        let (said, now) = (attempt.request.said(), self.clock.now());
        let refused = self
            .profile
            .refusal(said.to, said.sender)
            .or_else(|| self.opted_out(said));
        let mut decision = if let Some(refused) = refused {
            let row = self
                .profile
                .errors
                .refused
                .saying(&refused.code, &refused.message);
            Decision::plain(self.refuse(attempt, &row, &refused.message))
        } else if let Some(limited) = self.limit(attempt) {
            // Refused before acceptance: the key is free again, nothing is stored.
            ticket.into_iter().for_each(Ticket::release);
            return Decision::plain(limited);
        } else {
            let delivery = self.records.deliver(attempt, now, number);
            attempt.reach(Reached::Accepted);
            let name = self.naming.name(delivery.id);
            let reply = self.success(said, &name, delivery.at());
            Decision {
                accepted: true,
                delivery: Some(delivery),
                ..Decision::plain(reply)
            }
        };
        if let Some(reply) = instead {
            decision.reply = Arc::new(reply);
        }
        let keep = self
            .profile
            .key
            .keeps(decision.reply.status, decision.accepted);
        if self.store.keeps() {
            decision.conclusion = Some(Box::new(Conclusion {
                attempt: attempt.clone(),
                ticket: ticket.map(Ticket::hand_over),
                answer: keep.then(|| decision.reply.clone()),
                delivery: decision.delivery.clone(),
                at: now,
            }));
            return decision;
        }
        if let Some(delivery) = &decision.delivery {
            self.delivered(delivery);
        }
        let mut again = false;
        if let Some(ticket) = ticket {
            again = ticket.settle(
                keep.then(|| decision.reply.clone()),
                decision.delivery.as_ref().map(|delivery| delivery.id),
                now,
            );
        }
        if let Some(delivery) = &decision.delivery {
            self.count_delivery(delivery, again);
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

    /// Counts a delivery. `again`: one was made under its key before.
    fn count_delivery(&self, delivery: &Delivery, again: bool) {
        self.tally.accepted.one_more();
        self.duplicates
            .delivered(&delivery.by, again, delivery.at(), self.retention);
    }

    /// The answer that accepts a message.
    fn success(&self, said: Said<'_>, name: &str, at: Duration) -> Reply {
        let submit = &self.profile.submit;
        let body = self.written(
            &submit.answer,
            said,
            name,
            MessageStatus::Queued.as_str(),
            at,
        );
        Reply::written(submit.success, submit.answers, body)
    }

    /// A message as the provider writes it.
    fn written(
        &self,
        template: &Template,
        said: Said<'_>,
        name: &str,
        status: &str,
        at: Duration,
    ) -> String {
        let filling = Filling {
            id: Some(name),
            to: said.to,
            from: said.sender,
            text: said.text,
            status: Some(status),
            key: said.key,
            customer: Some(said.customer),
            ..Filling::default()
        };
        self.profile.message(template, filling, &self.clock, at)
    }

    /// An answer that promises a message that never was.
    pub(crate) fn false_promise(&self, attempt: &Attempt) -> Arc<Reply> {
        // Counted from the far end, where no true message ever gets its number.
        let name = self.naming.name(MessageId(u64::MAX - attempt.id));
        self.whole(
            attempt,
            Arc::new(self.success(attempt.request.said(), &name, attempt.at())),
        )
    }

    /// An attempt's message is not accepted.
    fn refuse(&self, attempt: &Attempt, row: &Row, message: &str) -> Reply {
        let reading = attempt.reading();
        let about = About {
            to: reading.to.map(|to| self.profile.written(to)),
            key: reading.key,
        };
        self.profile.errors.of_recipient(row, message, about)
    }

    fn in_flight(&self, attempt: &Attempt, row: &Row) -> Reply {
        let message = "a request with this idempotency key is being worked on";
        self.refuse(attempt, row, message)
    }

    /// A fault turns equal keys away, whatever the profile does with them.
    fn turned_away(&self, attempt: &Attempt, refusal: Refusal) -> Reply {
        let mut row = match &self.profile.errors.in_flight {
            Some(row) => row.clone(),
            None => Row::plain(StatusCode::CONFLICT),
        };
        row.retry_after = refusal.retry_after.or(row.retry_after);
        self.in_flight(attempt, &row)
    }

    /// An attempt's answer as it leaves: where keys are of recipients, what is said about one
    /// stands in a whole around it.
    pub(crate) fn whole(&self, attempt: &Attempt, reply: Arc<Reply>) -> Arc<Reply> {
        let about_one = self.profile.submit.list.is_some()
            && attempt.kind == RequestKind::Submit
            && reply.status == self.profile.submit.success;
        if about_one {
            self.around(&reply)
        } else {
            reply
        }
    }

    /// The whole answer around what is said about each recipient.
    pub(crate) fn around(&self, parts: &Reply) -> Arc<Reply> {
        let messages = String::from_utf8_lossy(&parts.body);
        let body = match &self.profile.submit.list {
            Some(list) => list.fill(&Filling {
                messages: Some(&messages),
                ..Filling::default()
            }),
            None => messages.into_owned(),
        };
        Arc::new(Reply::json(parts.status, body))
    }

    /// What a lookup finds here.
    fn find(&self, customer: &str, asked: &Asked) -> Found {
        match asked {
            Asked::ByKey(key) => {
                let known = self.ledger.look(&KeyId::new(customer, key));
                let known = known.unwrap_or_default();
                let deliveries = known.messages.iter();
                Found {
                    in_flight: known.in_flight,
                    deliveries: deliveries
                        .filter_map(|id| self.records.delivery(*id))
                        .collect(),
                }
            }
            Asked::To(number) => Found::to(number, self.records.deliveries(), customer),
            Asked::ById(id) => {
                let id = self.naming.parse(id);
                let delivery = id.and_then(|id| self.records.delivery(id));
                Found::one(delivery, customer)
            }
            Asked::Submit => Found::default(),
        }
    }

    /// What a lookup is answered. It counts as accepted.
    pub(crate) fn looked_up(&self, asked: &Asked, found: Found) -> Decision {
        let lookup = &self.profile.lookup;
        let nothing = |message: &str| {
            let rows = &self.profile.errors;
            rows.reply(&rows.not_found, message, About::default())
        };
        let unknown = !found.in_flight && found.deliveries.is_empty();
        let mut deliveries = found.deliveries.into_iter();
        let reply = match (asked, &lookup.by_key, &lookup.list) {
            (Asked::ByKey(_), Some(_), _) if unknown => {
                nothing("no message is known under this idempotency key")
            }
            (Asked::ByKey(_), Some(list), _) => self.listed(list, deliveries, found.in_flight),
            (Asked::To(_), _, Some(list)) => self.listed(list, deliveries, false),
            (Asked::ById(_), ..) => match deliveries.next() {
                Some(delivery) => Reply::written(
                    StatusCode::OK,
                    self.profile.submit.answers,
                    self.shown(&lookup.answer, &delivery),
                ),
                None => nothing("no message has this id"),
            },
            _ => nothing("nothing was asked for"),
        };
        Decision {
            accepted: true,
            ..Decision::plain(reply)
        }
    }

    fn listed(
        &self,
        list: &ListRules,
        found: impl Iterator<Item = Delivery>,
        in_progress: bool,
    ) -> Reply {
        let item = &self.profile.lookup.item;
        let messages: Vec<_> = found.map(|delivery| self.shown(item, &delivery)).collect();
        Reply::json(StatusCode::OK, list.fill(&messages, in_progress))
    }

    /// A message as clients see it.
    fn shown(&self, template: &Template, delivery: &Delivery) -> String {
        let name = self.naming.name(delivery.id);
        let status = self.status(delivery);
        let said = delivery.by.request.said();
        self.written(template, said, &name, status, delivery.at())
    }
}
