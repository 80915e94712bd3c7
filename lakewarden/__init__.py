"""The law of Lakewarden: who may do what to which data.  Standard library only, so Spark jobs run it too."""

__version__ = "0.1.0"
