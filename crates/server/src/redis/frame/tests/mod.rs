//! The codec from outside: bytes in, commands out, and the other way round.

mod output;
mod reader;
mod replies;
