//! What of an answer the next call takes.
//!
//! Lives here: the links of the OpenAPI document. Not here: the routes that they join (`routes/`).

use serde_json::json;
use utoipa::openapi::link::Link;

use crate::http::routes::{Data, Route, every};

/// An id in the answer `reply`, by where it stands there, and the parameter of the paths that take it.
const IDS: [(&str, &str, &str, &str); 6] = [
    ("EventReply", "$response.body#/data/id", "/v1/events/", "id"),
    ("ClaimReply", "$response.body#/data/event/id", "/v1/events/", "id"),
    ("QueueReply", "$response.body#/data/id", "/v1/event-queues/", "queue"),
    ("KeyReply", "$response.body#/data/id", "/v1/keys/", "id"),
    ("OperationReply", "$response.body#/data/id", "/v1/operations/", "id"),
    ("StreamReply", "$response.body#/data/name", "/v1/streams/", "name"),
];

/// The links of an answer to calls that take an id of it, and of a claim's also its token.
pub(super) fn of(route: &Route, data: &Data) -> Vec<(String, Link)> {
    let (Data::Of(reply) | Data::OrNull(reply)) = data else { return Vec::new() };
    // Only what makes or hands out something leads on; what acts on it was led to.
    let is_source = match route.method {
        "POST" => !route.path.contains("{id}"),
        _ => false,
    };
    let known = IDS.iter().filter(|(name, ..)| is_source && name == reply);
    let next = known.flat_map(|(_, id, under, parameter)| {
        let takes = move |next: &&Route| {
            next.path.starts_with(under) && next.path[under.len()..].starts_with(&format!("{{{parameter}}}"))
        };
        every().filter(takes).map(|next| link(next, reply, (parameter, id)))
    });
    next.collect()
}

fn link(next: &Route, reply: &str, (parameter, id): (&str, &str)) -> (String, Link) {
    let operation = super::operation_id(next);
    let builder = Link::builder().operation_id(operation.clone()).parameter(parameter, id);
    let settles = ["/heartbeat", "/ack", "/nack"].iter().any(|end| next.path.ends_with(end));
    let link = if reply == "ClaimReply" && settles {
        builder.request_body(Some(json!({"leaseToken": "$response.body#/data/leaseToken"}))).build()
    } else {
        builder.build()
    };
    (operation, link)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_claim_leads_to_its_ack_with_its_token() {
        let claim = every().find(|route| route.path.ends_with("/claim")).expect("there is a claim");
        let links: BTreeMap<_, _> = of(claim, &claim.answers[0].data).into_iter().collect();
        let ack = links.get("post_events_id_ack").expect("it leads there");
        let body = ack.request_body.as_ref().expect("with a body");
        assert_eq!(body["leaseToken"], "$response.body#/data/leaseToken");
        assert_eq!(ack.parameters["id"], "$response.body#/data/event/id");
    }
}
