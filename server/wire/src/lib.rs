//! MySQL packets in, packets out; owns no socket.
