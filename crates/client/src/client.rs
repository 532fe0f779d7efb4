//! The connection to a server: address, key, time limits.
//!
//! Lives here: making the client and sending one request. Not here: the calls themselves, one file
//! for each kind of thing, and reading answers (`answer.rs`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use naven_api::{IdempotencyKey, TraceContext};
use reqwest::header::{AUTHORIZATION, ETAG, HeaderMap, HeaderValue, IF_MATCH};
use reqwest::{Certificate, Method, RequestBuilder, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer;
use crate::error::Error;

/// Longest time for one call, from connecting to the last byte; a claim adds its own wait.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time without a byte of an answer, for calls that have no limit as a whole: above that of
/// any other.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(120);
/// Idle connections are dropped before the server drops them (60 s): a request sent into one that
/// is just being closed would fail without an answer.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer that is read, in bytes: eight times the most payload that a claim takes.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to one server under one key. Cheap to clone; clones share their connections.
///
/// Calls are futures of tokio. Unless a method says otherwise, dropping one before it is done leaves
/// open whether the server carried it out.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    access: Arc<Access>,
    call_timeout: Duration,
    /// Sent along with every call, so that clones share it.
    trace: Option<Arc<TraceContext>>,
}

impl fmt::Debug for Client {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// A thing and its version.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tagged<T> {
    /// The thing.
    pub value: T,
    /// Its version, as the server's `ETag` says it: handed in with a change, it lets the change pass only
    /// while nobody else has made one. None where the server said none.
    pub etag: Option<String>,
}

/// By what a server is reached, so that further connections can be made.
struct Access {
    authorization: HeaderValue,
    /// The certificates that are trusted, where those of the system are not.
    roots: Option<Vec<Certificate>>,
}

fn setup(why: String) -> Error {
    Error::Setup { why }
}

fn parse_base(text: &str) -> Result<Url, Error> {
    let base: Url = text.parse().map_err(|error| setup(format!("'{text}' is not an address: {error}")))?;
    if !matches!(base.scheme(), "http" | "https") {
        let scheme = base.scheme();
        return Err(setup(format!("'{scheme}' is not a scheme we speak: name http:// or https://")));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(setup("the address carries a user or password: hand over the key instead".to_owned()));
    }
    Ok(base)
}

/// One request, before it is sent.
pub(crate) struct Call<'a, B> {
    pub(crate) method: Method,
    /// Parts of the path, unescaped.
    pub(crate) path: &'a [&'a str],
    pub(crate) query: &'a [(&'a str, String)],
    pub(crate) body: Option<B>,
    /// Under which key it may be repeated.
    pub(crate) once: Option<&'a IdempotencyKey>,
    /// The version at which the thing has to be that is changed; none: any.
    pub(crate) if_match: Option<&'a str>,
    /// How long the server may take before it begins to answer.
    pub(crate) wait: Duration,
}

impl Client {
    /// A client for the server at `base_url`, such as `http://127.0.0.1:7480`. Connects at the first
    /// call. Proxies named in the environment are not used. Over `https` the roots that the system trusts
    /// are trusted.
    ///
    /// # Errors
    /// [`Error::Setup`] where the address is not one, is neither `http` nor `https`, or carries a password,
    /// and where the key cannot be sent in a header.
    pub fn new(base_url: &str, key: &str) -> Result<Self, Error> {
        Self::build(base_url, key, None)
    }

    /// The same; over `https` the certificates in `roots` (PEM) are trusted and no others.
    ///
    /// # Errors
    /// [`Error::Setup`], also where `roots` holds no certificate.
    pub fn trusting(base_url: &str, key: &str, roots: &[u8]) -> Result<Self, Error> {
        let roots = Certificate::from_pem_bundle(roots)
            .map_err(|error| setup(format!("the trusted certificates cannot be read: {error}")))?;
        if roots.is_empty() {
            return Err(setup("no trusted certificate: PEM is expected".to_owned()));
        }
        Self::build(base_url, key, Some(roots))
    }

    fn build(base_url: &str, key: &str, roots: Option<Vec<Certificate>>) -> Result<Self, Error> {
        let base = parse_base(base_url)?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| setup("the key holds characters that no key has".to_owned()))?;
        authorization.set_sensitive(true);
        // A plain connection trusts nobody, and needs no roots on the machine.
        let roots = roots.or_else(|| (base.scheme() == "http").then(Vec::new));
        let access = Access { authorization, roots };
        let http = access.connect()?;
        Ok(Self { http, base, access: Arc::new(access), call_timeout: CALL_TIMEOUT, trace: None })
    }

    /// The same client with connections of its own: they are driven by the runtime that it is first used on.
    pub(crate) fn with_own_connections(&self) -> Result<Self, Error> {
        Ok(Self { http: self.access.connect()?, ..self.clone() })
    }

    /// The same client with another limit on the time of one call (30 s by default). A claim adds its
    /// own `wait` to it.
    #[must_use]
    pub fn with_call_timeout(self, call_timeout: Duration) -> Self {
        Self { call_timeout, ..self }
    }

    /// The same client, sharing its connections, whose calls are part of this trace. What it publishes
    /// carries the trace to its consumers (`trace_context` of the event that they claim), and the server's
    /// log lines name it.
    #[must_use]
    pub fn with_trace(self, trace: TraceContext) -> Self {
        Self { trace: Some(Arc::new(trace)), ..self }
    }

    /// Sends `call` and reads its reply.
    pub(crate) async fn send<B, T>(&self, call: Call<'_, B>) -> Result<T, Error>
    where
        B: Serialize,
        T: DeserializeOwned,
    {
        let (status, headers, body) = exchange(self.prepare(call)).await?;
        answer::read(status, &headers, &body, answer::Partly::IsFailure)
    }

    /// Sends `call` and reads its reply, with the version of what it shows.
    pub(crate) async fn send_tagged<B, T>(&self, call: Call<'_, B>) -> Result<Tagged<T>, Error>
    where
        B: Serialize,
        T: DeserializeOwned,
    {
        let (status, headers, body) = exchange(self.prepare(call)).await?;
        let value = answer::read(status, &headers, &body, answer::Partly::IsFailure)?;
        let etag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        Ok(Tagged { value, etag })
    }

    /// Sends `call`, whose reply says of each of its items whether it failed.
    pub(crate) async fn send_items<B, T>(&self, call: Call<'_, B>) -> Result<T, Error>
    where
        B: Serialize,
        T: DeserializeOwned,
    {
        let (status, headers, body) = exchange(self.prepare(call)).await?;
        answer::read(status, &headers, &body, answer::Partly::IsSuccess)
    }

    fn prepare<B: Serialize>(&self, call: Call<'_, B>) -> RequestBuilder {
        let url = self.url(call.path, call.query);
        let mut request =
            self.http.request(call.method, url).timeout(self.call_timeout.saturating_add(call.wait));
        if let Some(key) = call.once {
            request = request.header("idempotency-key", key.as_str());
        }
        if let Some(tag) = call.if_match {
            request = request.header(IF_MATCH, tag);
        }
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace.traceparent());
            if let Some(state) = trace.tracestate() {
                request = request.header("tracestate", state);
            }
        }
        match &call.body {
            Some(body) => request.json(body),
            None => request,
        }
    }

    /// Begins a call that may take as long as it does; what comes back is read by the caller.
    pub(crate) async fn begin(&self, path: &[&str]) -> Result<reqwest::Response, Error> {
        self.http.get(self.url(path, &[])).send().await.map_err(Error::from_transport)
    }

    /// The same behind the event of this id, where there is one.
    pub(crate) async fn begin_after(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        last_id: Option<&str>,
    ) -> Result<reqwest::Response, Error> {
        let mut request = self.http.get(self.url(path, query));
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        request.send().await.map_err(Error::from_transport)
    }

    fn url(&self, path: &[&str], query: &[(&str, String)]) -> Url {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .expect("an http address has a path")
            .pop_if_empty()
            .push("v1")
            .extend(path.iter().map(|part| literal(part)));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

impl Access {
    fn connect(&self) -> Result<reqwest::Client, Error> {
        let mut http = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, self.authorization.clone())]))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT);
        if let Some(roots) = &self.roots {
            http = http.tls_certs_only(roots.iter().cloned());
        }
        http.build().map_err(|error| setup(format!("no client can be made: {error}")))
    }
}

/// A URL drops path parts of one or two dots even when they are escaped, so `..` would reach another
/// route. No name of ours has that form: a part that names nothing goes out in its place.
fn literal(part: &str) -> &str {
    if matches!(part, "." | "..") { "-" } else { part }
}

async fn exchange(request: RequestBuilder) -> Result<(u16, HeaderMap, Vec<u8>), Error> {
    read_whole(request.send().await.map_err(Error::from_transport)?).await
}

/// Status, headers and body of an answer that is not long.
pub(crate) async fn read_whole(mut response: reqwest::Response) -> Result<(u16, HeaderMap, Vec<u8>), Error> {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Error::from_transport)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Error::Decode { status, why: format!("longer than {ANSWER_BYTES_MAX} bytes") });
        }
        body.extend_from_slice(&chunk);
    }
    Ok((status, headers, body))
}

impl<'a, B> Call<'a, B> {
    /// A POST of `body`.
    pub(crate) fn post(path: &'a [&'a str], body: B) -> Self {
        let (once, if_match, wait) = (None, None, Duration::ZERO);
        Self { method: Method::POST, path, query: &[], body: Some(body), once, if_match, wait }
    }
}

impl<'a> Call<'a, ()> {
    /// A GET.
    pub(crate) fn get(path: &'a [&'a str], query: &'a [(&'a str, String)]) -> Self {
        let (once, if_match, wait) = (None, None, Duration::ZERO);
        Self { method: Method::GET, path, query, body: None, once, if_match, wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, path: &[&str]) -> String {
        Client::new(base, "k").unwrap().url(path, &[]).to_string()
    }

    #[test]
    fn parts_of_a_path_are_escaped_and_cannot_leave_their_place() {
        assert_eq!(url("http://h:1", &["event-queues", "a/b?c"]), "http://h:1/v1/event-queues/a%2Fb%3Fc");
        assert_eq!(url("http://h/p/", &["events", ".."]), "http://h/p/v1/events/-");
    }

    #[test]
    fn a_claim_may_take_as_long_as_it_waits_and_a_call_more() {
        let client = Client::new("http://h", "k").unwrap().with_call_timeout(Duration::from_secs(2));
        let limit = |wait| {
            let call = Call { wait, ..Call::post(&["events"], ()) };
            client.prepare(call).build().unwrap().timeout().copied()
        };
        assert_eq!(limit(Duration::ZERO), Some(Duration::from_secs(2)));
        assert_eq!(limit(Duration::from_secs(20)), Some(Duration::from_secs(22)));
    }

    #[test]
    fn an_address_that_cannot_be_served_is_refused_with_its_reason() {
        for bad in ["127.0.0.1:7480", "ftp://h", "http://user:pw@h", ""] {
            assert!(matches!(Client::new(bad, "k"), Err(Error::Setup { .. })), "{bad}");
        }
        assert!(matches!(Client::new("http://h", "line\nbreak"), Err(Error::Setup { .. })));
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let client = Client::new("http://h", "nvk_secret").unwrap();
        assert!(!format!("{client:?}").contains("nvk_secret"));
    }
}
