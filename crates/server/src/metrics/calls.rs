//! Calls of the HTTP door.
//!
//! Lives here: counting and timing each, by its route. Not here: what they are answered (`http`).

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::MatchedPath;
use http::{Method, Request, StatusCode};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry};
use tokio::time::Instant;

use super::page::registered;

/// The route of what has none. Paths are never labels: callers choose them.
const NO_ROUTE: &str = "none";
/// The status of a call whose caller went away before it was answered.
const ABORTED: &str = "aborted";
/// Upper bounds of the histogram, in seconds: a claim may wait for a minute.
const BOUNDS: [f64; 15] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Calls of the HTTP door.
pub(crate) struct Calls {
    answered: IntCounterVec,
    seconds: HistogramVec,
    in_flight: IntGauge,
}

/// One call, from its head to its answer's. Dropping it before is that its caller went away.
pub(crate) struct Call<'a> {
    calls: &'a Calls,
    route: Taken,
    method: &'static str,
    status: &'static str,
    began: Instant,
}

/// Which route a call took: filled by the router.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken(Arc<OnceLock<MatchedPath>>);

impl Calls {
    pub(super) fn new(registry: &Registry) -> Self {
        let answered = Opts::new(
            "naven_http_requests_total",
            "Requests that were answered, by class of status such as 2xx; aborted: the caller went away before. \
             Route none is no route of the server",
        );
        let seconds = HistogramOpts::new(
            "naven_http_request_duration_seconds",
            "From a request's head to the head of its answer, waiting claims included",
        );
        let in_flight = "Requests that are not answered yet";
        Self {
            answered: registered(registry, IntCounterVec::new(answered, &["route", "method", "status"])),
            seconds: registered(registry, HistogramVec::new(seconds.buckets(BOUNDS.to_vec()), &["route"])),
            in_flight: registered(registry, IntGauge::new("naven_http_requests_in_flight", in_flight)),
        }
    }

    /// A call begins, whose route is noted in `request`.
    pub(crate) fn begin(&self, request: &mut Request<Body>) -> Call<'_> {
        self.in_flight.inc();
        let route = Taken::default();
        request.extensions_mut().insert(route.clone());
        let method = method(request.method());
        Call { calls: self, route, method, status: ABORTED, began: Instant::now() }
    }
}

impl Call<'_> {
    /// It is answered with this.
    pub(crate) fn answered(mut self, status: StatusCode) {
        self.status = class(status);
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let route = self.route.0.get().map_or(NO_ROUTE, MatchedPath::as_str);
        self.calls.in_flight.dec();
        self.calls.answered.with_label_values(&[route, self.method, self.status]).inc();
        if self.status != ABORTED {
            self.calls.seconds.with_label_values(&[route]).observe(self.began.elapsed().as_secs_f64());
        }
    }
}

/// Notes which route a request takes.
pub(crate) fn note_route(request: Request<Body>) -> Request<Body> {
    let extensions = request.extensions();
    if let (Some(Taken(slot)), Some(path)) = (extensions.get::<Taken>(), extensions.get::<MatchedPath>()) {
        // A request takes one route.
        let _ = slot.set(path.clone());
    }
    request
}

/// Callers may send any word for a method.
fn method(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
