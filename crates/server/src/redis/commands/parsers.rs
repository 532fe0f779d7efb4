//! Which parser reads which command.
//!
//! Lives here: one line for each command and subcommand. Not here: the parsers.

use super::{
    client, client_kill, client_list, command_info, config, connection, flush, hello, help, info, keys, scan,
    transaction, xack, xadd, xautoclaim, xclaim, xdel, xgroup, xinfo, xpending, xrange, xread, xreadgroup,
    xsetid, xtrim,
};
use crate::redis::plan::Parse;

/// The parser of the command of this full name, in lower case; none where the command is not built yet.
pub(crate) fn parser(name: &str) -> Option<Parse> {
    about_connection(name).or_else(|| about_keys(name)).or_else(|| about_streams(name))
}

fn about_connection(name: &str) -> Option<Parse> {
    Some(match name {
        "auth" => hello::auth,
        "client|getname" => client::get_name,
        "client|id" => client::id,
        "client|info" => client_list::info,
        "client|kill" => client_kill::kill,
        "client|list" => client_list::list,
        "client|no-evict" => client::no_evict,
        "client|no-touch" => client::no_touch,
        "client|setinfo" => client::set_info,
        "client|setname" => client::set_name,
        "client|unblock" => client::unblock,
        "command" => command_info::all_commands,
        "command|count" => command_info::count,
        "command|docs" => command_info::docs,
        "command|info" => command_info::some_commands,
        "command|list" => command_info::list,
        "config|get" => config::get,
        "config|set" => config::set,
        "discard" => transaction::discard,
        "echo" => connection::echo,
        "exec" => transaction::exec,
        "function|flush" => flush::functions,
        "hello" => hello::hello,
        "info" => info::info,
        "multi" => transaction::multi,
        "ping" => connection::ping,
        "quit" => connection::quit,
        "reset" => connection::reset,
        "script|flush" => flush::scripts,
        "select" => connection::select,
        "time" => connection::time,
        "unwatch" => transaction::unwatch,
        "watch" => transaction::watch,
        "client|help" | "command|help" | "config|help" | "function|help" | "object|help" | "script|help" => {
            help::help
        }
        _ => return None,
    })
}

fn about_keys(name: &str) -> Option<Parse> {
    Some(match name {
        "dbsize" => scan::size,
        "del" | "unlink" => keys::delete,
        "exists" => keys::exists,
        "flushall" | "flushdb" => flush::streams,
        "keys" => scan::keys,
        "object|encoding" => keys::encoding,
        "pttl" | "ttl" => keys::time_to_live,
        "rename" => keys::rename,
        "scan" => scan::scan,
        "type" => keys::kind,
        _ => return None,
    })
}

fn about_streams(name: &str) -> Option<Parse> {
    Some(match name {
        "xack" => xack::parse,
        "xackdel" => xack::parse_del,
        "xadd" => xadd::parse,
        "xautoclaim" => xautoclaim::parse,
        "xclaim" => xclaim::parse,
        "xdel" => xdel::parse,
        "xdelex" => xdel::parse_ex,
        "xgroup|create" => xgroup::parse_create,
        "xgroup|createconsumer" => xgroup::parse_create_consumer,
        "xgroup|delconsumer" => xgroup::parse_delete_consumer,
        "xgroup|destroy" => xgroup::parse_destroy,
        "xgroup|help" => xgroup::parse_help,
        "xgroup|setid" => xgroup::parse_set_id,
        "xinfo|consumers" => xinfo::parse_consumers,
        "xinfo|groups" => xinfo::parse_groups,
        "xinfo|help" => xinfo::parse_help,
        "xinfo|stream" => xinfo::parse_stream,
        "xlen" => xrange::parse_length,
        "xnack" => xack::parse_nack,
        "xpending" => xpending::parse,
        "xrange" => xrange::parse,
        "xread" => xread::parse,
        "xreadgroup" => xreadgroup::parse,
        "xrevrange" => xrange::parse_reverse,
        "xsetid" => xsetid::parse,
        "xtrim" => xtrim::parse,
        _ => return None,
    })
}
