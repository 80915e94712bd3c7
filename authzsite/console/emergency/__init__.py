"""Emergencies: opened by holders of the duty, seen while they last, reviewed by another."""
