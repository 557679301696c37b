//! An attempt on its way through holds and faults.
//!
//! Owns the order of what happens to one attempt: held, faulted, accepted, held, faulted,
//! answered. It runs apart from the connection, so the work goes on when the client hangs up.

use std::{future::poll_fn, sync::Arc, task::Poll};

use hyper::{
    StatusCode,
    header::{self, HeaderName},
};

use crate::{
    accept::{Conclusion, Decision, out_of_service},
    arrival::{Standing, Ticket},
    core::Core,
    era::Era,
    event::{Answer, End, EventKind},
    fault::{Ending, Garble, Garbling, Part, ProviderFault, RateLimit, Respond, Stage, Truncate},
    ledger::{Claim, Refusal},
    message::{push_hex, scramble},
    profile::Code,
    record::Attempt,
    reply::Reply,
    store::{Owned, Owning, Refused, Store, Unkept},
    wire::LastWords,
};

/// How the connection goes on with an attempt.
pub(crate) enum Outcome {
    /// With this answer.
    Answer { reply: Arc<Reply>, replayed: bool },
    /// Not through HTTP any more.
    Break {
        words: LastWords,
        seen: Option<Arc<Answer>>,
    },
    /// With nothing.
    Hang,
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        Self::Answer {
            reply: decision.reply,
            replayed: decision.replayed,
        }
    }
}

impl Outcome {
    fn answer(reply: Reply) -> Self {
        Self::Answer {
            reply: Arc::new(reply),
            replayed: false,
        }
    }

    fn end(reset: bool) -> Self {
        Self::Break {
            words: LastWords {
                bytes: Vec::new(),
                reset,
                end: if reset { End::Reset } else { End::Closed },
            },
            seen: None,
        }
    }
}

/// One attempt under way.
pub(crate) struct Carry {
    pub(crate) core: Arc<Core>,
    pub(crate) era: Arc<Era>,
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) standing: Standing,
    /// Whether nothing about it needs to be kept any more before it is answered.
    on_record: bool,
    /// Whether it is one of several of its request: its answer is a part then.
    part: bool,
    /// The key, where it was taken among all replicas.
    owned: Option<Owned>,
}

impl Carry {
    pub(crate) fn new(
        core: Arc<Core>,
        era: Arc<Era>,
        attempt: Arc<Attempt>,
        standing: Standing,
        part: bool,
    ) -> Self {
        Self {
            on_record: !core.store.keeps(),
            owned: None,
            core,
            era,
            attempt,
            standing,
            part,
        }
    }

    /// Carries the attempt to its outcome. Where a store keeps what happens, nothing leaves that
    /// is not kept.
    pub(crate) async fn run(mut self) -> Outcome {
        let outcome = if self.core.store.failed() {
            Err(self.turned_away())
        } else {
            self.through().await
        };
        let outcome = outcome.unwrap_or_else(|outcome| outcome);
        self.core.rules.over(&self.attempt);
        let silent = matches!(outcome, Outcome::Hang);
        if !self.on_record && !silent && self.core.store.noted(&self.attempt).await.is_err() {
            return Outcome::end(false);
        }
        outcome
    }

    /// Nothing can be kept any more, so nothing is accepted.
    fn turned_away(&mut self) -> Outcome {
        self.release();
        self.on_record = true;
        Outcome::answer(out_of_service())
    }

    /// An error is an outcome too: it cuts the way short.
    async fn through(&mut self) -> Result<Outcome, Outcome> {
        if self.core.disturbed() {
            // The key is being worked on from now on, whatever comes before the decision.
            self.own().await?;
        }
        self.held(Stage::BeforeAccept).await;
        for (rule, fault) in self.core.rules.at(Stage::BeforeAccept, &self.attempt) {
            self.fired(rule);
            if let Some(outcome) = self.before(fault).await? {
                return Ok(outcome);
            }
        }
        let mut decision = self.decide().await?;
        if !self.part {
            decision.reply = self.core.whole(&self.attempt, decision.reply);
        }
        if let Some(delivery) = &decision.delivery {
            self.core.report(delivery).await;
        }
        if !decision.accepted {
            return Ok(decision.into());
        }
        self.held(Stage::AfterAccept).await;
        for (rule, fault) in self.core.rules.at(Stage::AfterAccept, &self.attempt) {
            self.fired(rule);
            if let Some(outcome) = self.after(fault, &decision.reply).await? {
                return Ok(outcome);
            }
        }
        Ok(decision.into())
    }

    async fn held(&self, stage: Stage) {
        let Some(released) = self.core.holds.stop(&self.attempt, stage) else {
            return;
        };
        let attempt = self.attempt.id;
        self.core
            .observers
            .emit(|| EventKind::Held { attempt, stage });
        // An error means that the hold itself is gone: then nothing holds the attempt any more.
        let _ = released.await;
    }

    fn fired(&self, fault: u32) {
        let attempt = self.attempt.id;
        self.core.acted(fault);
        self.core.tally.faults.one_more();
        self.core
            .observers
            .emit(|| EventKind::FaultFired { attempt, fault });
    }

    fn ticket(&mut self) -> Option<&mut Ticket> {
        match &mut self.standing {
            Standing::Keyed(ticket, _) => Some(ticket),
            _ => None,
        }
    }

    fn release(&mut self) {
        self.owned = None;
        if let Some(ticket) = self.ticket() {
            ticket.release();
        }
    }

    /// A fault before acceptance; `None`: the attempt goes on.
    async fn before(&mut self, fault: ProviderFault) -> Result<Option<Outcome>, Outcome> {
        match fault {
            ProviderFault::Delay(delay) => {
                self.core.clock.sleep(delay.lasts.0).await;
                return Ok(None);
            }
            ProviderFault::InFlight(work) => {
                if let Standing::Keyed(ticket, _) = &self.standing {
                    let ledger = &self.core.ledger;
                    let refusal = Refusal {
                        retry_after: work.retry_after,
                    };
                    ledger.refuse(&ticket.id, Some(refusal));
                    self.core.clock.sleep(work.lasts.0).await;
                    ledger.refuse(&ticket.id, None);
                } else {
                    self.core.clock.sleep(work.lasts.0).await;
                }
                return Ok(None);
            }
            ProviderFault::Respond(ref respond) if respond.stored => {
                let reply = Arc::new(self.respond(respond));
                let conclusion = Conclusion {
                    attempt: self.attempt.clone(),
                    ticket: self.ticket().map(Ticket::hand_over),
                    answer: Some(reply),
                    delivery: None,
                    at: self.core.clock.now(),
                };
                self.conclude(Box::new(conclusion)).await?;
            }
            _ => {}
        }
        self.release();
        let promise = || self.core.false_promise(&self.attempt);
        Ok(Some(match fault {
            ProviderFault::Redirect(redirect) => {
                let status =
                    StatusCode::from_u16(redirect.status).unwrap_or(StatusCode::TEMPORARY_REDIRECT);
                let target = format!("/redirected{}", self.attempt.request.path());
                Outcome::answer(
                    self.error(status, None, "ask again at the Location")
                        .with(header::LOCATION, &target),
                )
            }
            ProviderFault::RateLimit(limit) => Outcome::answer(self.rate_limit(&limit)),
            fault => self.act(fault, promise).await,
        }))
    }

    /// A fault after acceptance; `None`: the attempt goes on.
    async fn after(
        &mut self,
        fault: ProviderFault,
        reply: &Arc<Reply>,
    ) -> Result<Option<Outcome>, Outcome> {
        match fault {
            ProviderFault::Delay(delay) => {
                self.core.clock.sleep(delay.lasts.0).await;
                Ok(None)
            }
            ProviderFault::Respond(ref respond) if respond.stored => {
                let reply = Arc::new(self.respond(respond));
                if let Standing::Keyed(ticket, _) = &self.standing {
                    self.core.ledger.restate(&ticket.id, reply.clone());
                    let kept = self.core.store.restated(&ticket.id, &reply).await;
                    // What is stored for the key is not known to be this one.
                    kept.map_err(|_| Outcome::end(false))?;
                }
                Ok(Some(Outcome::Answer {
                    reply,
                    replayed: false,
                }))
            }
            fault => Ok(Some(self.act(fault, || reply.clone()).await)),
        }
    }

    /// Keeps a decision. Where nobody knows whether it was kept, nobody is told anything.
    async fn conclude(&mut self, conclusion: Box<Conclusion>) -> Result<(), Outcome> {
        let core = &self.core;
        let owned = self.owned.take();
        let kept = core.store.conclude(core, conclusion, owned).await;
        self.on_record = true;
        kept.map_err(|unkept| match unkept {
            Unkept::Refused => self.turned_away(),
            Unkept::Unknown => Outcome::end(false),
        })
    }

    /// Takes the attempt's key among all replicas, where it has it in this one; or finds what
    /// became of it elsewhere.
    async fn own(&mut self) -> Result<(), Outcome> {
        let core = self.core.clone();
        let Store::Shared(shared) = &core.store else {
            return Ok(());
        };
        let key = match &self.standing {
            _ if self.owned.is_some() => return Ok(()),
            Standing::Keyed(ticket, _) if ticket.won => Some((&ticket.id, ticket.fingerprint)),
            Standing::Keyless => None,
            _ => return Ok(()),
        };
        let wait = core.profile.errors.in_flight.is_none();
        let owning = shared.own(key, wait, &core.clock, core.retention).await;
        match owning {
            Ok(Owning::Free(owned)) => self.owned = Some(owned),
            Ok(Owning::Taken(found)) => {
                if let Standing::Keyed(ticket, claim) = &mut self.standing {
                    *claim = found;
                    ticket.release();
                }
            }
            Err(Refused) => return Err(self.turned_away()),
        }
        Ok(())
    }

    /// Returns once the key is free, answered or refused in this process.
    async fn claimed(&mut self) {
        let core = &self.core;
        let Standing::Keyed(ticket, claim) = &mut self.standing else {
            return;
        };
        poll_fn(move |cx| {
            // What was found on arrival may have changed since: only an owner need not ask again.
            if !ticket.won {
                *claim = core.ledger.claim(
                    &ticket.id,
                    ticket.fingerprint,
                    ticket.attempt,
                    core.clock.now(),
                    cx.waker(),
                );
                ticket.won = matches!(claim, Claim::Won);
            }
            let waits = core.profile.errors.in_flight.is_none();
            match claim {
                Claim::InFlight if waits => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
    }

    /// The faults that end an attempt in the same way before and after acceptance. `answer` is
    /// what would have been said.
    async fn act(&self, fault: ProviderFault, answer: impl Fn() -> Arc<Reply>) -> Outcome {
        match fault {
            ProviderFault::Respond(respond) => Outcome::answer(self.respond(&respond)),
            ProviderFault::Reset(_) => Outcome::end(true),
            ProviderFault::Close(_) => Outcome::end(false),
            ProviderFault::Truncate(cut) => self.truncate(&cut, &answer()),
            ProviderFault::Garble(garble) => self.garble(&garble, &answer()),
            ProviderFault::Crash(crash) => {
                self.era.crash(crash);
                // The crash drops this very work at its next wait.
                std::future::pending().await
            }
            _ => Outcome::Hang,
        }
    }

    /// What the attempt is answered, once its key is free or answered and the decision is kept.
    async fn decide(&mut self) -> Result<Decision, Outcome> {
        let core = self.core.clone();
        if let (Store::Shared(shared), Standing::Lookup(asked)) = (&core.store, &self.standing) {
            let customer = self.attempt.reading().customer;
            return match shared.find(customer, asked, core.naming).await {
                Ok(found) => Ok(core.looked_up(asked, found)),
                Err(Refused) => Err(self.turned_away()),
            };
        }
        let instead = self.stored_instead();
        let mut decision = loop {
            self.claimed().await;
            // The store may have failed while this one waited for its key.
            if core.store.failed() {
                return Err(self.turned_away());
            }
            self.own().await?;
            let number = self.owned.as_ref().map(|owned| owned.number);
            let standing = &mut self.standing;
            if let Some(decision) = core.decide(&self.attempt, standing, instead.clone(), number) {
                break decision;
            }
        };
        if let Some(conclusion) = decision.conclusion.take() {
            self.conclude(conclusion).await?;
        }
        // Where nothing was decided, others may have the key.
        self.owned = None;
        Ok(decision)
    }

    /// The answer that a fault after acceptance stores in place of the true one. It must be in
    /// place before the key is settled: a request that waits for it gets this one.
    fn stored_instead(&self) -> Option<Reply> {
        let faults = self.core.rules.at(Stage::AfterAccept, &self.attempt);
        faults.into_iter().find_map(|(_, fault)| match fault {
            ProviderFault::Respond(respond) if respond.stored => Some(self.respond(&respond)),
            _ => None,
        })
    }

    /// An error in the provider's shape.
    fn error(&self, status: StatusCode, code: Option<u32>, message: &str) -> Reply {
        let code = code.map(|code| Code(code.to_string()));
        self.core.profile.errors.other(status, code, message)
    }

    fn respond(&self, respond: &Respond) -> Reply {
        let status =
            StatusCode::from_u16(respond.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = match &respond.body {
            Some(body) => Reply::written(status, self.core.profile.submit.answers, body.clone()),
            None => self.error(
                status,
                respond.code,
                status.canonical_reason().unwrap_or("an error"),
            ),
        };
        for (name, value) in &respond.headers {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                reply = reply.with_only(name, value);
            }
        }
        reply
            .retry_after(respond.retry_after)
            .retry_after_date(respond.retry_after_date, &self.core.clock)
    }

    fn rate_limit(&self, limit: &RateLimit) -> Reply {
        let reply = self
            .error(StatusCode::TOO_MANY_REQUESTS, None, "too many requests")
            .retry_after(limit.retry_after)
            .retry_after_date(limit.retry_after_date, &self.core.clock);
        match &limit.retry_after_raw {
            Some(raw) => reply.with(header::RETRY_AFTER, raw),
            None => reply,
        }
    }

    fn truncate(&self, cut: &Truncate, reply: &Reply) -> Outcome {
        let head = reply.head(reply.body.len(), &self.core.clock);
        let after = cut.after as usize;
        let bytes = match cut.part {
            Part::Head => head[..after.min(head.len())].to_vec(),
            Part::Body => {
                let mut bytes = head;
                bytes.extend_from_slice(&reply.body[..after.min(reply.body.len())]);
                bytes
            }
        };
        Outcome::Break {
            words: LastWords {
                bytes,
                reset: cut.ending == Ending::Reset,
                end: End::Truncated,
            },
            seen: Some(reply.seen()),
        }
    }

    fn garble(&self, garble: &Garble, reply: &Reply) -> Outcome {
        let (bytes, end) = match garble.how {
            Garbling::BadJson => {
                let mut half = reply.clone();
                // No proper prefix of a JSON object is JSON, nor one of an XML element XML.
                half.body = half.body[..half.body.len() / 2].into();
                return Outcome::answer(half);
            }
            Garbling::WrongContentLength => {
                let mut bytes = reply.head(reply.body.len() + 64, &self.core.clock);
                bytes.extend_from_slice(&reply.body);
                (bytes, End::Truncated)
            }
            Garbling::NotHttp => {
                let mut noise = String::from("~");
                for word in 0..4 {
                    let at = self.attempt.id.wrapping_mul(4).wrapping_add(word);
                    push_hex(&mut noise, scramble(self.core.seed ^ at));
                }
                noise.push_str("\r\n\r\n");
                (noise.into_bytes(), End::Closed)
            }
        };
        Outcome::Break {
            words: LastWords {
                bytes,
                reset: false,
                end,
            },
            seen: Some(reply.seen()),
        }
    }
}
