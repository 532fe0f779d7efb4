//! Handing events to a web server.
//!
//! Lives here: the request for an event with its signature, and what its answer means. Not here: what a consumer does
//! (`naven_client::consumer`).
//!
//! Id, time and signature are those of the Standard Webhooks specification, so that its libraries check them.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use naven_api::DelaySeconds;
use naven_client::consumer::{Delivery, Outcome, StopReason};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use sha2::Sha256;
use tokio::time::{sleep, timeout};

use super::Anything;
use crate::print::note;

/// So much of a refusal goes into the error of an attempt, in bytes.
const ANSWER_BYTES_MAX: usize = 1_024;
/// How a signing secret begins.
const SECRET_PREFIX: &str = "whsec_";
/// Fewest and most bytes of a signing secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Pauses where nobody can be reached: the first, and the longest.
const AWAY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Where events go.
pub(super) struct Forward {
    http: Client,
    url: Url,
    secret: Option<Vec<u8>>,
    /// How often in a row nobody could be reached.
    away: AtomicU32,
}

/// What came of a request.
enum Answered {
    Status(Response),
    /// Nobody has seen the event.
    NotSent(String),
    /// It may have been seen.
    Unknown(String),
}

impl Forward {
    /// To `url`, each request within `limit`, signed by the secret in a file where there is one.
    ///
    /// # Errors
    /// Says which argument cannot be used, and why.
    pub(super) fn new(url: &str, secret: Option<&Path>, limit: Duration) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("forward-to: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("forward-to: http or https is expected, and not {}", url.scheme()));
        }
        let mut http = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(limit)
            .user_agent(concat!("naven/", env!("CARGO_PKG_VERSION")));
        if url.scheme() == "http" {
            // A plain connection trusts nobody, and needs no roots on the machine.
            http = http.tls_certs_only([]);
        }
        let http = http.build().map_err(|error| format!("forward-to: {error}"))?;
        let secret = secret.map(read_secret).transpose()?;
        Ok(Self { http, url, secret, away: AtomicU32::new(0) })
    }

    /// Hands the event over, and says what became of it.
    pub(super) async fn handle(&self, delivery: &Delivery<Anything>, grace: Duration) -> Outcome {
        let request = self.hand_over(delivery);
        tokio::pin!(request);
        let answered = tokio::select! {
            answered = &mut request => answered,
            reason = delivery.cancelled() => {
                // Nobody else may hold the event meanwhile; a connection that is closed is all that can be said.
                let patience = if reason == StopReason::LeaseLost { Duration::ZERO } else { grace };
                match timeout(patience, request).await {
                    Ok(answered) => answered,
                    Err(_) if reason == StopReason::CancelRequested => {
                        Answered::Unknown("it was to stop before the answer came".to_owned())
                    }
                    // It was cut short, which is no failure of its own.
                    Err(_) => return Outcome::Release,
                }
            }
        };
        if !matches!(answered, Answered::NotSent(_)) {
            self.away.store(0, Ordering::Relaxed);
        }
        match answered {
            Answered::Status(response) => outcome(response).await,
            Answered::Unknown(error) => Outcome::Retry { error, delay: None },
            Answered::NotSent(why) => {
                // That is no fault of the event.
                let pause = pause(self.away.fetch_add(1, Ordering::Relaxed));
                note(&format!("{} cannot be reached: {why}", self.shown()));
                tokio::select! {
                    () = sleep(pause) => {}
                    _ = delivery.cancelled() => {}
                }
                Outcome::Release
            }
        }
    }

    async fn hand_over(&self, delivery: &Delivery<Anything>) -> Answered {
        let body = delivery.raw().get().as_bytes().to_vec();
        let headers = self.headers(delivery, &body);
        match self.http.post(self.url.clone()).headers(headers).body(body).send().await {
            Ok(response) => Answered::Status(response),
            // The address has no part in what goes wrong, and may hold a password.
            Err(error) if error.is_connect() => Answered::NotSent(chain(&error.without_url())),
            Err(error) => Answered::Unknown(chain(&error.without_url())),
        }
    }

    /// The address without a password that may be in it.
    fn shown(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{}://{host}", self.url.scheme())
    }

    fn headers(&self, delivery: &Delivery<Anything>, body: &[u8]) -> HeaderMap {
        let (id, now) = (delivery.event().to_string(), unix_seconds());
        let mut all = vec![
            ("webhook-id", id.clone()),
            ("webhook-timestamp", now.to_string()),
            // What must happen once is recognised by it: it is the same at each delivery.
            ("idempotency-key", id.clone()),
            ("naven-queue", visible(delivery.queue())),
            ("naven-attempt", delivery.attempt().to_string()),
            ("naven-fence", delivery.fence().to_string()),
            ("naven-scheduled-at", delivery.scheduled_at().to_string()),
        ];
        if !delivery.headers().is_empty() {
            let json = serde_json::to_string(delivery.headers()).unwrap_or_default();
            all.push(("naven-headers", visible(&json)));
        }
        if let Some(secret) = &self.secret {
            all.push(("webhook-signature", signature(secret, &id, now, body)));
        }
        if let Some(trace) = delivery.trace_context() {
            all.push(("traceparent", trace.traceparent().to_owned()));
            all.extend(trace.tracestate().map(|state| ("tracestate", state.to_owned())));
        }
        let value = |(name, text): (&'static str, String)| {
            Some((HeaderName::from_static(name), HeaderValue::try_from(text).ok()?))
        };
        let mut headers: HeaderMap = all.into_iter().filter_map(value).collect();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers
    }
}

/// The secret that a file holds.
fn read_secret(path: &Path) -> Result<Vec<u8>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("secret-file: {error}"))?;
    let secret = text.trim().strip_prefix(SECRET_PREFIX).and_then(|text| BASE64_STANDARD.decode(text).ok());
    secret.filter(|bytes| SECRET_BYTES.contains(&bytes.len())).ok_or_else(|| {
        let (least, most) = SECRET_BYTES.into_inner();
        format!("secret-file: {SECRET_PREFIX} and {least} to {most} bytes in base64 are expected")
    })
}

/// `v1,` and the base64 of an HMAC-SHA256 over id, time and body.
fn signature(secret: &[u8], id: &str, at: u64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is taken");
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

fn unix_seconds() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// Text as headers can carry it: what is not visible ASCII is escaped as in JSON.
fn visible(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, ' '..='~') {
            all.push(char);
        } else {
            let mut units = [0; 2];
            char.encode_utf16(&mut units).iter().for_each(|unit| all.push_str(&format!("\\u{unit:04x}")));
        }
    }
    all
}

/// How long to wait after so many failures in a row.
fn pause(failures: u32) -> Duration {
    AWAY_PAUSES[0].saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX)).min(AWAY_PAUSES[1])
}

/// What a status says of the event.
async fn outcome(response: Response) -> Outcome {
    let status = response.status();
    if status.is_success() {
        return Outcome::Done;
    }
    let delay = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|text| text.to_str().ok()?.trim().parse::<u32>().ok())
        .and_then(|seconds| DelaySeconds::try_from(seconds).ok());
    let said = first_words(response).await;
    let error = if said.is_empty() { status.to_string() } else { format!("{status}: {said}") };
    match status.as_u16() {
        // It is this event, as it is, that is refused: it would be the next time too.
        400 | 410 | 413 | 415 | 422 => Outcome::DeadLetter { error },
        _ => Outcome::Retry { error, delay },
    }
}

async fn first_words(mut response: Response) -> String {
    let mut said = Vec::new();
    while said.len() < ANSWER_BYTES_MAX
        && let Ok(Some(piece)) = response.chunk().await
    {
        said.extend_from_slice(&piece);
    }
    said.truncate(ANSWER_BYTES_MAX);
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&secret, id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn headers_hold_json_of_any_text() {
        assert_eq!(visible(r#"{"é":"😀~"}"#), r#"{"\u00e9":"\ud83d\ude00~"}"#);
        assert_eq!(visible("a\u{7f}\n"), "a\\u007f\\u000a");
    }

    #[test]
    fn pauses_grow_to_their_bound() {
        let seconds = [0, 1, 4, 5, 31, 32, u32::MAX].map(|failures| pause(failures).as_secs());
        assert_eq!(seconds, [1, 2, 16, 30, 30, 30, 30]);
    }
}
