"""Policies of an Apache Ranger Admin."""
