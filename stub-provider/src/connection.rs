//! One connection, from its acceptance to its end.
//!
//! Owns the service that hyper calls, the slow-client limit, and saying how the connection and
//! the attempt on it ended. Hang-ups are watched here and not by hyper: a client that sends its
//! request together with a FIN has still asked.

use std::{future::poll_fn, sync::Arc, task::Poll};

use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use crate::{
    accept::out_of_service,
    admin,
    arrival::{Asked, Standing},
    batch,
    carry::{Carry, Outcome},
    core::Core,
    era::Era,
    event::{End, EventKind},
    profile::lookup::Routed,
    quota::Permit,
    record::{Arrival, Attempt},
    reply::Reply,
    request::{self, Unread},
    sent::Sent,
    store::Refused,
    tally::UnreadWhy,
    wire::{LastWords, Line, Wire},
};

/// The connection ends without HTTP; why stands on the line.
#[derive(Debug, thiserror::Error)]
#[error("the connection ends here")]
pub(crate) struct Stop;

/// Ends whatever is open on a line, however its task ends.
struct Closing {
    line: Arc<Line>,
    era: Arc<Era>,
    end: Option<End>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let line = &self.line;
        self.era.leave(line.id);
        let forced = self.end.or_else(|| line.gone());
        line.finish(forced.unwrap_or_else(|| self.era.end()));
        let end = match forced {
            // A FIN after the last answer is how a connection ends in good order.
            None => End::Answered,
            Some(End::ClientClosed) if self.end.is_none() && line.requests() > 0 => End::Answered,
            Some(end) => end,
        };
        line.core.tally.open_connections.one_less();
        let connection = line.id;
        line.core
            .observers
            .emit(|| EventKind::ConnectionClosed { connection, end });
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve(line: Arc<Line>, wire: Wire, era: Arc<Era>) {
    let core = line.core.clone();
    core.tally.connections.one_more();
    core.tally.open_connections.one_more();
    core.observers.emit(|| EventKind::ConnectionOpened {
        connection: line.id,
        peer: line.peer,
    });
    let mut closing = Closing {
        line: line.clone(),
        era: era.clone(),
        end: None,
    };
    match speak(&line, wire, &era).await {
        Spoken::Over => {}
        Spoken::Failed(error) => {
            if let Some(words) = line.last_words() {
                closing.end = Some(last(&line, words).await);
            } else if line.unread() > 0 {
                let (why, reason) = reason(&error);
                unread(&line, why, &reason);
            }
        }
        Spoken::TooSlow => {
            unread(&line, UnreadWhy::Timeout, "it took too long");
            let refusal = Reply::problem(
                StatusCode::REQUEST_TIMEOUT,
                None,
                "the request took too long to arrive",
            )
            .with(header::CONNECTION, "close");
            let mut bytes = refusal.head(refusal.body.len(), &core.clock);
            bytes.extend_from_slice(&refusal.body);
            let words = LastWords {
                bytes,
                reset: false,
                end: End::Closed,
            };
            closing.end = Some(last(&line, words).await);
        }
        Spoken::EraOver => {
            if era.crashed().is_some() {
                line.reset();
            }
            closing.end = Some(era.end());
        }
    }
}

/// What hyper takes where it is told nothing: then its table of headers is on the stack, and is not
/// filled anew for each request.
const HYPER_HEADERS: usize = 100;

enum Spoken {
    Over,
    Failed(hyper::Error),
    TooSlow,
    EraOver,
}

async fn speak(line: &Arc<Line>, wire: Wire, era: &Arc<Era>) -> Spoken {
    let core = &line.core;
    let limits = core.limits;
    let service = service_fn(|request| respond(line.clone(), era.clone(), request));
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .header_read_timeout(None)
        .max_buf_size(limits.head_bytes.max(8192));
    if limits.headers != HYPER_HEADERS {
        builder.max_headers(limits.headers);
    }
    let connection = builder.serve_connection(TokioIo::new(wire), service);
    tokio::pin!(connection);
    let mut entered = false;
    let mut draining = false;
    poll_fn(|cx| {
        if !entered {
            entered = true;
            era.enter(line.clone(), cx.waker().clone());
        }
        if era.is_over() {
            return Poll::Ready(Spoken::EraOver);
        }
        if line.is_slow(limits.read_timeout) {
            return Poll::Ready(Spoken::TooSlow);
        }
        if !draining && era.is_draining() {
            draining = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(cx).map(|result| match result {
            Ok(()) => Spoken::Over,
            Err(error) => Spoken::Failed(error),
        })
    })
    .await
}

fn unread(line: &Line, why: UnreadWhy, words: &str) {
    line.core.tally.unread(why);
    let reason = format!("{} bytes of a request came: {words}", line.unread());
    tracing::debug!(connection = line.id, %reason, "a request was not read whole");
    line.core.observers.emit(|| EventKind::Unread {
        connection: line.id,
        reason,
    });
}

fn reason(error: &hyper::Error) -> (UnreadWhy, String) {
    if error.is_incomplete_message() {
        (UnreadWhy::Disconnect, "the client broke off".into())
    } else if error.is_parse_too_large() {
        (UnreadWhy::TooLarge, "its head is too large".into())
    } else if error.is_parse() {
        (UnreadWhy::Malformed, "it is not HTTP/1.1".into())
    } else {
        (UnreadWhy::Disconnect, error.to_string())
    }
}

/// Says the last words on a line and ends it; how it ended.
async fn last(line: &Line, words: LastWords) -> End {
    if let Err(error) = line.send(&words.bytes).await {
        tracing::debug!(connection = line.id, %error, "the client left during the last words");
        return line.gone().unwrap_or(End::ClientReset);
    }
    if words.reset {
        line.reset();
    } else {
        line.close();
    }
    line.finish(words.end);
    words.end
}

pub(crate) type Answered = Result<Response<admin::AnyBody>, Stop>;

async fn respond(line: Arc<Line>, era: Arc<Era>, request: Request<Incoming>) -> Answered {
    let core = line.core.clone();
    let asked = match route(&core, &request) {
        Route::Ask(asked) => asked,
        Route::Own => {
            line.next_request();
            return Ok(Box::pin(admin::answer(&core, &line, request)).await);
        }
        Route::Refuse(reply) => {
            line.next_request();
            return Ok(whole(&line, reply, false));
        }
    };
    let (parts, body) = request.into_parts();
    let body = match request::read(body, core.limits.body_bytes).await {
        Ok(body) => body,
        Err(Unread::TooLarge) => {
            unread(&line, UnreadWhy::TooLarge, "its body is too large");
            line.next_request();
            return Ok(whole(&line, too_large(core.limits.body_bytes), false));
        }
        Err(Unread::Broken(error)) => {
            tracing::debug!(connection = line.id, %error, "a body broke off");
            return Err(Stop);
        }
    };
    let came = Arrival {
        connection: line.id,
        nth_on_connection: line.next_request(),
        at: core.clock.now(),
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        body,
    };
    if matches!(asked, Asked::Submit) {
        let size = batch::size(&core.profile, &came.body);
        if size > 1 {
            return Box::pin(batch::carried(line, era, came, size)).await;
        }
    }
    let (mut attempt, mut standing) = core.arrive(&came, asked);
    if core.store.is_shared() {
        match Box::pin(core.share(attempt, &standing)).await {
            Ok(shared) => attempt = shared,
            Err(Refused) => return Ok(whole(&line, out_of_service(), false)),
        }
    }
    let permit = core.admit(&attempt, &mut standing);
    line.carry(attempt.clone());

    // The short way: nothing is held or faulted, and the key is free or answered.
    if !core.eventful()
        && let Some(decision) = core.decide(&attempt, &mut standing, None, None)
    {
        if let Some(delivery) = &decision.delivery {
            core.report(delivery).await;
        }
        let reply = core.whole(&attempt, decision.reply);
        return Ok(answer(&line, &attempt, reply, decision.replayed));
    }

    // In a box of its own: hyper moves this future for each request, and the short way is short.
    Box::pin(carried(line, era, attempt, standing, permit)).await
}

/// The answer to a body that has more than `limit` bytes.
pub(crate) fn too_large(limit: usize) -> Reply {
    Reply::problem(
        StatusCode::PAYLOAD_TOO_LARGE,
        None,
        &format!("a body can have {limit} bytes"),
    )
    .with(header::CONNECTION, "close")
}

/// The long way, through holds and faults.
async fn carried(
    line: Arc<Line>,
    era: Arc<Era>,
    attempt: Arc<Attempt>,
    standing: Standing,
    permit: Option<Permit>,
) -> Answered {
    let core = line.core.clone();
    let outcome = set_off(&core, &era, &attempt, (standing, permit), false);
    tokio::select! {
        biased;
        outcome = outcome => match outcome {
            Ok(outcome) => conclude(&line, &attempt, outcome).await,
            // The provider's era is over; the connection is about to hear of it.
            Err(_) => std::future::pending().await,
        },
        end = line.hang_up() => {
            line.finish(end);
            Err(Stop)
        }
    }
}

/// Sends an attempt on its long way; what it comes to.
pub(crate) fn set_off(
    core: &Arc<Core>,
    era: &Arc<Era>,
    attempt: &Arc<Attempt>,
    (standing, permit): (Standing, Option<Permit>),
    part: bool,
) -> oneshot::Receiver<Outcome> {
    let carry = Carry::new(core.clone(), era.clone(), attempt.clone(), standing, part);
    let (done, outcome) = oneshot::channel();
    let era = era.clone();
    core.tasks.spawn(core.work.track_future(async move {
        let outcome = era.over().run_until_cancelled(carry.run()).await;
        // Given back before the answer leaves.
        drop(permit);
        if let Some(outcome) = outcome {
            // Nobody listens any more where the client has hung up: the work is done all the same.
            let _ = done.send(outcome);
        }
    }));
    outcome
}

pub(crate) async fn conclude(line: &Arc<Line>, attempt: &Attempt, outcome: Outcome) -> Answered {
    match outcome {
        Outcome::Answer { reply, replayed } => Ok(answer(line, attempt, reply, replayed)),
        Outcome::Break { words, seen } => {
            if let Some(answer) = seen {
                attempt.answering(answer.status);
                line.core.tally.answering(attempt, answer.status);
                line.core.observers.emit(|| EventKind::Answering {
                    attempt: attempt.id,
                    answer,
                });
            }
            line.say_last(words);
            Err(Stop)
        }
        Outcome::Hang => {
            tokio::select! {
                end = line.hang_up() => line.finish(end),
                () = line.core.stopping.cancelled() => line.say_last(LastWords {
                    bytes: Vec::new(),
                    reset: false,
                    end: End::Shutdown,
                }),
            }
            Err(Stop)
        }
    }
}

fn answer(
    line: &Arc<Line>,
    attempt: &Attempt,
    reply: Arc<Reply>,
    replayed: bool,
) -> Response<admin::AnyBody> {
    answering(line, attempt, &reply, replayed);
    whole(line, reply, replayed)
}

/// An attempt is answered.
pub(crate) fn answering(line: &Arc<Line>, attempt: &Attempt, reply: &Reply, replayed: bool) {
    let core = &line.core;
    attempt.answering(reply.status.as_u16());
    core.tally.answering(attempt, reply.status.as_u16());
    core.observers.emit(|| {
        let mut seen = reply.seen();
        if replayed && let Some(name) = &core.profile.key.replay_header {
            Arc::make_mut(&mut seen)
                .headers
                .push((name.as_str().to_owned(), "true".to_owned()));
        }
        EventKind::Answering {
            attempt: attempt.id,
            answer: seen,
        }
    });
}

/// An answer as hyper sends it.
pub(crate) fn whole(
    line: &Arc<Line>,
    reply: impl Into<Arc<Reply>>,
    replayed: bool,
) -> Response<admin::AnyBody> {
    let reply = reply.into();
    let (status, headers) = (reply.status, reply.header_map());
    let body = Sent::new(reply, line);
    let mut response = Response::new(admin::AnyBody::Sent(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if replayed && let Some(name) = &line.core.profile.key.replay_header {
        response
            .headers_mut()
            .insert(name.clone(), HeaderValue::from_static("true"));
    }
    response
}

enum Route {
    Ask(Asked),
    Own,
    Refuse(Reply),
}

/// What a request is for, by method and path.
fn route(core: &Core, request: &Request<Incoming>) -> Route {
    let uri = request.uri();
    let query = uri.query().unwrap_or_default();
    let error = |status, message: &str| core.profile.errors.other(status, None, message);
    match core.profile.route(request.method(), uri.path(), query) {
        Routed::Submit => Route::Ask(Asked::Submit),
        Routed::ById(id) => Route::Ask(Asked::ById(id)),
        Routed::ByKey(key) => Route::Ask(Asked::ByKey(key)),
        Routed::To(number) => {
            Route::Ask(Asked::To(core.profile.number(number.into()).into_owned()))
        }
        Routed::WithoutField(how) => Route::Refuse(error(
            StatusCode::BAD_REQUEST,
            &format!("say what is asked for: GET {how}"),
        )),
        Routed::NotAllowed(allowed) => Route::Refuse(
            error(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("here is only {allowed}"),
            )
            .with(header::ALLOW, allowed),
        ),
        Routed::Elsewhere => Route::Own,
    }
}
