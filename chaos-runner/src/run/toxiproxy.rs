//! The thread that talks to Toxiproxy through `toxiproxy_rust`.
//!
//! Owns the one blocking [`toxiproxy_rust::client::Client`] of a run: the crate must not be called from an
//! async thread, making a client costs tens of milliseconds, and it panics on transport errors.
//! The crate never looks at the HTTP status either, so every caller reads back what it did.

use std::{
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use tokio::sync::oneshot;
use toxiproxy_rust::client::Client;

use super::error::Error;

type Job = Box<dyn FnOnce(&Client) + Send>;

/// A handle on the thread. Cheap to clone; the thread ends with the last handle.
#[derive(Clone, Debug)]
pub struct Toxiproxy {
    jobs: mpsc::Sender<Job>,
}

impl Toxiproxy {
    /// Starts the thread with a client of the server at `api`.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn connect(api: SocketAddr) -> Result<Self, Error> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("toxiproxy".into())
            .spawn(move || {
                let client = Client::new(api);
                while let Ok(job) = inbox.recv() {
                    job(&client);
                }
            })
            .map_err(|source| Error::Io {
                doing: "starting the Toxiproxy thread".into(),
                source,
            })?;
        Ok(Self { jobs })
    }

    /// Runs `call` on the thread and awaits its result.
    ///
    /// # Errors
    ///
    /// When the crate reports an error, or panics; `doing` says what was being done.
    pub async fn call<T: Send + 'static>(
        &self,
        doing: &str,
        call: impl FnOnce(&Client) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Error> {
        let failed = |why: String| Error::Toxiproxy {
            doing: doing.to_owned(),
            why,
        };
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |client| {
            let result = catch_unwind(AssertUnwindSafe(|| call(client)))
                .unwrap_or_else(|_| Err("the server could not be reached".into()));
            // Nobody waits any more when the run was interrupted.
            let _unheard = reply.send(result);
        });
        self.jobs
            .send(job)
            .map_err(|_| failed("its thread has ended".into()))?;
        match answer.await {
            Ok(result) => result.map_err(failed),
            Err(_) => Err(failed("its thread has ended".into())),
        }
    }
}
