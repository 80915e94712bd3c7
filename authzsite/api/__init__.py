"""The HTTP surfaces for programs; the only place that knows rest_framework."""
