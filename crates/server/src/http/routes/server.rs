//! Routes of the server itself, for people.
//!
//! Lives here: their part of the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test
//! holds the two to each other).

use naven_api::ErrorCode;

use super::route::{ADMIN, CURSOR, Data, LIMIT, Need, READ, Route, ok};

/// In the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/me",
        summary: "Show the key that asks",
        scope: Some(Need::Key),
        query: &[],
        body: None,
        answers: &ok(Data::Of("MeReply"), "The key, without its secret"),
        errors: &[ErrorCode::UnknownField],
    },
    Route {
        method: "GET",
        path: "/v1/audit-log",
        summary: "List what operators changed, newest first; needs a key that reaches every queue",
        scope: ADMIN,
        query: &[CURSOR, LIMIT],
        body: None,
        answers: &ok(Data::ListOf("AuditReply"), "One page"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::InvalidCursor],
    },
    Route {
        method: "GET",
        path: "/v1/system",
        summary: "Show the server's figures and limits",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("SystemReply"), "Figures and limits"),
        errors: &[ErrorCode::UnknownField],
    },
    Route {
        method: "GET",
        path: "/v1/system/nodes",
        summary: "List the nodes that serve this store",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("NodesReply"), "The nodes"),
        errors: &[ErrorCode::UnknownField],
    },
    Route {
        method: "GET",
        path: "/v1/system/backup",
        summary: "Stream a backup of everything; needs a key that reaches every queue",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Bytes, "A backup; one that breaks off before its end mark is none"),
        errors: &[ErrorCode::UnknownField, ErrorCode::OperationRunning, ErrorCode::Draining],
    },
    Route {
        method: "GET",
        path: "/healthz",
        summary: "Whether the process turns its loop",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Of("HealthReply"), "It does"),
        errors: &[],
    },
    Route {
        method: "GET",
        path: "/readyz",
        summary: "Whether calls will be served",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Of("HealthReply"), "They will"),
        errors: &[ErrorCode::StorageUnavailable, ErrorCode::Draining],
    },
    Route {
        method: "GET",
        path: "/metrics",
        summary: "Every figure of the server, for Prometheus; needs a key that reaches every queue, and the scope \
                  admin will do as well, unless the setting metrics says otherwise",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::Text, "The text format of Prometheus, version 0.0.4"),
        errors: &[],
    },
    Route {
        method: "GET",
        path: "/openapi.json",
        summary: "This document",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Raw, "OpenAPI 3.1"),
        errors: &[],
    },
];
