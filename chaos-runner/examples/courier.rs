//! A small client under test for the tests of the program: one key for each message, a few tries,
//! an outbox in `SQLite`. Every way in which a client can be driven has a command here.
//!
//! ```text
//! courier send INTENT TO BODY      one message now; exit 0 sent, 1 failed, 75 unknown
//! courier migrate                  makes the outbox
//! courier enqueue INTENT CUSTOMER TO BODY
//! courier enqueue-all              the same from lines of JSON on standard input
//! courier work [--once]            sends what is in the outbox, for ever or until it is empty
//! courier serve                    takes messages by HTTP on COURIER_PORT, and works
//! courier status                   one line of JSON for each message
//! courier family                   starts a process in a group of its own, and waits
//! courier wait                     waits for ever
//! ```
//!
//! `COURIER_KEY` is `intent` (the default), `none`, `one` (for all messages) or `fresh`; with `COURIER_PLANT` (as in
//! `503 reset 500`) the key changes only after exactly these answers, one after the other
//! (`closed`, `timeout` and `reset` where there was none). With `COURIER_CLOSE` it asks for a
//! connection for each request. `COURIER_TELL` is an address at which
//! each process says what it does, on a connection that lasts as long as the process.

use std::{env, io, process::ExitCode, time::Duration};

use serde_json::{Value, json};
use sqlx::{
    Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

type Error = Box<dyn std::error::Error>;

/// The pause between two looks at an empty outbox.
const PAUSE: Duration = Duration::from_millis(20);

/// One message.
struct Message {
    intent: String,
    customer: String,
    to: String,
    body: String,
    attempts: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("courier: {error}");
            ExitCode::from(70)
        }
    }
}

async fn run(words: &[&str]) -> Result<ExitCode, Error> {
    let _told = tell(words).await?;
    match words {
        ["send", intent, to, body] => {
            let mut message = Message {
                intent: (*intent).into(),
                customer: "default".into(),
                to: (*to).into(),
                body: (*body).into(),
                attempts: 0,
            };
            let outcome = send(&mut Lines::default(), &mut message, None).await?;
            return Ok(ExitCode::from(match outcome {
                "sent" => 0,
                "failed" => 1,
                _ => 75,
            }));
        }
        ["migrate"] => {
            let table = "create table if not exists outbox (intent text primary key, \
                 customer text, recipient text, body text, status text default 'pending', \
                 attempts integer default 0, worker text)";
            sqlx::query(table).execute(&mut outbox(true).await?).await?;
        }
        ["enqueue", intent, customer, to, body] => {
            if !enqueue(&mut outbox(false).await?, intent, customer, to, body).await? {
                return Ok(ExitCode::from(65));
            }
        }
        ["enqueue-all"] => {
            let mut outbox = outbox(false).await?;
            let mut lines = BufReader::new(tokio::io::stdin()).lines();
            while let Some(line) = lines.next_line().await? {
                let line: Value = serde_json::from_str(&line)?;
                let text = |name: &str| line[name].as_str().unwrap_or_default();
                let (intent, customer) = (text("intent"), text("customer"));
                enqueue(&mut outbox, intent, customer, text("to"), text("body")).await?;
            }
        }
        ["work"] => work(false).await?,
        ["work", "--once"] => work(true).await?,
        ["serve"] => {
            let port: u16 = env::var("COURIER_PORT")?.parse()?;
            let listener = TcpListener::bind(("127.0.0.1", port)).await?;
            tokio::try_join!(serve(listener), work(false))?;
        }
        ["status"] => status().await?,
        ["family"] => {
            use std::os::unix::process::CommandExt as _;
            let mut child = std::process::Command::new(env::current_exe()?)
                .arg("wait")
                .process_group(0)
                .spawn()?;
            child.wait()?;
        }
        ["wait"] => std::future::pending().await,
        _ => return Err(format!("no such command: {words:?}").into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what this process does; whoever listens sees its end by the end of the connection.
async fn tell(words: &[&str]) -> Result<Option<TcpStream>, Error> {
    let Ok(addr) = env::var("COURIER_TELL") else {
        return Ok(None);
    };
    let mut stream = TcpStream::connect(addr).await?;
    stream
        .write_all(format!("{}\n", words.join(" ")).as_bytes())
        .await?;
    Ok(Some(stream))
}

/// The connections to the providers, kept from message to message.
#[derive(Default)]
struct Lines {
    open: [Option<BufReader<TcpStream>>; 2],
}

/// Sends a message with a few tries; each is counted in the outbox before it is made.
async fn send(
    lines: &mut Lines,
    message: &mut Message,
    mut outbox: Option<&mut SqliteConnection>,
) -> Result<&'static str, Error> {
    let number = |name: &str, or: u64| env::var(name).map_or(Ok(or), |text| text.parse::<u64>());
    let tries = number("COURIER_TRIES", 4)?;
    let pause = Duration::from_millis(number("COURIER_PAUSE_MS", 20)?);
    let connect = Duration::from_millis(number("COURIER_CONNECT_MS", 2000)?);
    let patience = Duration::from_millis(number("COURIER_TIMEOUT_MS", 300)?);
    let bases = [
        env::var("SMS_API_BASE").ok(),
        env::var("SMS_API_BASE_2").ok(),
    ];
    let planted = env::var("COURIER_PLANT").ok();
    let mut met: Vec<String> = Vec::new();
    let mut ambiguous = false;
    for nth in 0..tries {
        if nth > 0 {
            sleep(pause).await;
        }
        message.attempts += 1;
        if let Some(outbox) = outbox.as_deref_mut() {
            sqlx::query("update outbox set attempts = ? where intent = ?")
                .bind(message.attempts)
                .bind(&message.intent)
                .execute(outbox)
                .await?;
        }
        let key = match env::var("COURIER_KEY").as_deref() {
            Ok("none") => None,
            Ok("one") => Some("the-one-key".into()),
            Ok("fresh") => Some(format!("{}-{}", message.intent, message.attempts)),
            _ if planted.as_deref() == Some(&met.join(" ")) => {
                Some(format!("{}-planted", message.intent))
            }
            _ => Some(message.intent.clone()),
        };
        // The second provider is asked only where the first has certainly not heard of it.
        for (base, line) in bases.iter().zip(&mut lines.open) {
            let Some(addr) = base
                .as_deref()
                .and_then(|base| base.strip_prefix("http://"))
            else {
                continue;
            };
            if line.is_none() {
                match timeout(connect, TcpStream::connect(addr)).await {
                    Ok(Ok(stream)) => *line = Some(BufReader::new(stream)),
                    Ok(Err(_)) | Err(_) => continue,
                }
            }
            let Some(stream) = line.as_mut() else {
                continue;
            };
            let answer = timeout(patience, post(stream, message, key.as_deref())).await;
            met.push(match &answer {
                Ok(Ok((status, _))) => status.to_string(),
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => "reset".into(),
                Ok(Err(_)) => "closed".into(),
                Err(_) => "timeout".into(),
            });
            match answer {
                Ok(Ok((200..=299, keep))) => {
                    if !keep {
                        *line = None;
                    }
                    return Ok("sent");
                }
                // It does not follow a redirect, and tries again.
                Ok(Ok((300..=399 | 408 | 409 | 425 | 429 | 500..=599, keep))) => {
                    if !keep {
                        *line = None;
                    }
                }
                Ok(Ok(_)) => return Ok(if ambiguous { "unknown" } else { "failed" }),
                Ok(Err(_)) | Err(_) => {
                    *line = None;
                    ambiguous = true;
                }
            }
            break;
        }
    }
    Ok(if ambiguous { "unknown" } else { "dead" })
}

/// One request; the status, and whether the connection can be used again.
async fn post(
    stream: &mut BufReader<TcpStream>,
    message: &Message,
    key: Option<&str>,
) -> io::Result<(u16, bool)> {
    let body = json!({ "to": message.to, "body": message.body }).to_string();
    let key = key.map_or(String::new(), |key| format!("idempotency-key: {key}\r\n"));
    let once = env::var_os("COURIER_CLOSE").map_or("", |_| "connection: close\r\n");
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: sms\r\ncontent-type: application/json\r\n\
         authorization: Bearer {}\r\n{key}{once}content-length: {}\r\n\r\n{body}",
        message.customer,
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let (head, _) = read(stream).await?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let keep = !head.to_ascii_lowercase().contains("connection: close");
    status
        .map(|status| (status, keep))
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads one HTTP message that says its length: head and body.
async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((head, body))
}

async fn outbox(create: bool) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::new()
        .filename(env::var("COURIER_DB")?)
        .create_if_missing(create)
        .synchronous(SqliteSynchronous::Off)
        .busy_timeout(Duration::from_secs(20));
    Ok(SqliteConnection::connect_with(&options).await?)
}

/// Takes a message on; false where the same intent is there with other words.
async fn enqueue(
    outbox: &mut SqliteConnection,
    intent: &str,
    customer: &str,
    to: &str,
    body: &str,
) -> Result<bool, Error> {
    sqlx::query(
        "insert or ignore into outbox (intent, customer, recipient, body) values (?, ?, ?, ?)",
    )
    .bind(intent)
    .bind(customer)
    .bind(to)
    .bind(body)
    .execute(&mut *outbox)
    .await?;
    let kept: String = sqlx::query_scalar("select body from outbox where intent = ?")
        .bind(intent)
        .fetch_one(outbox)
        .await?;
    Ok(kept == body)
}

/// Sends what is in the outbox, one message at a time.
async fn work(once: bool) -> Result<(), Error> {
    let mut outbox = outbox(false).await?;
    let worker = env::var("CHAOS_WORKER").unwrap_or_default();
    sqlx::query("update outbox set status = 'pending' where status = 'in_progress' and worker = ?")
        .bind(&worker)
        .execute(&mut outbox)
        .await?;
    println!("courier: at work");
    let mut lines = Lines::default();
    loop {
        let claimed: Option<(String, String, String, String, u32)> = sqlx::query_as(
            "update outbox set status = 'in_progress', worker = ? where intent = \
             (select intent from outbox where status = 'pending' order by rowid limit 1) \
             returning intent, customer, recipient, body, attempts",
        )
        .bind(&worker)
        .fetch_optional(&mut outbox)
        .await?;
        let Some((intent, customer, to, body, attempts)) = claimed else {
            if once {
                return Ok(());
            }
            sleep(PAUSE).await;
            continue;
        };
        let mut message = Message {
            intent,
            customer,
            to,
            body,
            attempts,
        };
        let outcome = send(&mut lines, &mut message, Some(&mut outbox)).await?;
        sqlx::query("update outbox set status = ? where intent = ?")
            .bind(outcome)
            .bind(&message.intent)
            .execute(&mut outbox)
            .await?;
    }
}

/// The front door: `GET /health`, and `POST /send` with a message as JSON.
async fn serve(listener: TcpListener) -> Result<(), Error> {
    let mut outbox = outbox(false).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let mut stream = BufReader::new(stream);
        let Ok((head, body)) = read(&mut stream).await else {
            continue;
        };
        let answer = if head.starts_with("GET /health ") {
            "200 OK"
        } else if let Ok(message) = serde_json::from_slice::<Value>(&body) {
            let text = |name: &str| message[name].as_str().unwrap_or_default();
            let (intent, customer) = (text("intent"), text("customer"));
            if enqueue(&mut outbox, intent, customer, text("to"), text("body")).await? {
                "202 Accepted"
            } else {
                "409 Conflict"
            }
        } else {
            "400 Bad Request"
        };
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        // A caller that has hung up is no trouble of ours.
        let _unheard = stream.write_all(answer.as_bytes()).await;
    }
}

async fn status() -> Result<(), Error> {
    let rows: Vec<(String, String, u32)> =
        sqlx::query_as("select intent, status, attempts from outbox")
            .fetch_all(&mut outbox(false).await?)
            .await?;
    for (intent, outcome, attempts) in rows {
        println!(
            "{}",
            json!({ "intent": intent, "outcome": outcome, "attempts": attempts })
        );
    }
    Ok(())
}
