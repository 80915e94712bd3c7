"""A stand-in of Apache Ranger Admin: a process of its own that keeps policies and roles by Ranger's rules.

It is written from Ranger's documents and its public behaviour, not from its code: what a client can trip
over is there (one policy a resource, a PUT that replaces, labels that a PUT loses, 404 by name and 400 by id,
lists without a total, accounts that see a part), and what no test asks for is not.
"""
