"""The law of Lakewarden: who may do what to which data.  Standard library only; runs inside Spark jobs too."""

__version__ = "0.1.0"
