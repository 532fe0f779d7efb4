//! The text format of Prometheus, version 0.0.4.
//!
//! Lives here: families of figures, and the text of all of them. Not here: the figures.

use prometheus::core::Collector;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, Registry, TextEncoder};

/// What a text of this form is, as its answer says.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a figure only rises.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// A label's name and value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// Figures that were looked up.
#[derive(Default)]
pub(super) struct Page {
    families: Vec<MetricFamily>,
}

impl Page {
    /// A figure that stands alone.
    pub(super) fn one(&mut self, kind: Kind, name: &str, help: &str, value: f64) {
        self.each(kind, name, help, [([], value)]);
    }

    /// A figure of each of these. Their labels differ: Prometheus refuses all of a text in which two are
    /// alike.
    pub(super) fn each<'a, const N: usize>(
        &mut self,
        kind: Kind,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = ([Label<'a>; N], f64)>,
    ) {
        let samples: Vec<Metric> =
            samples.into_iter().map(|(labels, value)| sample(kind, labels, value)).collect();
        // The library refuses a family without samples.
        if samples.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(match kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
        });
        family.set_metric(samples);
        self.families.push(family);
    }

    /// The text of all of them, and before them of what `counted` counts.
    pub(super) fn text(self, counted: &Registry) -> prometheus::Result<Vec<u8>> {
        let mut text = Vec::new();
        for families in [counted.gather(), self.families] {
            TextEncoder::new().encode(&families, &mut text)?;
        }
        Ok(text)
    }
}

fn sample<const N: usize>(kind: Kind, labels: [Label<'_>; N], value: f64) -> Metric {
    let label = |(name, value): Label<'_>| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value.to_owned());
        pair
    };
    let mut metric = Metric::from_label(labels.into_iter().map(label).collect());
    match kind {
        Kind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        }
        Kind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
    }
    metric
}

/// What was made, once `registry` knows it.
pub(super) fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    made: prometheus::Result<C>,
) -> C {
    let collector = made.expect("its name and labels are right: they are written down here");
    registry.register(Box::new(collector.clone())).expect("each name is registered once");
    collector
}
