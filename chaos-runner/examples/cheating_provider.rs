//! A provider that breaks one promise on purpose, for the tests of `chaos-runner audit`.
//!
//! It speaks the API of the profile `v1` and, with `--cheat none`, keeps its promises. Each other
//! cheat is a defect that was seen in the wild:
//!
//! `cheating_provider --cheat racing --listen 127.0.0.1:9091`

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use clap::{Parser, ValueEnum};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, body::Incoming, header::HeaderValue,
    server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Which promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cheat {
    /// None.
    None,
    /// The well-known ten-line stub: a key is looked up, the message is sent, then the key is
    /// stored. What comes in between is sent again; whatever comes later under the key is taken
    /// for the same message.
    Racing,
    /// Errors of the server are stored, though only successes are promised to be.
    StoresErrors,
    /// Keys live in memory only.
    ForgetsOnRestart,
    /// Keys are not told apart by customer.
    Unscoped,
    /// Keys are cut at 32 characters, as a column that is too narrow does.
    TruncatesKeys,
    /// A stored answer is written anew: the same JSON in other bytes.
    ReplaysReformatted,
    /// A key stands for every payload.
    NoMismatch,
    /// A client that hangs up takes the stored answer with it; the message is out already.
    DoublesOnReset,
    /// Keys are forgotten after an hour, though a day is promised.
    ForgetsEarly,
    /// A message without a key gets one that all such messages share.
    SharesTheEmptyKey,
}

#[derive(Debug, Parser)]
struct Args {
    /// Which promise is broken.
    #[arg(long, value_enum, default_value_t = Cheat::None)]
    cheat: Cheat,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0", overrides_with = "listen")]
    listen: SocketAddr,
    /// Whether only successes are stored, or errors too.
    #[arg(long)]
    successes_only: bool,
    /// Where keys are kept on disk.
    #[arg(long)]
    state: Option<PathBuf>,
    /// Ask the provider that runs there to start anew, and wait until it is back.
    #[arg(long)]
    ask_restart: Option<SocketAddr>,
}

/// How long a message takes on its way out: long enough for others to come in between.
const WORK: Duration = Duration::from_millis(300);
/// The longest key.
const LONGEST: usize = 255;
const DAY: Duration = Duration::from_hours(24);
const HOUR: Duration = Duration::from_hours(1);

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Stored {
    request: String,
    status: u16,
    body: String,
    /// On the provider's clock.
    at: Duration,
}

/// What is known under a key.
enum Slot {
    /// It is being worked on; the sender goes when the work is over.
    Busy(String, watch::Receiver<()>),
    Done(Stored),
}

#[derive(Default)]
struct State {
    keys: HashMap<String, Slot>,
    /// Every message that went out: its id and the key it came with.
    messages: Vec<(String, String)>,
    /// What goes wrong with the next request under a key.
    faults: Vec<(u64, String, Wrong)>,
    next_fault: u64,
    advanced: Duration,
    log: Option<File>,
}

#[derive(Clone, Copy, Debug)]
enum Wrong {
    Fails,
    Takes(Duration),
}

struct Provider {
    args: Args,
    /// Where it listens in the end.
    addr: SocketAddr,
    began: Instant,
    /// Tells this process from the one before a restart.
    born: u128,
    state: Mutex<State>,
}

/// A key that is being worked on; dropped unsettled, it is free again.
struct Claim<'a> {
    provider: &'a Provider,
    key: Option<String>,
    _busy: watch::Sender<()>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.provider.state().keys.remove(&key);
        }
    }
}

type Answer = Response<Full<Bytes>>;

impl Provider {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cheats(&self, cheat: Cheat) -> bool {
        self.args.cheat == cheat
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, hyper::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let query = head.uri.query().unwrap_or_default();
        Ok(match (head.method, head.uri.path()) {
            (Method::POST, "/v1/messages") => self.submit(&head.headers, &body).await,
            (Method::GET, "/v1/messages") => self.list(&head.headers, query),
            (Method::POST, "/admin/clock") => self.advance(&body),
            (Method::POST, "/admin/faults") => self.fail_next(&body),
            (Method::DELETE, "/admin/faults") => {
                let id = query.strip_prefix("id=").and_then(|id| id.parse().ok());
                self.state().faults.retain(|(known, ..)| Some(*known) != id);
                plain(StatusCode::OK, "{}".into())
            }
            (Method::GET, "/admin/process") => plain(StatusCode::OK, self.born.to_string()),
            (Method::POST, "/admin/restart") => start_anew(self.addr),
            _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
        })
    }

    async fn submit(self: &Arc<Self>, headers: &HeaderMap, body: &[u8]) -> Answer {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bare = text("idempotency-key").unwrap_or_default();
        let bare = bare.trim().trim_matches('"');
        if bare.len() > LONGEST {
            return problem(StatusCode::BAD_REQUEST, "this key is too long");
        }
        let Ok(message) = serde_json::from_slice::<Value>(body) else {
            return problem(StatusCode::BAD_REQUEST, "this is not JSON");
        };
        if bare.is_empty() && !self.cheats(Cheat::SharesTheEmptyKey) {
            let (status, body) = self.work(&message, "").await;
            return plain(status, body);
        }
        let key = self.key(text("authorization").unwrap_or_default(), bare);
        let request = String::from_utf8_lossy(body).into_owned();
        if self.cheats(Cheat::Racing) {
            return self.race(&key, &message).await;
        }
        let claim = loop {
            let mut wait = match self.claim(&key, &request) {
                Ok(claim) => break claim,
                Err(Found::Answer(answer)) => return answer,
                Err(Found::Busy(wait)) => wait,
            };
            // An error says that the work is over.
            let _ = wait.changed().await;
        };
        let (status, body) = self.work(&message, &key).await;
        if self.cheats(Cheat::DoublesOnReset) {
            // The message is out; a client that hangs up now has this dropped.
            tokio::time::sleep(WORK).await;
        }
        self.settle(claim, &request, status, &body);
        plain(status, body)
    }

    /// Ten lines, and three defects.
    async fn race(self: &Arc<Self>, key: &str, message: &Value) -> Answer {
        let now = self.now();
        if let Some(Slot::Done(stored)) = self.state().keys.get(key)
            && now.saturating_sub(stored.at) < DAY
        {
            return replayed(stored.status, stored.body.clone());
        }
        // A client that hangs up does not stop it.
        let (provider, key, message) = (self.clone(), key.to_owned(), message.clone());
        let work = tokio::spawn(async move {
            tokio::time::sleep(WORK).await;
            let (status, body) = provider.work(&message, &key).await;
            let stored = provider.stored(String::new(), status, &body);
            provider.state().keys.insert(key, Slot::Done(stored));
            plain(status, body)
        });
        work.await
            .unwrap_or_else(|_| problem(StatusCode::INTERNAL_SERVER_ERROR, "it broke"))
    }

    /// The key that a ledger would know.
    fn key(&self, customer: &str, bare: &str) -> String {
        let customer = if self.cheats(Cheat::Unscoped) {
            ""
        } else {
            customer
        };
        format!("{customer}\n{}", self.cut(bare))
    }

    fn cut<'k>(&self, bare: &'k str) -> &'k str {
        match bare.get(..32) {
            Some(cut) if self.cheats(Cheat::TruncatesKeys) => cut,
            _ => bare,
        }
    }

    #[expect(
        clippy::result_large_err,
        reason = "an answer is built once for each request"
    )]
    fn claim(&self, key: &str, request: &str) -> Result<Claim<'_>, Found> {
        let now = self.now();
        let kept = if self.cheats(Cheat::ForgetsEarly) {
            HOUR
        } else {
            DAY
        };
        let mut state = self.state();
        let known = match state.keys.get(key) {
            Some(Slot::Done(stored)) if now.saturating_sub(stored.at) < kept => {
                Some(&stored.request)
            }
            Some(Slot::Busy(request, _)) => Some(request),
            _ => None,
        };
        if let Some(known) = known {
            if known != request && !self.cheats(Cheat::NoMismatch) {
                let why = "this key was used with another request";
                return Err(Found::Answer(problem(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    why,
                )));
            }
            return Err(match &state.keys[key] {
                Slot::Busy(_, wait) => Found::Busy(wait.clone()),
                Slot::Done(stored) => Found::Answer(replayed(stored.status, self.again(stored))),
            });
        }
        let (busy, wait) = watch::channel(());
        state
            .keys
            .insert(key.to_owned(), Slot::Busy(request.to_owned(), wait));
        Ok(Claim {
            provider: self,
            key: Some(key.to_owned()),
            _busy: busy,
        })
    }

    fn again(&self, stored: &Stored) -> String {
        match serde_json::from_str::<Value>(&stored.body) {
            Ok(value) if self.cheats(Cheat::ReplaysReformatted) && stored.status < 300 => {
                format!("{value:#}")
            }
            _ => stored.body.clone(),
        }
    }

    /// Sends the message, or refuses it.
    async fn work(&self, message: &Value, key: &str) -> (StatusCode, String) {
        match self.fault(key) {
            Some(Wrong::Fails) => {
                return (StatusCode::INTERNAL_SERVER_ERROR, error("it broke"));
            }
            Some(Wrong::Takes(time)) => tokio::time::sleep(time).await,
            None => {}
        }
        if message["to"] == "+15005550001" {
            return (StatusCode::BAD_REQUEST, error("this is no number"));
        }
        let mut state = self.state();
        let id = format!("msg_{:08x}", state.messages.len() + 1);
        state.messages.push((id.clone(), key.to_owned()));
        let body = json!({ "id": id, "to": message["to"], "status": "queued" });
        (StatusCode::CREATED, body.to_string())
    }

    /// What goes wrong with this request.
    fn fault(&self, key: &str) -> Option<Wrong> {
        let mut state = self.state();
        let (_, bare) = key.split_once('\n')?;
        let aimed_here = |(_, aimed, _): &(u64, String, Wrong)| self.cut(aimed) == bare;
        let at = state.faults.iter().position(aimed_here)?;
        Some(state.faults.remove(at).2)
    }

    fn stored(&self, request: String, status: StatusCode, body: &str) -> Stored {
        Stored {
            request,
            status: status.as_u16(),
            body: body.to_owned(),
            at: self.now(),
        }
    }

    fn settle(&self, mut claim: Claim<'_>, request: &str, status: StatusCode, body: &str) {
        let keeps = status.is_success()
            || !self.args.successes_only
            || (self.cheats(Cheat::StoresErrors) && status.is_server_error());
        if !keeps {
            return;
        }
        let Some(key) = claim.key.take() else {
            return;
        };
        let stored = self.stored(request.to_owned(), status, body);
        let mut state = self.state();
        if let Some(log) = &mut state.log {
            let body: Value = serde_json::from_str(body).unwrap_or_default();
            let line = json!({ "key": key, "stored": stored, "message": body["id"] });
            // What cannot be kept is not worth a provider of its own: the audit would see it.
            let _ = writeln!(log, "{line}");
        }
        state.keys.insert(key, Slot::Done(stored));
    }

    fn list(&self, headers: &HeaderMap, query: &str) -> Answer {
        let customer = headers.get("authorization").and_then(|v| v.to_str().ok());
        let bare = query.strip_prefix("idempotency_key=").unwrap_or_default();
        let key = self.key(customer.unwrap_or_default(), bare);
        let state = self.state();
        let messages: Vec<Value> = state
            .messages
            .iter()
            .filter(|(_, of)| *of == key)
            .map(|(id, _)| json!({ "id": id }))
            .collect();
        plain(StatusCode::OK, json!({ "messages": messages }).to_string())
    }

    fn now(&self) -> Duration {
        // A clock that is taken while the state is held would lock itself out.
        let advanced = self.state().advanced;
        self.began.elapsed() + advanced
    }

    fn advance(&self, body: &[u8]) -> Answer {
        let set: Value = serde_json::from_slice(body).unwrap_or_default();
        let by = set["advance"].as_str().unwrap_or_default();
        match by.parse::<stub_provider::duration::Span>() {
            Ok(span) => {
                self.state().advanced += span.0;
                plain(StatusCode::OK, "{}".into())
            }
            Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        }
    }

    fn fail_next(&self, body: &[u8]) -> Answer {
        let rule: Value = serde_json::from_slice(body).unwrap_or_default();
        let provider = &rule["provider"];
        let time = provider["delay"]["for"].as_str().unwrap_or_default();
        let wrong = match time.parse::<stub_provider::duration::Span>() {
            Ok(span) => Wrong::Takes(span.0),
            Err(_) if provider["respond"]["status"] == 500 => Wrong::Fails,
            Err(_) => return problem(StatusCode::BAD_REQUEST, "no such fault is known here"),
        };
        let key = rule["key"].as_str().unwrap_or_default().to_owned();
        let mut state = self.state();
        state.next_fault += 1;
        let id = state.next_fault;
        state.faults.push((id, key, wrong));
        plain(StatusCode::CREATED, json!({ "id": id }).to_string())
    }
}

enum Found {
    Answer(Answer),
    Busy(watch::Receiver<()>),
}

fn error(message: &str) -> String {
    json!({ "message": message }).to_string()
}

fn plain(status: StatusCode, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert("content-type", json);
    answer
}

fn problem(status: StatusCode, message: &str) -> Answer {
    plain(status, error(message))
}

fn replayed(status: u16, body: String) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = plain(status, body);
    let mark = HeaderValue::from_static("true");
    answer.headers_mut().insert("idempotent-replayed", mark);
    answer
}

/// The same program with the same arguments in place of this one, at the same address. Nobody
/// is answered: this is how a provider goes.
fn start_anew(addr: SocketAddr) -> Answer {
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let error = process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .args(["--listen", &addr.to_string()])
        .exec();
    problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
}

/// What a provider kept on disk.
fn recover(path: &PathBuf, state: &mut State) -> io::Result<()> {
    let known = fs::read_to_string(path).unwrap_or_default();
    for line in known.lines() {
        let line: Value = serde_json::from_str(line)?;
        let key = line["key"].as_str().unwrap_or_default().to_owned();
        let stored: Stored = serde_json::from_value(line["stored"].clone())?;
        if let Some(id) = line["message"].as_str() {
            state.messages.push((id.to_owned(), key.clone()));
        }
        state.keys.insert(key, Slot::Done(stored));
    }
    state.log = Some(OpenOptions::new().create(true).append(true).open(path)?);
    Ok(())
}

/// Asks a provider to start anew, and returns when it is back.
async fn ask_restart(at: SocketAddr) -> io::Result<()> {
    let before = ask(at, "GET /admin/process").await?;
    // It goes without an answer.
    let _ = ask(at, "POST /admin/restart").await;
    loop {
        match ask(at, "GET /admin/process").await {
            Ok(now) if !now.is_empty() && now != before => return Ok(()),
            // Nothing but asking again tells when it is back.
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn ask(at: SocketAddr, what: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("{what} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    // The head has a date in it.
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    Ok(body.unwrap_or_default().to_owned())
}

// One thread: what is done without a wait is done at once.
#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let args = Args::parse();
    if let Some(at) = args.ask_restart {
        return ask_restart(at).await;
    }
    let mut state = State::default();
    if let Some(path) = &args.state
        && args.cheat != Cheat::ForgetsOnRestart
    {
        recover(path, &mut state)?;
    }
    let listener = TcpListener::bind(args.listen).await?;
    let addr = listener.local_addr()?;
    // After a restart nobody may be left to read it.
    let _ = writeln!(io::stdout(), "listening on {addr}");
    let born = SystemTime::now().duration_since(UNIX_EPOCH);
    let provider = Arc::new(Provider {
        args,
        addr,
        began: Instant::now(),
        born: born.unwrap_or_default().as_nanos(),
        state: Mutex::new(state),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let provider = provider.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| provider.clone().answer(request));
            // How a connection ends is the client's business here.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
