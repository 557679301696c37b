//! A provider that does what the test tells it to, and remembers every request.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything takes on a loaded machine; a test that reaches it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One request, as it came off the wire.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn key(&self) -> &str {
        self.headers
            .get("idempotency-key")
            .expect("every submission has a key")
    }
}

/// What to do with a request that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// These bytes, and the connection stays open.
    Write(Vec<u8>),
    /// Nothing, for as long as the client waits.
    Hang,
    /// These bytes, then nothing more will come.
    WriteAndClose(Vec<u8>),
}

impl Act {
    pub(crate) fn respond(status: u16, headers: &str, body: &str) -> Self {
        Self::Write(
            format!(
                "HTTP/1.1 {status} Any\r\ncontent-length: {}\r\n{headers}\r\n{body}",
                body.len()
            )
            .into_bytes(),
        )
    }

    pub(crate) fn accept() -> Self {
        Self::respond(201, "", r#"{"id":"msg_1","status":"queued"}"#)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::respond(status, "", "{}")
    }
}

type Script = dyn Fn(usize, &Request) -> Act + Send + Sync;

/// The provider. `script` is given the number of the request among those of its method
/// (from 1) and the request.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    arrivals: Receiver<Request>,
}

impl Provider {
    pub(crate) fn start(script: impl Fn(usize, &Request) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (sender, arrivals) = channel();
        let script: Arc<Script> = Arc::new(script);
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, seen, sender) =
                    (Arc::clone(&script), Arc::clone(&seen), sender.clone());
                std::thread::spawn(move || converse(stream, &*script, &seen, &sender));
            }
        });
        Self {
            address,
            requests,
            arrivals,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for the next request that has not been waited for.
    pub(crate) fn next(&self) -> Request {
        self.arrivals
            .recv_timeout(PATIENCE)
            .expect("the worker makes a request")
    }

    pub(crate) fn submissions(&self) -> Vec<Request> {
        self.of("POST")
    }

    pub(crate) fn lookups(&self) -> Vec<Request> {
        self.of("GET")
    }

    fn of(&self, method: &str) -> Vec<Request> {
        let requests = self.requests.lock().expect("no thread panicked");
        let found = requests.iter().filter(|request| request.method == method);
        found.cloned().collect()
    }
}

fn converse(
    stream: TcpStream,
    script: &Script,
    seen: &Mutex<Vec<Request>>,
    sender: &Sender<Request>,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader) {
        let number = {
            let mut seen = seen.lock().expect("no thread panicked");
            seen.push(request.clone());
            seen.iter()
                .filter(|other| other.method == request.method)
                .count()
        };
        let act = script(number, &request);
        // The test may have ended; nobody listens then.
        let _ = sender.send(request);
        match act {
            Act::Write(bytes) => {
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::Hang => {
                // Ends when the client does.
                let _ = reader.read(&mut [0]);
                return;
            }
            Act::WriteAndClose(bytes) => {
                let _ = writer.write_all(&bytes);
                let _ = writer.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |value| value.parse().expect("a length is a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        target,
        headers,
        body,
        at: Instant::now(),
    })
}

pub(crate) fn accepting() -> Provider {
    Provider::start(|_, _| Act::accept())
}

/// Submissions follow the script, lookups find nothing.
pub(crate) fn submitting(script: impl Fn(usize) -> Act + Send + Sync + 'static) -> Provider {
    Provider::start(move |number, request| match request.method.as_str() {
        "POST" => script(number),
        _ => Act::status(404),
    })
}

/// The provider's answer, cut off before its end.
pub(crate) fn broken_success() -> Act {
    Act::WriteAndClose(b"HTTP/1.1 201 Created\r\ncontent-length: 60\r\n\r\n{\"id\":\"ms".to_vec())
}

pub(crate) fn assert_one_key_and_one_payload(requests: &[Request]) {
    let keys: HashSet<_> = requests.iter().map(Request::key).collect();
    let bodies: HashSet<_> = requests.iter().map(|request| &request.body).collect();
    let who: HashSet<_> = requests
        .iter()
        .map(|request| &request.headers["authorization"])
        .collect();
    assert_eq!((keys.len(), bodies.len(), who.len()), (1, 1, 1));
}

/// A port on which nobody listens.
pub(crate) fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}
