//! The OpenAPI document.
//!
//! Lives here: the document made of the routes' table and the words' own schemas, and its handler.
//! Not here: the table (`routes.rs`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use naven_api::ErrorCode;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AdditionalProperties, Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Array, Components, ComponentsBuilder, Content, HttpMethod, InfoBuilder, KnownFormat, ObjectBuilder,
    OneOfBuilder, OpenApiBuilder, PathItem, PathsBuilder, Ref, RefOr, Required, ResponseBuilder,
    SchemaFormat,
};

use super::routes::{Data, Kind, Need, Parameter, Route, every, examples};

mod links;
mod requests;
mod words;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const OCTETS: &str = "application/octet-stream";
const TEXT: &str = "text/plain";
const BEARER: &str = "bearer";
/// The scope that a call needs, for programs.
const SCOPE: &str = "x-naven-scope";
/// A queue by its id or name, as bodies and queries name it.
pub(super) const QUEUE_REF: &str = "^(evq_[0-9a-hjkmnp-tv-z]{26}|(?!evq_)[a-z0-9][a-z0-9._-]{0,127})$";

/// `GET /openapi.json`: the document itself, without an envelope.
pub(super) async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi_document()));
    Response::new(Body::from(DOCUMENT.clone()))
}

/// The OpenAPI document of this version, as pretty JSON.
pub fn openapi_document() -> String {
    let info = InfoBuilder::new()
        .title("Naven Events")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Every answer is {code, message, data}; code 0 is success, other codes begin with the HTTP status.",
        ))
        .build();
    let mut paths = PathsBuilder::new();
    for route in every() {
        paths = paths.path(route.path, PathItem::new(method(route.method), operation(route)));
    }
    let document =
        OpenApiBuilder::new().info(info).paths(paths.build()).components(Some(components())).build();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

fn method(name: &str) -> HttpMethod {
    match name {
        "POST" => HttpMethod::Post,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn operation(route: &Route) -> Operation {
    let mut operation =
        OperationBuilder::new().summary(Some(route.summary)).operation_id(Some(operation_id(route)));
    operation = with_parameters(operation, route);
    if let Some(schema) = route.body {
        // Every body may be left away where nothing in it is required.
        let mut content = Content::new(Some(Ref::from_schema_name(schema)));
        content.example = examples::body(schema).and_then(|text| serde_json::from_str(text).ok());
        let body = RequestBodyBuilder::new().content(JSON, content);
        let required = requests::needs_a_body(schema).then_some(Required::True);
        operation = operation.request_body(Some(body.required(required).build()));
    }
    if let Some(need) = route.scope {
        operation = operation.security(SecurityRequirement::new(BEARER, [] as [&str; 0]));
        if let Need::Scope(scope) = need {
            let word = scope.as_str();
            operation = operation
                .description(Some(format!("Needs the scope `{word}`.")))
                .extensions(Some(ExtensionsBuilder::new().add(SCOPE, word).build()));
        }
    }
    for answers in route.answers {
        let response = ResponseBuilder::new()
            .description(answers.about)
            .content(media_type(&answers.data), Content::new(Some(data(&answers.data))));
        let links = links::of(route, &answers.data).into_iter();
        let response = links.fold(response, |response, (name, link)| response.link(name, link));
        operation = operation.response(answers.status, response);
    }
    for (status, codes) in errors_of(route) {
        let about: Vec<String> = codes.iter().map(ToString::to_string).collect();
        let content = Content::new(Some(Ref::from_schema_name("ErrorEnvelope")));
        operation = operation.response(
            status.to_string(),
            ResponseBuilder::new().description(about.join(", ")).content(JSON, content),
        );
    }
    operation.build()
}

/// What its path, its query and its headers take.
fn with_parameters(mut operation: OperationBuilder, route: &Route) -> OperationBuilder {
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let about = match name {
            "queue" | "group" => "The queue's id or name",
            "consumer" => "The consumer's name, with every / in it escaped",
            "name" => "The stream's name, with every / in it escaped",
            "id" if route.path.starts_with("/v1/keys/") => "The key's id",
            _ if route.path.starts_with("/v1/operations") => "The operation's id",
            _ => "The event's id",
        };
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(about))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        operation = operation.parameter(parameter);
    }
    for parameter in route.query {
        operation = operation.parameter(query_parameter(parameter));
    }
    if route.takes_idempotency_key() {
        operation = operation.parameter(idempotency_key());
    }
    if route.takes_trace() {
        operation = operation.parameter(trace_header("traceparent")).parameter(trace_header("tracestate"));
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let words = route.path.split(['/', '-', '.']).filter(|part| !part.is_empty() && *part != "v1");
    let words: Vec<&str> = words.map(|part| part.trim_matches(['{', '}'])).collect();
    format!("{}_{}", route.method.to_lowercase(), words.join("_"))
}

/// The codes of a route by status: its own, and those that every route of its kind can answer.
pub(super) fn errors_of(route: &Route) -> BTreeMap<u16, Vec<ErrorCode>> {
    use ErrorCode::{
        HeadersTooLarge, HostNotAllowed, Internal, InvalidField, KeyExpired, KeyInvalid, KeyMissing,
        MalformedJson, RateLimited, RequestTimeout, TooLarge, UnknownField, UnsupportedMediaType, UriTooLong,
    };
    let mut codes = route.errors.to_vec();
    codes.extend([UriTooLong, HeadersTooLarge, Internal, InvalidField, HostNotAllowed]);
    if route.scope.is_some() {
        codes.extend([KeyMissing, KeyInvalid, KeyExpired, RateLimited, ErrorCode::StorageUnavailable]);
    }
    if matches!(route.scope, Some(Need::Scope(_))) {
        codes.push(ErrorCode::ScopeMissing);
    }
    if route.body.is_some() {
        codes.extend([
            MalformedJson,
            InvalidField,
            UnknownField,
            RequestTimeout,
            TooLarge,
            UnsupportedMediaType,
        ]);
    }
    codes.sort_unstable();
    codes.dedup();
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.http_status()).or_default().push(code);
    }
    by_status
}

fn idempotency_key() -> ParameterBuilder {
    let about = "Repeated with the same key, query and body within a day, the call answers what it answered \
                 first, with the header Idempotent-Replayed: true. Other bodies under the same key are refused";
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[!-~]{1,255}$"));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(text))
}

fn trace_header(name: &str) -> ParameterBuilder {
    let about = "The publisher's trace (W3C Trace Context): its events carry it as traceContext. What is not valid \
                 is passed over";
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
}

fn query_parameter(parameter: &Parameter) -> ParameterBuilder {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let schema = match parameter.kind {
        Kind::Text => text(),
        Kind::Bounded(bytes) => text().min_length(Some(1)).max_length(Some(bytes)),
        Kind::Words(words) => text().enum_values(Some(words.iter().copied())),
        Kind::Pattern(pattern) => text().pattern(Some(pattern)),
        Kind::Time => text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))),
        Kind::Flag => ObjectBuilder::new().schema_type(Type::Boolean),
        Kind::Integer(min, max) => {
            ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(min)).maximum(Some(max))
        }
    };
    ParameterBuilder::new()
        .name(parameter.name)
        .parameter_in(ParameterIn::Query)
        .required(if parameter.required { Required::True } else { Required::False })
        .description(Some(parameter.about))
        .schema(Some(schema))
}

fn data(data: &Data) -> Schema {
    let reference = |name: &str| RefOr::from(Ref::from_schema_name(name));
    let list = |name: &str| {
        ObjectBuilder::new().property("items", Array::new(Ref::from_schema_name(name))).required("items")
    };
    let cursor = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
    match data {
        Data::Of(name) => enveloped(reference(name)),
        Data::OrNull(name) => {
            let null = ObjectBuilder::new().schema_type(Type::Null);
            enveloped(OneOfBuilder::new().item(null).item(reference(name)).into())
        }
        Data::Either(one, other) => {
            enveloped(OneOfBuilder::new().item(reference(one)).item(reference(other)).into())
        }
        Data::ItemsOf(name) => enveloped(list(name).into()),
        Data::ListOf(name) => {
            enveloped(list(name).property("nextCursor", cursor).required("nextCursor").into())
        }
        Data::Raw => ObjectBuilder::new().into(),
        Data::Bytes => {
            let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
            ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
        }
        Data::Text => ObjectBuilder::new().schema_type(Type::String).into(),
        Data::Events(name) => ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(format!("Server-sent events; data of each is one line of {name}")))
            .into(),
    }
}

/// Everything but a backup, a tail and metrics is JSON.
fn media_type(data: &Data) -> &'static str {
    match data {
        Data::Of(_) | Data::Either(..) | Data::OrNull(_) | Data::ListOf(_) | Data::ItemsOf(_) | Data::Raw => {
            JSON
        }
        Data::Bytes => OCTETS,
        Data::Text => TEXT,
        Data::Events(_) => EVENT_STREAM,
    }
}

fn enveloped(data: RefOr<Schema>) -> Schema {
    enveloped_as(ObjectBuilder::new().schema_type(Type::Integer).into(), data)
}

fn enveloped_as(code: RefOr<Schema>, data: RefOr<Schema>) -> Schema {
    ObjectBuilder::new()
        .property("code", code)
        .property("message", ObjectBuilder::new().schema_type(Type::String))
        .property("data", data)
        .required("code")
        .required("message")
        .required("data")
        .into()
}

fn components() -> Components {
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("nvk_...").build();
    let failed =
        enveloped_as(Ref::from_schema_name("ErrorCode").into(), Ref::from_schema_name("ErrorData").into());
    ComponentsBuilder::new()
        .security_scheme(BEARER, SecurityScheme::Http(bearer))
        .schemas_from_iter(requests::closed(words::words()))
        .schema("ResumeRequest", no_fields())
        .schema("ErrorCode", error_code())
        .schema("ErrorEnvelope", failed)
        .build()
}

fn no_fields() -> ObjectBuilder {
    let none = AdditionalProperties::FreeForm(false);
    ObjectBuilder::new().description(Some("No fields")).additional_properties(Some(none))
}

/// Every code, also those that belong to no route: unknown paths and methods.
fn error_code() -> ObjectBuilder {
    let about: Vec<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some(about.join(", ")))
        .enum_values(Some(ErrorCode::ALL.iter().map(|code| code.code())))
}
