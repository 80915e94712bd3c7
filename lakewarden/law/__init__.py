"""The law: who may do what to which data, decided over facts.  Pure functions."""
