//! Histories made up for each promise: those that break it, and their nearest neighbours that do not.

mod counting;
mod ending;
mod leases;
mod random;
mod reference;
mod story;
mod world;
