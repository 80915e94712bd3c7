"""Rules of separation of duties: what nobody may have both of, who has it already, and who is let."""
