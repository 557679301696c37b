//! The provider's own pages, for the people who test against it.
//!
//! Owns the routes under `/admin`, `/metrics` and `/healthz`, and that only this machine may use
//! them. They read the records and turn faults on and off; they decide nothing about messages.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Frame, Incoming, SizeHint},
    header,
};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};

use crate::{
    connection::whole,
    core::Core,
    event::Event,
    openapi,
    reply::Reply,
    request,
    sent::{Piece, Sent},
    wire::Line,
};

mod control;
mod guard;
mod inbox;
mod metrics;
mod show;

/// The body of any answer.
pub(crate) enum AnyBody {
    /// Whole.
    Sent(Sent),
    /// One event after the other, as server-sent events.
    Events(Arc<Core>, UnboundedReceiver<Event>),
    /// What is written on the other side, as it comes.
    Live(Receiver<Bytes>),
}

impl Body for AnyBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        match self.get_mut() {
            Self::Sent(sent) => Pin::new(sent).poll_frame(cx),
            Self::Live(parts) => parts
                .poll_recv(cx)
                .map(|part| Some(Ok(Frame::data(Piece::Bytes(part?))))),
            Self::Events(core, events) => events.poll_recv(cx).map(|event| {
                let event = event?;
                let data = show::event(core, &event);
                let text = format!("id: {}\ndata: {data}\n\n", event.seq);
                Some(Ok(Frame::data(Piece::Bytes(text.into()))))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Sent(sent) => sent.is_end_stream(),
            Self::Events(..) | Self::Live(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Sent(sent) => sent.size_hint(),
            Self::Events(..) | Self::Live(_) => SizeHint::default(),
        }
    }
}

const ROUTES: &[(&str, &str)] = &[
    ("/", "GET"),
    ("/healthz", "GET"),
    ("/metrics", "GET"),
    ("/openapi.json", "GET"),
    ("/admin/delivered", "GET"),
    ("/admin/attempts", "GET"),
    ("/admin/messages", "GET"),
    ("/admin/message", "GET"),
    ("/admin/inbox", "GET"),
    ("/admin/events", "GET"),
    ("/admin/faults", "GET, POST, DELETE"),
    ("/admin/clock", "GET, POST"),
    ("/admin/store", "GET"),
    ("/admin/callback", "GET, POST, DELETE"),
    ("/admin/inbound", "POST"),
    ("/admin/reset", "POST"),
];

/// Answers a request that is not for the provider's API.
pub(crate) async fn answer(
    core: &Arc<Core>,
    line: &Arc<Line>,
    request: Request<Incoming>,
) -> Response<AnyBody> {
    if let Some(refusal) = refusal(line, &request) {
        return whole(line, refusal, false);
    }
    let stream = match (request.method(), request.uri().path()) {
        (&Method::GET, "/admin/events") => {
            AnyBody::Events(core.clone(), core.observers.subscribe())
        }
        (&Method::GET, "/admin/inbox") => AnyBody::Live(inbox::live(core, request.headers())),
        _ => return whole(line, reply(core, request).await, false),
    };
    let mut response = Response::new(stream);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("text/event-stream"),
    );
    response
}

/// Why a request may not be answered, whatever it asks for.
fn refusal(line: &Line, request: &Request<Incoming>) -> Option<Reply> {
    let path = request.uri().path();
    if !path.starts_with("/admin") {
        return None;
    }
    if !line.peer.ip().is_loopback() {
        let why = "/admin is open to this machine only";
        return Some(Reply::problem(StatusCode::FORBIDDEN, None, why));
    }
    guard::refusal(request.method(), request.headers())
}

async fn reply(core: &Arc<Core>, request: Request<Incoming>) -> Reply {
    let path = request.uri().path().to_owned();
    let page = path != "/" || inbox::is_browser(request.headers());
    if page && inbox::is_file(&path) && request.method() == Method::GET {
        return inbox::file(&path);
    }
    let Some((_, methods)) = ROUTES.iter().find(|(route, _)| *route == path) else {
        return nothing_here(core, &path);
    };
    if !methods.split(", ").any(|m| request.method() == m) {
        return Reply::problem(
            StatusCode::METHOD_NOT_ALLOWED,
            None,
            &format!("{path} takes {methods}"),
        )
        .with(header::ALLOW, methods);
    }
    let method = request.method().clone();
    let query = request.uri().query().unwrap_or_default().to_owned();
    match (method, path.as_str()) {
        (Method::GET, "/") => Reply::text(StatusCode::OK, welcome(core)),
        (Method::GET, "/healthz") => Reply::json(StatusCode::OK, "{\"status\":\"ok\"}"),
        (Method::GET, "/metrics") => metrics::reply(core).await,
        (Method::GET, "/openapi.json") => show::json(&openapi::document(core)),
        (Method::GET, "/admin/delivered") => show::or_nothing(show::delivered(core).await),
        (Method::GET, "/admin/attempts") => show::or_nothing(show::attempts(core).await),
        (Method::GET, "/admin/messages") => show::messages(core, &query).await,
        (Method::GET, "/admin/message") => inbox::message(core, &query).await,
        (Method::GET, "/admin/faults") => show::json(&show::faults(core)),
        (Method::GET, "/admin/clock") => control::clock(core).await,
        (Method::GET, "/admin/store") => show::json(&core.store.shown()),
        (Method::GET, "/admin/callback") => control::callback(core),
        (Method::DELETE, "/admin/callback") => control::set_callback(core, None),
        (Method::DELETE, _) => control::remove_faults(core, &query),
        (Method::POST, "/admin/reset") => control::reset(core).await,
        (_, path) => match request::read(request.into_body(), core.limits.body_bytes).await {
            Ok(body) => control::post(core, path, &body).await,
            Err(error) => bad(&format!("the body was not read whole: {error:?}")),
        },
    }
}

fn bad(message: &str) -> Reply {
    Reply::problem(StatusCode::BAD_REQUEST, None, message)
}

fn routes(core: &Core) -> Vec<String> {
    let mut all = vec![format!("POST {}", core.profile.submit_path())];
    all.extend(core.profile.lookups());
    all.extend(
        ROUTES
            .iter()
            .map(|(route, methods)| format!("{methods} {route}")),
    );
    all
}

fn nothing_here(core: &Core, path: &str) -> Reply {
    tracing::warn!(path, "a request for a path that does not exist");
    let message = format!(
        "nothing is at {path}; there are: {}",
        routes(core).join(" · ")
    );
    Reply::problem(StatusCode::NOT_FOUND, None, &message)
}

fn welcome(core: &Core) -> String {
    let profile = &core.profile;
    let list = routes(core).join("\n  ");
    format!(
        "An SMS provider to test against. It speaks `{}`: {}.\n\n  {list}\n",
        profile.name(),
        profile.title(),
    )
}
