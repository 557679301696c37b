//! Webhooks: what the provider tells the client on its own account.
//!
//! Owns where they go, that they are signed, and that each is tried again until it is
//! acknowledged. What they say is decided by who sends them: `receipt` and
//! `inbound`.

use std::{
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Uri, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::{core::Core, provider::Error, signature::sign, tally::Count};

/// As many webhooks are on their way at once.
const POSTS: usize = 256;

/// How webhooks are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookTimes {
    /// Before the first repetition of what was not acknowledged; doubled each time.
    pub retry_base: Duration,
    /// The longest wait before a repetition.
    pub retry_cap: Duration,
    /// How long an acknowledgement is waited for. Real time: it bounds a socket.
    pub timeout: Duration,
    /// Whether a receipt waits until the one before it is acknowledged.
    pub in_order: bool,
    /// How many wait at once for their time or their acknowledgement: one for each message, or one
    /// for each receipt where they do not go in order. What comes beyond is not sent;
    /// `/metrics` counts it.
    pub kept: usize,
}

impl Default for WebhookTimes {
    /// Short times, for a provider inside a test.
    fn default() -> Self {
        Self {
            retry_base: Duration::from_millis(50),
            retry_cap: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            in_order: true,
            kept: 100_000,
        }
    }
}

/// Where webhooks go, and how.
pub(crate) struct Webhooks {
    callback: RwLock<Option<Uri>>,
    remote: bool,
    secret: String,
    pub(crate) times: WebhookTimes,
    client: Client<HttpConnector, Full<Bytes>>,
    posts: Semaphore,
    /// Whoever carries something that is not acknowledged yet.
    couriers: TaskTracker,
    pub(crate) counts: Counts,
}

/// What `/metrics` shows of webhooks.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) acknowledged: Count,
    pub(crate) refused: Count,
    pub(crate) timed_out: Count,
    pub(crate) failed: Count,
    /// Tried, and not acknowledged yet.
    pub(crate) unacknowledged: Count,
    pub(crate) given_up: Count,
}

/// Counts as unacknowledged until it is dropped.
struct Unacknowledged<'a>(&'a Count);

impl<'a> Unacknowledged<'a> {
    fn new(count: &'a Count) -> Self {
        count.one_more();
        Self(count)
    }
}

impl Drop for Unacknowledged<'_> {
    fn drop(&mut self) {
        self.0.one_less();
    }
}

impl Webhooks {
    pub(crate) fn new(secret: String, remote: bool, times: WebhookTimes) -> Self {
        Self {
            callback: RwLock::new(None),
            remote,
            secret,
            times,
            client: Client::builder(TokioExecutor::new()).build_http(),
            posts: Semaphore::new(POSTS),
            couriers: TaskTracker::new(),
            counts: Counts::default(),
        }
    }

    /// Where they go from now on; `None`: nowhere.
    pub(crate) fn set_callback(&self, url: Option<&str>) -> Result<(), Error> {
        let uri = url.map(|url| checked(url, self.remote)).transpose()?;
        *self
            .callback
            .write()
            .unwrap_or_else(PoisonError::into_inner) = uri;
        Ok(())
    }

    pub(crate) fn callback(&self) -> Option<Uri> {
        self.callback
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether they go anywhere.
    pub(crate) fn has_callback(&self) -> bool {
        self.callback
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Whether anything is still to come, or not acknowledged yet.
    pub(crate) fn under_way(&self) -> bool {
        !self.couriers.is_empty()
    }

    /// Whether one more message may have webhooks; counts it where it may not.
    pub(crate) fn has_room(&self) -> bool {
        let room = self.couriers.len() < self.times.kept;
        if !room {
            if self.counts.given_up.get() == 0 {
                tracing::warn!(
                    kept = self.times.kept,
                    "too many webhooks wait to be acknowledged: some are not sent"
                );
            }
            self.counts.given_up.one_more();
        }
        room
    }

    /// One try under this secret. The status that answered; `None`: nobody knows whether it
    /// arrived. Redirects are answers like any other: nothing is ever sent to where they point.
    async fn post(&self, core: &Core, body: &str, secret: &str) -> Option<u16> {
        let callback = self.callback()?;
        // Never closed.
        let _turn = self.posts.acquire().await.ok()?;
        let unix = core.clock.unix(core.clock.now()).as_secs();
        let request = hyper::Request::builder()
            .method(Method::POST)
            .uri(callback)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-signature", sign(secret, unix, body.as_bytes()))
            .body(Full::from(body.to_owned()))
            .ok()?;
        let sent = self.client.request(request);
        let (answered, count) = match tokio::time::timeout(self.times.timeout, sent).await {
            Ok(Ok(response)) if response.status().is_success() => {
                (Some(response.status().as_u16()), &self.counts.acknowledged)
            }
            Ok(Ok(response)) => (Some(response.status().as_u16()), &self.counts.refused),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a webhook could not be handed over");
                (None, &self.counts.failed)
            }
            Err(_) => {
                tracing::debug!("a webhook was not acknowledged in time");
                (None, &self.counts.timed_out)
            }
        };
        count.one_more();
        answered
    }

    /// One try: what answered it.
    pub(crate) async fn try_once(&self, core: &Core, body: &str) -> Option<u16> {
        self.post(core, body, &self.secret).await
    }

    /// One try by somebody who does not know the secret.
    pub(crate) async fn forge(&self, core: &Core, body: &str) {
        let guess = format!("not {}", self.secret);
        self.post(core, body, &guess).await;
    }

    /// Tries until it is acknowledged; how many tries there were by then. `from` is the number of
    /// the next one; `tried` hears of each and its answer.
    pub(crate) async fn insist(
        &self,
        core: &Core,
        body: &str,
        from: u32,
        tried: impl Fn(u32, Option<u16>),
    ) -> u32 {
        let mut wait = self.times.retry_base;
        let mut nth = from;
        let mut late = None;
        loop {
            let answered = self.try_once(core, body).await;
            tried(nth, answered);
            if acknowledges(answered) {
                return nth;
            }
            late.get_or_insert_with(|| Unacknowledged::new(&self.counts.unacknowledged));
            core.clock.sleep(wait).await;
            wait = (wait * 2).min(self.times.retry_cap);
            nth = nth.saturating_add(1);
        }
    }
}

/// Whether that answer acknowledges a webhook.
pub(crate) fn acknowledges(answered: Option<u16>) -> bool {
    answered.is_some_and(|status| (200..300).contains(&status))
}

impl Core {
    /// Work for a webhook, which ends with the provider.
    pub(crate) fn send_on(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        let work = self.webhooks.couriers.track_future(work);
        drop(self.tasks.spawn(async move {
            stopping.run_until_cancelled(work).await;
        }));
    }
}

/// A URL that webhooks may go to.
fn checked(url: &str, remote: bool) -> Result<Uri, Error> {
    let wrong = |why: &str| Error::Callback {
        url: url.to_owned(),
        why: why.to_owned(),
    };
    let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong("it does not start with http://"));
    }
    let host = uri.host().ok_or_else(|| wrong("it names no host"))?;
    if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
        return Err(wrong(
            "it has a name or a password in it, which receipts would not bear",
        ));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    // Of names only `localhost`, which always means this machine (RFC 6761 section 6.3): what any
    // other resolves to may change between now and the first receipt.
    let loopback = bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if !loopback && !remote {
        return Err(wrong(
            "it is not on this machine, and remote callbacks are not allowed",
        ));
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_are_refused_wherever_the_url_leads() {
        for url in [
            "http://localhost@example.com/",
            "http://127.0.0.1@192.0.2.1/",
            "http://a:b@127.0.0.1:8080/receipts",
        ] {
            for remote in [false, true] {
                let error = checked(url, remote).expect_err(url);
                assert!(error.to_string().contains("password"), "{error}");
            }
        }
    }

    #[test]
    fn only_this_machine_is_called_unless_allowed() {
        for url in [
            "http://127.0.0.1:8080/receipts",
            "http://127.9.9.9/",
            "http://[::1]:8080/",
            "http://localhost:8080/",
            "http://LOCALHOST/",
        ] {
            checked(url, false).expect(url);
        }
        for url in [
            "http://192.0.2.1/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::ffff:192.0.2.1]/",
            "http://example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://2130706433/",
        ] {
            let error = checked(url, false).expect_err(url);
            assert!(error.to_string().contains("this machine"), "{error}");
            checked(url, true).expect(url);
        }
    }
}
