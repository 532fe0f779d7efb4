//! Routes of bearer keys, for people.
//!
//! Lives here: their part of the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test
//! holds the two to each other).

use naven_api::ErrorCode;

use super::route::{ADMIN, CURSOR, Data, LIMIT, Route, created, errors, ok};

/// In the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/keys",
        summary: "Make a key that may do no more than the asking one",
        scope: ADMIN,
        query: &[],
        body: Some("KeyCreateRequest"),
        answers: &created(Data::Of("KeyReply"), "The key, with its secret, which is shown this once"),
        errors: errors!(NameTaken, WrongState),
    },
    Route {
        method: "GET",
        path: "/v1/keys",
        summary: "List the keys that may do no more than the asking one, by name",
        scope: ADMIN,
        query: &[CURSOR, LIMIT],
        body: None,
        answers: &ok(Data::ListOf("KeyReply"), "One page, without secrets"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::InvalidCursor],
    },
    Route {
        method: "GET",
        path: "/v1/keys/{id}",
        summary: "Show a key",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("KeyReply"), "The key, without its secret"),
        errors: &[ErrorCode::UnknownField, ErrorCode::OtherNotFound],
    },
    Route {
        method: "PATCH",
        path: "/v1/keys/{id}",
        summary: "Change what a key may do, from the next call on",
        scope: ADMIN,
        query: &[],
        body: Some("KeyPatchRequest"),
        answers: &ok(Data::Of("KeyReply"), "The key as it is now"),
        errors: errors!(OtherNotFound, WrongState, VersionMismatch),
    },
    Route {
        method: "DELETE",
        path: "/v1/keys/{id}",
        summary: "Revoke a key, from the next call on",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("KeyDeletedReply"), "It is no key any more"),
        errors: errors!(InvalidField, UnknownField, OtherNotFound, WrongState, VersionMismatch),
    },
    Route {
        method: "POST",
        path: "/v1/keys/{id}/rotate",
        summary: "Give a key a new secret; the one of before is taken for a while",
        scope: ADMIN,
        query: &[],
        body: Some("KeyRotateRequest"),
        answers: &ok(Data::Of("KeyReply"), "The key, with its new secret, which is shown this once"),
        errors: errors!(OtherNotFound, WrongState, VersionMismatch),
    },
];
