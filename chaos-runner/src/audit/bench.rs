//! [`Bench`]: where the provider is put to the test.
//!
//! Owns sending (one request, many at once, half a one, one that is cut) and the record of every
//! exchange. It judges nothing.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    Options,
    api::{Api, Draft},
    effects::Listing,
    exchange::{Answer, Exchange, Outcome, Sent},
    invent::Inventor,
    promise::Promise,
    target::Target,
    wire::{Wire, said},
};

/// Where the provider is put to the test.
pub(super) struct Bench {
    pub(super) options: Options,
    pub(super) promise: Promise,
    pub(super) api: Api,
    invent: Mutex<Inventor>,
    began: Instant,
    numbers: AtomicUsize,
    record: Mutex<Vec<Exchange>>,
}

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Half of the request went out.
    HalfSent,
    /// The request went out whole this long ago, or an answer came before that.
    Sent(Duration),
    /// A byte of the answer is there; it is not read.
    Answering,
}

/// An exchange that has begun.
struct Open {
    exchange: Exchange,
    bytes: Vec<u8>,
}

impl Bench {
    pub(super) fn new(options: Options, api: Api, promise: Promise) -> Self {
        Self {
            invent: Mutex::new(Inventor::new(options.seed)),
            options,
            promise,
            api,
            began: Instant::now(),
            numbers: AtomicUsize::new(1),
            record: Mutex::default(),
        }
    }

    pub(super) fn invent(&self) -> MutexGuard<'_, Inventor> {
        self.invent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message that was never sent, under a key that was never used.
    pub(super) fn draft(&self) -> Draft {
        let mut invent = self.invent();
        let to = self.options.to.clone();
        Draft {
            to: to.unwrap_or_else(|| invent.number()),
            text: invent.words(),
            from: self.options.from.clone(),
            key: Some(self.api.key(invent.draw())),
            customer: self.options.customer.clone(),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn send(&self, what: &str, sent: &Sent) -> Exchange {
        self.exchange(&self.options.target, what, sent).await
    }

    /// Sends a request to a page beside the API.
    pub(super) async fn ask(&self, target: &Target, what: &str, sent: &Sent) -> Exchange {
        self.exchange(target, what, sent).await
    }

    async fn exchange(&self, target: &Target, what: &str, sent: &Sent) -> Exchange {
        let mut open = self.open(target, what, sent);
        let within = self.options.timeout;
        let outcome = tokio::time::timeout(within, async {
            let mut wire = match Wire::connect(target).await {
                Ok(wire) => wire,
                Err(error) => return Outcome::Unsent(said(&error)),
            };
            if let Err(error) = wire.write(&open.bytes).await {
                return Outcome::Unknown(said(&error));
            }
            open.exchange.written = Some(self.began.elapsed());
            self.answer(&mut wire, &mut open.exchange).await
        })
        .await;
        let outcome = outcome.unwrap_or_else(|_| out_of_time(&open.exchange, within));
        self.close(open, outcome)
    }

    /// Sends the same request `count` times, so that all of them are with the provider at once:
    /// each is written up to its last byte, then the last bytes go out together.
    pub(super) async fn send_together(
        &self,
        what: &str,
        sent: &Sent,
        count: usize,
    ) -> Vec<Exchange> {
        let within = self.options.timeout;
        let mut ready = Vec::new();
        let mut waiting = JoinSet::new();
        for _ in 0..count {
            let open = self.open(&self.options.target, what, sent);
            let target = self.options.target.clone();
            waiting.spawn(async move {
                let wire = tokio::time::timeout(within, almost(&target, &open.bytes)).await;
                (open, wire)
            });
        }
        let mut over = Vec::new();
        while let Some(joined) = waiting.join_next().await {
            match joined {
                Ok((open, Ok(Ok(wire)))) => ready.push((open, wire)),
                Ok((open, Ok(Err(outcome)))) => over.push(self.close(open, outcome)),
                Ok((open, Err(_))) => {
                    let outcome = out_of_time(&open.exchange, within);
                    over.push(self.close(open, outcome));
                }
                Err(error) => tracing::warn!(%error, "a request of many was not made"),
            }
        }
        // One byte into an idle socket: nothing here waits, so they leave within microseconds.
        let mut sent_at = Vec::with_capacity(ready.len());
        for (open, wire) in &mut ready {
            let last = &open.bytes[open.bytes.len().saturating_sub(1)..];
            let wrote = wire.write(last).await;
            sent_at.push(wrote.map(|()| self.began.elapsed()));
        }
        let mut answers = JoinSet::new();
        for ((mut open, mut wire), wrote) in ready.into_iter().zip(sent_at) {
            match wrote {
                Ok(at) => open.exchange.written = Some(at),
                Err(error) => {
                    over.push(self.close(open, Outcome::Unknown(said(&error))));
                    continue;
                }
            }
            let began = self.began;
            answers.spawn(async move {
                let read = tokio::time::timeout(within, async {
                    let heard = wire.hear().await;
                    (heard.map(|()| began.elapsed()), wire.read().await)
                });
                let outcome = match read.await {
                    Ok((heard, read)) => {
                        open.exchange.heard = heard.ok();
                        read.map_or_else(Outcome::Unknown, Outcome::Answered)
                    }
                    Err(_) => out_of_time(&open.exchange, within),
                };
                (open, outcome, began.elapsed())
            });
        }
        while let Some(joined) = answers.join_next().await {
            match joined {
                Ok((mut open, outcome, ended)) => {
                    open.exchange.ended = ended;
                    over.push(self.close(open, outcome));
                }
                Err(error) => tracing::warn!(%error, "an answer of many was not read"),
            }
        }
        over.sort_by_key(|exchange| exchange.number);
        over
    }

    /// Sends a request, or half of it, and ends the connection with an RST.
    pub(super) async fn send_and_cut(&self, what: &str, sent: &Sent, cut: Cut) -> Exchange {
        let target = &self.options.target;
        let mut open = self.open(target, what, sent);
        let within = self.options.timeout;
        let outcome = tokio::time::timeout(within, async {
            let mut wire = match Wire::connect(target).await {
                Ok(wire) => wire,
                Err(error) => return Outcome::Unsent(said(&error)),
            };
            let head = open.bytes.len() - sent.body.len();
            let bytes = match cut {
                Cut::HalfSent => &open.bytes[..head + sent.body.len() / 2],
                Cut::Sent(_) | Cut::Answering => &open.bytes[..],
            };
            if let Err(error) = wire.write(bytes).await {
                return Outcome::Unknown(said(&error));
            }
            if cut != Cut::HalfSent {
                open.exchange.written = Some(self.began.elapsed());
            }
            let listened = match cut {
                Cut::HalfSent => None,
                Cut::Sent(wait) => tokio::time::timeout(wait, wire.hear()).await.ok(),
                Cut::Answering => Some(wire.hear().await),
            };
            let how = match (cut, &listened) {
                (Cut::HalfSent, _) => "reset after half of the request",
                (_, None) => "reset after the request, before any answer",
                (_, Some(Ok(()))) => "reset when the answer began, unread",
                (_, Some(Err(error))) => return Outcome::Unknown(said(error)),
            };
            let mut seen = None;
            if listened.is_some() {
                open.exchange.heard = Some(self.began.elapsed());
                let answer = wire.peek().await;
                seen = answer.map(|answer| self.read(answer, &open.bytes));
            }
            match wire.reset() {
                Ok(()) => Outcome::Cut(how.to_owned(), seen),
                Err(error) => Outcome::Unknown(format!("it could not be reset: {error}")),
            }
        })
        .await;
        let outcome = outcome.unwrap_or_else(|_| out_of_time(&open.exchange, within));
        self.close(open, outcome)
    }

    /// What the provider lists under the draft's key; `None`: the API has no such list.
    pub(super) async fn list(&self, draft: &Draft) -> Option<Listing> {
        let sent = self.api.compose_lookup(draft)?;
        let exchange = self.send("the provider's own list", &sent).await;
        let ids = exchange
            .answer()
            .and_then(|answer| self.api.listed(draft, answer));
        Some(Listing { exchange, ids })
    }

    /// Every exchange since the last call, in order.
    pub(super) fn take_record(&self) -> Vec<Exchange> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *record);
        taken.sort_by_key(|exchange| exchange.number);
        taken
    }

    fn open(&self, target: &Target, what: &str, sent: &Sent) -> Open {
        let now = self.began.elapsed();
        Open {
            bytes: bytes(target, sent),
            exchange: Exchange {
                number: self.numbers.fetch_add(1, Ordering::Relaxed),
                what: what.to_owned(),
                request: sent.clone(),
                began: now,
                written: None,
                heard: None,
                ended: Duration::ZERO,
                outcome: Outcome::Unsent(String::new()),
            },
        }
    }

    /// The answer with the message that it names. An id that stands in the request already was
    /// chosen by the client: it cannot tell two messages apart, and names none. A short one may
    /// stand there by chance.
    fn read(&self, answer: Answer, request: &[u8]) -> Answer {
        let mut answer = self.api.read(answer);
        answer.message = answer.message.filter(|id| {
            let id = id.as_bytes();
            id.len() < 8 || !request.windows(id.len()).any(|part| part == id)
        });
        answer
    }

    async fn answer(&self, wire: &mut Wire, exchange: &mut Exchange) -> Outcome {
        if let Err(error) = wire.hear().await {
            return Outcome::Unknown(said(&error));
        }
        exchange.heard = Some(self.began.elapsed());
        wire.read()
            .await
            .map_or_else(Outcome::Unknown, Outcome::Answered)
    }

    fn close(&self, mut open: Open, outcome: Outcome) -> Exchange {
        if open.exchange.ended.is_zero() {
            open.exchange.ended = self.began.elapsed();
        }
        open.exchange.outcome = match outcome {
            Outcome::Answered(answer) => Outcome::Answered(self.read(answer, &open.bytes)),
            other => other,
        };
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.push(open.exchange.clone());
        open.exchange
    }
}

async fn almost(target: &Target, bytes: &[u8]) -> Result<Wire, Outcome> {
    let mut wire = Wire::connect(target)
        .await
        .map_err(|error| Outcome::Unsent(said(&error)))?;
    let all_but_the_last = &bytes[..bytes.len().saturating_sub(1)];
    wire.write(all_but_the_last)
        .await
        .map_err(|error| Outcome::Unsent(format!("{} before its last byte", said(&error))))?;
    Ok(wire)
}

fn out_of_time(exchange: &Exchange, within: Duration) -> Outcome {
    let seconds = within.as_secs_f64();
    if exchange.written.is_none() {
        return Outcome::Unknown(format!("it could not be sent within {seconds} s"));
    }
    Outcome::Unknown(format!("none within {seconds} s"))
}

/// The request as it goes over the wire.
fn bytes(target: &Target, sent: &Sent) -> Vec<u8> {
    let mut head = format!(
        "{} {}{} HTTP/1.1\r\nhost: {}\r\nuser-agent: chaos-runner/{} (audit)\r\n",
        sent.method,
        target.prefix,
        sent.target,
        target.authority,
        env!("CARGO_PKG_VERSION"),
    );
    for (name, value) in &sent.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let length = sent.body.len().to_string();
    head.extend(["connection: close\r\ncontent-length: ", &length, "\r\n\r\n"]);
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&sent.body);
    bytes
}
