//! The real clock: paced UDP sockets and the relay that emulates a link.
