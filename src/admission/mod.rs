//! Routes, the wire form of answers, audit.
