//! The HTTP API: Toxiproxy's routes over an [`Engine`].
//!
//! Owns paths, methods and statuses; what they do is the engine's.

pub(crate) mod body;
mod reply;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::USER_AGENT;
use hyper::{Method, Request, Response};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use tokio::time::{Duration, timeout};

use self::body::Members;
use crate::engine::Engine;
use crate::error::Error;
use crate::proxy_info::ProxyInfo;

/// The most bytes that the body of a request may have.
const BODY_LIMIT: usize = 1 << 20;

/// How long the body of a request may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(15);

/// The version of Toxiproxy whose API this is, and after the plus sign ours:
/// by semantic versioning that is no difference, so clients that compare
/// versions see Toxiproxy's.
pub const VERSION: &str = concat!("2.12.0+toxic-proxy.", env!("CARGO_PKG_VERSION"));

pub(crate) type Reply = Response<Full<Bytes>>;

/// Answers one request.
pub(crate) async fn answer(engine: &Engine, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let path = percent_decode_str(parts.uri.path())
        .decode_utf8_lossy()
        .into_owned();
    let Some(route) = Route::find(&path) else {
        return reply::not_found();
    };
    if !route.allows(&parts.method) {
        return reply::method_not_allowed();
    }
    let agent = parts
        .headers
        .get(USER_AGENT)
        .map_or(&b""[..], |agent| agent.as_bytes());
    if agent.starts_with(b"Mozilla/") {
        // No page in a browser may drive the proxy.
        return reply::text(403, "User agent not allowed");
    }
    let body = match read(body).await {
        Ok(body) => body,
        Err(error) => return reply::error(&error),
    };
    let answer = respond(engine, &parts.method, route, &body).await;
    let answer = answer.unwrap_or_else(|error| reply::error(&error));
    tracing::debug!(method = %parts.method, path, status = answer.status().as_u16(), "request answered");
    answer
}

/// The whole body of a request, within bounds of size and time.
async fn read(body: Incoming) -> Result<Bytes, Error> {
    match timeout(BODY_TIME, Limited::new(body, BODY_LIMIT).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Error::BodyTooLarge(BODY_LIMIT)),
        Ok(Err(error)) => Err(Error::BadRequest(error.to_string())),
        Err(_) => Err(Error::BadRequest(format!(
            "it did not arrive within {} s",
            BODY_TIME.as_secs()
        ))),
    }
}

/// What a path stands for.
#[derive(Debug, PartialEq, Eq)]
enum Route<'a> {
    Proxies,
    Proxy(&'a str),
    Toxics(&'a str),
    Toxic(&'a str, &'a str),
    Connections(&'a str),
    Populate,
    Reset,
    Version,
}

impl<'a> Route<'a> {
    fn find(path: &'a str) -> Option<Self> {
        let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        if segments.iter().any(|segment| segment.is_empty()) {
            return None;
        }
        match segments[..] {
            ["proxies"] => Some(Self::Proxies),
            ["proxies", proxy] => Some(Self::Proxy(proxy)),
            ["proxies", proxy, "toxics"] => Some(Self::Toxics(proxy)),
            ["proxies", proxy, "toxics", toxic] => Some(Self::Toxic(proxy, toxic)),
            ["proxies", proxy, "connections"] => Some(Self::Connections(proxy)),
            ["populate"] => Some(Self::Populate),
            ["reset"] => Some(Self::Reset),
            ["version"] => Some(Self::Version),
            _ => None,
        }
    }

    fn allows(&self, method: &Method) -> bool {
        let allowed: &[Method] = match self {
            Self::Proxies | Self::Toxics(_) => &[Method::GET, Method::POST],
            Self::Proxy(_) | Self::Toxic(..) => {
                &[Method::GET, Method::POST, Method::PATCH, Method::DELETE]
            }
            Self::Connections(_) | Self::Version => &[Method::GET],
            Self::Populate | Self::Reset => &[Method::POST],
        };
        allowed.contains(method)
    }
}

#[derive(Serialize)]
struct Populated<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Null where there are none, as the original has it.
    proxies: Option<&'a [ProxyInfo]>,
}

async fn respond(
    engine: &Engine,
    method: &Method,
    route: Route<'_>,
    bytes: &[u8],
) -> Result<Reply, Error> {
    let get = method == Method::GET;
    let delete = method == Method::DELETE;
    match route {
        Route::Proxies if get => reply::json(200, &engine.proxies()),
        Route::Proxies => {
            let (new, blackhole) = Members::of(bytes)?.new_proxy()?;
            let name = new.name.clone();
            let created = engine.create_proxy(new).await?;
            if blackhole {
                return reply::json(201, &engine.set_blackhole(&name, true).await?);
            }
            reply::json(201, &created)
        }
        Route::Proxy(name) if get => reply::json(200, &engine.proxy(name)?),
        Route::Proxy(name) if delete => {
            engine.delete_proxy(name).await?;
            Ok(reply::no_content())
        }
        Route::Proxy(name) => {
            engine.proxy(name)?;
            reply::json(
                200,
                &engine
                    .update_proxy(name, Members::of(bytes)?.proxy_update()?)
                    .await?,
            )
        }
        Route::Toxics(proxy) if get => reply::json(200, &engine.toxics(proxy)?),
        Route::Toxics(proxy) => {
            engine.proxy(proxy)?;
            reply::json(200, &engine.add_toxic(proxy, Members::of(bytes)?.toxic()?)?)
        }
        Route::Toxic(proxy, name) if get => reply::json(200, &engine.toxic(proxy, name)?),
        Route::Toxic(proxy, name) if delete => {
            engine.remove_toxic(proxy, name)?;
            Ok(reply::no_content())
        }
        Route::Toxic(proxy, name) => {
            engine.toxic(proxy, name)?;
            let members = Members::of(bytes)?;
            reply::json(
                200,
                &engine.change_toxic(proxy, name, |toxic| members.change_toxic(toxic))?,
            )
        }
        Route::Connections(proxy) => reply::json(200, &engine.connections(proxy)?),
        Route::Populate => {
            let (proxies, error) = match body::new_proxies(bytes) {
                Ok(all) => engine.populate(all).await,
                Err(error) => (Vec::new(), Some(error)),
            };
            let status = error.as_ref().map(Error::status);
            let proxies = (!proxies.is_empty()).then_some(&proxies[..]);
            let populated = Populated {
                error: error.map(|error| error.to_string()),
                status,
                proxies,
            };
            reply::json(status.unwrap_or(201), &populated)
        }
        Route::Reset => {
            engine.reset().await?;
            Ok(reply::no_content())
        }
        Route::Version => Ok(reply::version(VERSION)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_routes() {
        assert_eq!(Route::find("/proxies"), Some(Route::Proxies));
        assert_eq!(Route::find("/proxies/a"), Some(Route::Proxy("a")));
        assert_eq!(
            Route::find("/proxies/a/toxics/b"),
            Some(Route::Toxic("a", "b"))
        );
        assert_eq!(
            Route::find("/proxies/a/connections"),
            Some(Route::Connections("a"))
        );
        for nowhere in [
            "/",
            "",
            "/proxies/",
            "/nope",
            "/proxies/a/toxics/b/c",
            "//proxies",
        ] {
            assert_eq!(Route::find(nowhere), None, "{nowhere}");
        }
    }
}
