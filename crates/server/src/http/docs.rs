//! The calls and the errors, as pages: offline, in the binary.
//!
//! Lives here: making the pages from the routes' table and from `docs/errors.md`. Not here: the table
//! (`routes`), and the document for programs (`openapi.rs`).

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use naven_api::ErrorCode;

use super::openapi::errors_of;
use super::routes::{Kind, Need, Route, every, examples};
use crate::failure::Failure;

const ERRORS: &str = include_str!("../../../../docs/errors.md");
/// Nothing is loaded from anywhere, and nothing runs.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
    color:#1d2129;background:#fff}code,pre{font:14px/1.5 ui-monospace,monospace}pre{background:#f3f4f6;\
    padding:.75rem;overflow-x:auto;border-radius:6px}h2{border-top:1px solid #d8dbe0;padding-top:1rem}\
    table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .75rem .15rem 0;vertical-align:top}\
    @media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#16181c}pre{background:#22252b}\
    a{color:#8ab4f8}h2{border-color:#3a3f47}}";

/// `GET /docs`: every call, with a line to paste.
pub(super) async fn calls() -> Response {
    static PAGE: LazyLock<Bytes> =
        LazyLock::new(|| Bytes::from(page("Naven Events: the HTTP calls", &all_calls())));
    html(PAGE.clone())
}

/// `GET /docs/errors`: every failure, and what to do about it.
pub(super) async fn errors() -> Response {
    static PAGE: LazyLock<Bytes> =
        LazyLock::new(|| Bytes::from(page("Naven Events: errors", &markdown(ERRORS))));
    html(PAGE.clone())
}

/// `GET /docs/errors/{code}`: one of them, by its number.
pub(super) async fn error(params: RawPathParams, _: Request) -> Response {
    let number = params.iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
    let code = number.parse().ok().and_then(ErrorCode::from_code);
    let heading = code.map(|code| format!("\n## {} {}\n", code.code(), code.reason()));
    let section = heading.and_then(|heading| {
        let (_, behind) = ERRORS.split_once(&heading)?;
        let body = behind.split("\n## ").next().unwrap_or_default();
        Some(format!("{heading}{body}"))
    });
    match section {
        Some(section) => html(Bytes::from(page(&format!("Naven Events: {number}"), &markdown(&section)))),
        None => Failure::new(ErrorCode::RouteNotFound, "no such error: see /docs/errors").into_response(),
    }
}

fn html(page: Bytes) -> Response {
    let mut response = Response::new(Body::from(page));
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
    response
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n\
         <body>\n<h1>{title}</h1>\n{body}</body></html>\n"
    )
}

fn all_calls() -> String {
    let mut text = String::from(
        "<p>Every answer is <code>{code, message, data}</code>; code 0 is success. The same for programs: \
         <a href=\"/openapi.json\">openapi.json</a>. Failures: <a href=\"/docs/errors\">errors</a>. The lines \
         below take the server and the key from two variables:</p>\n\
         <pre>export NAVEN_API_URL=http://127.0.0.1:7480\nexport NAVEN_API_KEY=nvk_...</pre>\n<ul>\n",
    );
    for route in every() {
        let (name, anchor) = (escaped(&call(route)), anchor(route));
        let summary = escaped(route.summary);
        put(&mut text, format_args!("<li><a href=\"#{anchor}\"><code>{name}</code></a> {summary}</li>\n"));
    }
    text.push_str("</ul>\n");
    every().for_each(|route| one_call(&mut text, route));
    text
}

fn one_call(text: &mut String, route: &Route) {
    let (name, summary) = (escaped(&call(route)), escaped(route.summary));
    put(text, format_args!("<h2 id=\"{}\"><code>{name}</code></h2>\n<p>{summary}. ", anchor(route)));
    match route.scope {
        None => text.push_str("Asks for no key.</p>\n"),
        Some(Need::Key) => text.push_str("Any key will do.</p>\n"),
        Some(Need::Scope(scope)) => {
            put(text, format_args!("Needs the scope <code>{}</code>.</p>\n", scope.as_str()));
        }
    }
    put(text, format_args!("<pre>{}</pre>\n", escaped(&curl(route))));
    if !route.query.is_empty() {
        text.push_str("<table><tr><th>parameter</th><th>is</th><th></th></tr>\n");
        for parameter in route.query {
            let kind = match parameter.kind {
                Kind::Text | Kind::Bounded(_) | Kind::Pattern(_) => "a text".to_owned(),
                Kind::Words(words) => words.join(", "),
                Kind::Time => "an RFC 3339 time".to_owned(),
                Kind::Flag => "true or false".to_owned(),
                Kind::Integer(min, max) => format!("{min} to {max}"),
            };
            let about = escaped(parameter.about);
            let name = parameter.name;
            put(text, format_args!("<tr><td><code>{name}</code></td><td>{kind}</td><td>{about}</td></tr>\n"));
        }
        text.push_str("</table>\n");
    }
    for answers in route.answers {
        let about = escaped(answers.about);
        put(text, format_args!("<p><b>{}</b> {about}.</p>\n", answers.status));
    }
    text.push_str("<p>Fails with ");
    for code in errors_of(route).into_values().flatten() {
        let (number, reason) = (code.code(), code.reason());
        put(text, format_args!("<a href=\"/docs/errors/{number}\" title=\"{reason}\">{number}</a> "));
    }
    text.push_str("</p>\n");
}

/// Writing to a text cannot fail.
fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(what);
}

fn call(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn anchor(route: &Route) -> String {
    let plain = |part: &str| part.trim_matches(['{', '}']).to_owned();
    let parts: Vec<String> = route.path.split('/').filter(|part| !part.is_empty()).map(plain).collect();
    format!("{}-{}", route.method.to_lowercase(), parts.join("-"))
}

/// A line for a shell that makes this call.
fn curl(route: &Route) -> String {
    let path = route.path.replace("{queue}", "mail").replace("{group}", "mail").replace("{name}", "mail");
    let path = path.replace("{id}", if route.path.contains("/keys/") { "KEY_ID" } else { "EVENT_ID" });
    let required = route.query.iter().filter(|parameter| parameter.required);
    let query: Vec<String> = required.map(|parameter| format!("{}=...", parameter.name)).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let mut line = String::from("curl");
    if route.scope.is_some() {
        line.push_str(" -H \"Authorization: Bearer $NAVEN_API_KEY\"");
    }
    if route.method != "GET" && route.method != "POST" || (route.method == "POST" && route.body.is_none()) {
        put(&mut line, format_args!(" -X {}", route.method));
    }
    put(&mut line, format_args!(" \"$NAVEN_API_URL{path}{query}\""));
    if let Some(body) = route.body.and_then(examples::body) {
        put(&mut line, format_args!(" \\\n  --json '{body}'"));
    }
    line
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The few forms that `docs/errors.md` has: headings, lists, code and plain paragraphs.
fn markdown(source: &str) -> String {
    let (mut text, mut is_code, mut is_list) = (String::new(), false, false);
    for line in source.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            text.push_str(if is_code { "<pre>" } else { "</pre>\n" });
            continue;
        }
        if is_code {
            put(&mut text, format_args!("{}\n", escaped(line)));
            continue;
        }
        let goes_on = line.starts_with("- ") || line.starts_with("  ");
        if is_list && !goes_on {
            text.push_str("</ul>\n");
            is_list = false;
        }
        if let Some(item) = line.strip_prefix("- ") {
            if !is_list {
                text.push_str("<ul>\n");
                is_list = true;
            }
            put(&mut text, format_args!("<li>{}\n", inline(item)));
        } else if let Some(heading) = line.strip_prefix("## ") {
            let number = heading.split(' ').next().unwrap_or_default();
            put(&mut text, format_args!("<h2 id=\"{number}\">{}</h2>\n", inline(heading)));
        } else if line.is_empty() {
            text.push_str("<p>\n");
        } else if !line.starts_with("# ") {
            put(&mut text, format_args!("{}\n", inline(line)));
        }
    }
    text + if is_list { "</ul>\n" } else { "" }
}

/// Code between backquotes; of a link its text, since pages beside this one are not in the binary.
fn inline(line: &str) -> String {
    let mut text = String::new();
    for (at, part) in line.split('`').enumerate() {
        let part = escaped(part);
        if at % 2 == 1 {
            put(&mut text, format_args!("<code>{part}</code>"));
            continue;
        }
        let mut rest = part.as_str();
        while let Some((before, behind)) = rest.split_once("](") {
            let (ahead, name) = before.rsplit_once('[').unwrap_or((before, ""));
            put(&mut text, format_args!("{ahead}{name}"));
            rest = behind.split_once(')').map_or("", |(_, after)| after);
        }
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_and_every_error_has_its_place() {
        let page = all_calls();
        for route in every() {
            let heading = format!("<h2 id=\"{}\"><code>{}</code></h2>", anchor(route), call(route));
            assert_eq!(page.matches(&heading).count(), 1, "{}", call(route));
        }
        let errors = markdown(ERRORS);
        for code in ErrorCode::ALL {
            assert!(errors.contains(&format!("<h2 id=\"{}\">", code.code())), "{code}");
        }
        assert!(!errors.contains('`') && !errors.contains("](") && !errors.contains("##"));
        assert_eq!(errors.matches("<ul>").count(), errors.matches("</ul>").count());
    }

    #[test]
    fn a_line_to_paste_says_what_the_call_takes() {
        let of = |method: &str, path: &str| {
            let mut routes = every();
            curl(routes.find(|route| route.method == method && route.path == path).expect("it is a route"))
        };
        assert_eq!(
            of("POST", "/v1/event-queues/{queue}/pause"),
            "curl -H \"Authorization: Bearer $NAVEN_API_KEY\" \"$NAVEN_API_URL/v1/event-queues/mail/pause\" \\\n  \
             --json '{\"reason\": \"moving the database\"}'"
        );
        assert_eq!(of("GET", "/healthz"), "curl \"$NAVEN_API_URL/healthz\"");
        assert!(of("DELETE", "/v1/keys/{id}").contains("-X DELETE \"$NAVEN_API_URL/v1/keys/KEY_ID\""));
        assert!(of("GET", "/v1/dead-letters").ends_with("/v1/dead-letters?queueId=...\""));
    }

    #[test]
    fn what_is_written_is_no_markup() {
        assert_eq!(inline("a < `b<c` [d](e.md#f) g"), "a &lt; <code>b&lt;c</code> d g");
    }
}
