//! The program on a real Toxiproxy server, whose address stands in `TOXIPROXY`.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use nix::sys::signal::Signal;

use super::bench::{Bench, SENDER, Told, fired};

fn server() -> String {
    std::env::var("TOXIPROXY").expect("the server's address in TOXIPROXY")
}

/// One call of the server's API; the body of its answer.
fn call(request: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server()).expect("a server");
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The names of the proxies that begin with `prefix`.
fn proxies(prefix: &str) -> Vec<String> {
    let answer = call("GET /proxies", "");
    let json = answer.find('{').expect("an object");
    let end = answer.rfind('}').expect("an object");
    let all: serde_json::Value = serde_json::from_str(&answer[json..=end]).expect("JSON");
    let names = all.as_object().expect("an object by name").keys();
    names
        .filter(|name| name.starts_with(prefix))
        .cloned()
        .collect()
}

#[test]
#[ignore = "needs Toxiproxy: make test-real"]
fn no_proxy_is_left_by_ctrl_c_and_none_of_a_killed_run_by_the_next() {
    let address = server();
    let others = format!("others-{}", std::process::id());
    let live = format!("chaos-r{}_live-1", std::process::id());
    for name in [&others, &live] {
        let proxy = format!(
            "{{\"name\":\"{name}\",\"listen\":\"127.0.0.1:0\",\"upstream\":\"127.0.0.1:1\"}}"
        );
        assert!(call("POST /proxies", &proxy).contains(" 201 "));
    }
    let bench = Bench::new(SENDER);
    let arguments = ["run", "hang", "--toxiproxy", address.as_str()];

    let mut told = Told::new();
    let started = bench.start(&arguments, &told);
    let prefix = format!("chaos-{}_", started.run_name());
    told.wait_for("send", 2);
    assert!(!proxies(&prefix).is_empty());
    started.signal(Signal::SIGINT);
    bench.told(&started.wait()).ends_with(130);
    assert_eq!(proxies(&prefix), Vec::<String>::new(), "after Ctrl-C");

    let mut told = Told::new();
    let started = bench.start(&arguments, &told);
    let prefix = format!("chaos-{}_", started.run_name());
    told.wait_for("send", 2);
    started.signal(Signal::SIGKILL);
    let _killed = started.wait();
    told.wait_until_all_are_gone();
    assert!(
        !proxies(&prefix).is_empty(),
        "nobody was there to remove it"
    );

    bench.run(&arguments).ends_with(0);
    assert_eq!(proxies(&prefix), Vec::<String>::new(), "after the next run");
    // What others made stays, and what a runner made that is still alive (this process).
    assert_eq!(proxies(&others), [others.as_str()]);
    assert_eq!(proxies(&live), [live.as_str()]);
    for name in [&others, &live] {
        call(&format!("DELETE /proxies/{name}"), "");
    }
}

#[test]
#[ignore = "needs Toxiproxy: make test-real"]
fn a_toxic_acts_on_exactly_its_attempt_on_a_real_server_too() {
    let bench = Bench::new(SENDER);
    let toxics = [
        ("timeout", "timeout = 0"),
        ("latency", "latency = 30"),
        ("limit_data", "bytes = 10"),
        ("bandwidth", "rate = 100"),
    ];
    for (name, attributes) in toxics {
        bench.write(
            &format!("all/{name}.toml"),
            &format!(
                r#"
title = "A toxic at attempt 2 of message 2"
why = "It must act there and nowhere else."
[intents]
count = 3
[[fault]]
attempt = 1
provider.respond = {{ stage = "before-accept", status = 503 }}
[[fault]]
attempt = 2
intent = 2
toxic.{name} = {{ attributes = {{ {attributes} }} }}
"#
            ),
        );
    }
    let run = bench
        .run(&["run", "all", "--toxiproxy", &server()])
        .ends_with(0);
    for (name, _) in toxics {
        let history = run.history(name);
        assert_eq!(fired(&history, 2), [(2, 2)], "{name}");
        let delivered: Vec<u32> = history.deliveries_by_intent().into_values().collect();
        assert_eq!(delivered, [1, 1, 1], "{name}");
    }
}
