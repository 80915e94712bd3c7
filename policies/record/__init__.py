"""The record: the one writer, what must hold after a change, the history, and proofs that it is whole."""
