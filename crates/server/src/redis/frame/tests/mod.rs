//! The codec from outside: bytes in, commands out, and the other way round.

mod bounded;
mod corpus;
mod cost;
mod hostile;
mod malformed;
mod output;
mod pieces;
mod replies;
mod typed;
mod wellformed;
