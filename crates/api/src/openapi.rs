//! How our own words look in the OpenAPI document.
//!
//! Lives here: the schemas of types whose JSON is a text or a number with a rule. Not here: routes
//! (`naven-server`) and the schemas that are derived beside their types.

use std::borrow::Cow;

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::{
    AckResult, Backoff, ConsumerId, DedupeKey, DelaySeconds, EntryId, ErrorText, EventId, KeyId,
    LeaseSeconds, LeaseToken, NoteText, OperationId, Percent, QueueId, QueueName, StartFrom, StreamName,
    Timestamp, WaitSeconds, headers::Headers, payload::Payload,
};

macro_rules! schemas {
    ($($type:ty, $name:literal => $schema:expr;)+) => {
        $(
            impl ToSchema for $type {
                fn name() -> Cow<'static, str> {
                    Cow::Borrowed($name)
                }
            }

            impl PartialSchema for $type {
                fn schema() -> RefOr<Schema> {
                    $schema.build().into()
                }
            }
        )+
    };
}

schemas! {
    EventId, "EventId" => text("evt_ and 26 base32 characters").pattern(Some("^evt_[0-9a-hjkmnp-tv-z]{26}$"));
    QueueId, "QueueId" => text("evq_ and 26 base32 characters").pattern(Some("^evq_[0-9a-hjkmnp-tv-z]{26}$"));
    KeyId, "KeyId" => text("key_ and 26 base32 characters").pattern(Some("^key_[0-9a-hjkmnp-tv-z]{26}$"));
    OperationId, "OperationId" =>
        text("op_ and 26 base32 characters").pattern(Some("^op_[0-9a-hjkmnp-tv-z]{26}$"));
    QueueName, "QueueName" =>
        text(QueueName::RULE).pattern(Some("^(?!evq_)[a-z0-9][a-z0-9._-]{0,127}$"));
    StreamName, "StreamName" => text(StreamName::RULE)
        .pattern(Some("^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f-\\u009f]{1,512}$"));
    DedupeKey, "DedupeKey" => text(DedupeKey::RULE).min_length(Some(1)).max_length(Some(255));
    EntryId, "EntryId" => text(EntryId::RULE).pattern(Some("^([0-9]{1,19}|1[0-7][0-9]{18})-([0-9]{1,19}|1[0-7][0-9]{18})$"));
    StartFrom, "StartFrom" => text(StartFrom::RULE)
        .pattern(Some("^(new|start|([0-9]{1,19}|1[0-7][0-9]{18})-([0-9]{1,19}|1[0-7][0-9]{18})|[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ].+)$"));
    ConsumerId, "ConsumerId" => text(ConsumerId::RULE).pattern(Some("^[ -~]{1,128}$"));
    Percent, "Percent" => integer(0, crate::limits::PERCENT_MAX);
    NoteText, "NoteText" => text("What the holder is at; cut at 1 KiB");
    AckResult, "AckResult" => ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .description(Some("Any JSON value, kept byte for byte: at most 4 KiB, nested at most 64 deep"));
    ErrorText, "ErrorText" => text("What went wrong; cut at 8 KiB");
    LeaseToken, "LeaseToken" => text("An opaque secret");
    Timestamp, "Timestamp" =>
        text(Timestamp::RULE).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    LeaseSeconds, "LeaseSeconds" => integer(LeaseSeconds::MIN, LeaseSeconds::MAX);
    WaitSeconds, "WaitSeconds" => integer(WaitSeconds::MIN, WaitSeconds::MAX);
    DelaySeconds, "DelaySeconds" => integer(DelaySeconds::MIN, DelaySeconds::MAX);
    Payload, "Payload" => ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("Any JSON object, kept byte for byte"))
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(true)));
    Headers, "Headers" => ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("Names and texts that travel with the event: at most 32, each at most 1 KiB"))
        .max_properties(Some(crate::limits::HEADERS_MAX))
        .property_names(Some(text("A name").min_length(Some(1)).max_length(Some(crate::limits::HEADER_BYTES_MAX))))
        .additional_properties(Some(text("A text").max_length(Some(crate::limits::HEADER_BYTES_MAX))));
    Backoff, "Backoff" => ObjectBuilder::new()
        .description(Some("initial * factor^(n-1), at most max; then delay * (1 - jitter) + random * delay * jitter"))
        .property("initialSeconds", integer(0, crate::limits::BACKOFF_SECONDS_MAX).build())
        .property("factor", number(1.0, 10.0).build())
        .property("maxSeconds", integer(0, crate::limits::BACKOFF_SECONDS_MAX).build())
        .property("jitter", number(0.0, 1.0).build());
}

/// A type's fields where they stand in another object, or do not: none of them is required there.
macro_rules! at_the_top {
    ($($marker:ident, $type:ty;)+) => {
        $(
            pub(crate) struct $marker;

            impl ToSchema for $marker {
                fn name() -> Cow<'static, str> {
                    Cow::Borrowed(stringify!($marker))
                }

                fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                    <$type as ToSchema>::schemas(schemas);
                }
            }

            impl PartialSchema for $marker {
                fn schema() -> RefOr<Schema> {
                    let mut schema = <$type as PartialSchema>::schema();
                    if let RefOr::T(Schema::Object(object)) = &mut schema {
                        object.required.clear();
                    }
                    schema
                }
            }
        )+
    };
}

at_the_top! {
    DeliveryAtTheTop, crate::event::DeliveryReply;
    DeadAtTheTop, crate::event::DeadReply;
}

fn text(description: &'static str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

fn integer(min: u32, max: u32) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(min)).maximum(Some(max))
}

fn number(min: f64, max: f64) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Number).minimum(Some(min)).maximum(Some(max))
}
