"""Emergencies: opened by who has the duty, seen while they last, reviewed by another."""
