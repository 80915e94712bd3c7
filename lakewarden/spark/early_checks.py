"""What Spark would open to learn its columns is refused before it is opened.

A rule that Spark runs before it looks up anything hands over the first name that is not resolved, and
each source that a program reads by its format (Spark 4 keeps those in the plan).  Connections without a
catalog are seen where Spark asks who speaks the database's dialect, in every version.  Both are classes of
Java, so Spark's own compiler makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakewarden.spark import errors, java_code

_CODE = """
package lakewarden;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.jdbc.JdbcDialect;
import scala.Function1;
import scala.collection.Iterator;

public class Earlier {
    public Rule rule(Function1 look) {
        return new Unresolved(look);
    }

    public JdbcDialect dialect(Function1 look) {
        return new Connections(look);
    }
}

class Unresolved extends Rule {
    private final Function1 look;

    Unresolved(Function1 look) {
        this.look = look;
    }

    public TreeNode apply(TreeNode plan) {
        if (look != null) seek(plan, false);
        return plan;
    }

    private boolean seek(TreeNode node, boolean named) {
        String name = node.getClass().getSimpleName();
        boolean source = name.equals("UnresolvedDataSource");
        if (source || (!named && name.startsWith("Unresolved"))) look.apply(node);
        named = named || (!source && name.startsWith("Unresolved"));
        Iterator below = node.children().iterator();
        while (below.hasNext()) named = seek((TreeNode) below.next(), named);
        return named;
    }
}

class Connections extends JdbcDialect {
    private final Function1 look;

    Connections(Function1 look) {
        this.look = look;
    }

    public boolean canHandle(String url) {
        StackTraceElement[] callers = new Throwable().getStackTrace();
        for (int place = 0; place < callers.length; place++) {
            String from = callers[place].getClassName(), method = callers[place].getMethodName();
            boolean reads = from.endsWith(".DataFrameReader") && method.equals("jdbc");
            if (reads || from.endsWith(".JdbcRelationProvider")) look.apply(url);
        }
        return false;
    }
}
"""


class _Looking:
    """Hands what Java found to Python, which raises to refuse it."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any, look: Callable[[Any], None]) -> None:
        self._jvm, self._look = jvm, look

    def apply(self, found: Any) -> None:
        try:
            self._look(found)
        except Exception as error:  # noqa: BLE001 - whatever fails here, nothing must be opened
            raise errors.as_java(self._jvm, error) from None


class Rules:
    """Spark asks it for a rule when it builds a session's analyser; `look` is None without a guard."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any) -> None:
        self._jvm, self._classes = jvm, java_code.instance_of(jvm, "lakewarden.Earlier", _CODE)
        self.look: Callable[[Any, Any], None] | None = None
        self._dialect: Any = None

    def apply(self, session: Any) -> Any:
        look = self.look
        if look is None:
            return self._classes.rule(None)
        return self._classes.rule(_Looking(self._jvm, lambda source: look(session, source)))

    def begin(self, look: Callable[[Any, Any], None], connects: Callable[[Any], None]) -> None:
        """From now on hand over each session's sources, and each connection without a catalog."""
        self.look, self._dialect = look, self._classes.dialect(_Looking(self._jvm, connects))
        self._jvm.org.apache.spark.sql.jdbc.JdbcDialects.registerDialect(self._dialect)

    def end(self) -> None:
        self.look = None
        self._jvm.org.apache.spark.sql.jdbc.JdbcDialects.unregisterDialect(self._dialect)
