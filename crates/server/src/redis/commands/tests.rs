//! Malformed calls of the X commands, against what Valkey 9.1.2 answers to each (`valkey9_errors.txt`: a call, a
//! tab, the error). Key `k` with group `g` is there, key `none` and other groups are not.

use bytes::Bytes;
use naven_store::reply::{OpError, OpReply, Refused};

use crate::config::ServerLimits;
use crate::redis::command::resolve;
use crate::redis::frame::{Protocol, Reply, Request};
use crate::redis::plan::{Answer, Ask, Need, Plan, Setting, Touched, Tried};

const VALKEY: &str = include_str!("valkey9_errors.txt");

fn call(line: &str) -> Request {
    let parts = line.split(' ').map(|part| Bytes::copy_from_slice(part.as_bytes()));
    Request::of(parts.collect()).expect("a test names a command")
}

/// What an engine that has `k` and its `g` says to a question.
fn answer(ask: &Ask) -> Answer {
    let missing = ask.needs.iter().find_map(|need: &Need| match &need.on {
        Touched::Stream(stream) | Touched::Group { stream, .. } if stream == "none" => {
            Some(Refused::StreamNotFound)
        }
        Touched::Group { group, .. } if group != "g" => Some(Refused::QueueNotFound),
        _ => None,
    });
    missing.map_or(Ok(OpReply::Done), |refused| Err(OpError::Refused(refused)))
}

fn reply(line: &str) -> Reply {
    let (call, limits) = (call(line), ServerLimits::default());
    let command = match resolve(&call) {
        Ok(command) => command,
        Err(error) => return error.reply(),
    };
    let parse = super::parser(command.name).expect("it has a parser");
    match parse(&call, Setting { limits: &limits }) {
        Err(reply) | Ok(Plan::Reply(reply)) => reply,
        Ok(Plan::Ask(asking)) => {
            let answers = asking.asks.iter().map(answer).collect();
            (asking.reply)(answers, Protocol::Resp2)
        }
        Ok(Plan::Wait(mut waiting)) => {
            let answers = waiting.asks().iter().map(answer).collect();
            match waiting.tried(answers, Protocol::Resp2) {
                Tried::Over(reply) => reply,
                Tried::Nothing(_) => waiting.empty(),
            }
        }
        Ok(_) => panic!("{line} is about a stream"),
    }
}

#[test]
fn malformed_calls_get_the_errors_of_valkey() {
    for row in VALKEY.lines() {
        let (line, wanted) = row.split_once('\t').expect("a row has a tab");
        assert_eq!(reply(line), Reply::error(wanted.to_owned()), "{line}");
    }
}

#[test]
fn names_of_consumers_of_the_http_door_are_refused() {
    let wanted = Reply::error("ERR consumer names that begin with @http belong to the HTTP door");
    for line in [
        "xreadgroup group g @http streams k >",
        "xautoclaim k g @http2 0 0",
        "xclaim k g @http 0 1-1",
        "xgroup createconsumer k g @http:a",
    ] {
        assert_eq!(reply(line), wanted, "{line}");
    }
    assert_eq!(reply("xgroup delconsumer k g @http"), Reply::Integer(0));
}
