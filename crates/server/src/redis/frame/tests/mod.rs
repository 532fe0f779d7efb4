//! The codec from outside: bytes in, commands out, and the other way round.

mod bounded;
mod cost;
mod hostile;
mod malformed;
mod output;
mod pieces;
mod reader;
mod replies;
mod typed;
mod wellformed;
