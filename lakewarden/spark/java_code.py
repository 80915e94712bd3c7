"""Classes of Java that Spark asks for where Python cannot answer, made by Spark's own compiler."""

from __future__ import annotations

from typing import Any


def instance_of(jvm: Any, name: str, code: str) -> Any:
    """A new object of the class of that name in some code, which sees all of Spark's classes."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(code)
    return compiler.getClassLoader().loadClass(name).newInstance()
