"""Spark's commands: what each does to which operand, and which of its parts are queries.

A command that stands neither here nor in `writing` is refused by its name.
"""

from __future__ import annotations

from typing import NamedTuple

from lakewarden.spark.actions import ALTER, CREATE_FUNCTION, CREATE_SCHEMA, DROP, READ, USE, WRITE

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_COMMAND = "org.apache.spark.sql.execution.command."


class Plain(NamedTuple):
    """`action` on the operand that the method `target` answers; the methods `queries` answer what is read.

    `view` names the method that says that the operand is a view, `location` the one that answers a place that
    the command makes a table or schema live in, `properties` the one that answers properties that may name
    places, `options` the one that answers how the operand is opened, `comment` the one that answers a remark.
    """

    action: str
    target: str
    queries: tuple[str, ...] = ()
    view: str = ""
    location: str = ""
    properties: str = ""
    options: str = ""
    comment: str = ""


def _all(action: str, target: str, names: str, *, place: str = _LOGICAL) -> dict[str, Plain]:
    return {place + name: Plain(action, target) for name in names.split()}


PLAIN: dict[str, Plain] = {
    # rows
    **_all(WRITE, "table", "DeleteFromTable UpdateTable TruncateTable TruncatePartition"),
    _LOGICAL + "MergeIntoTable": Plain(WRITE, "targetTable", ("sourceTable",)),
    **{
        _LOGICAL + name: Plain(WRITE, "table", ("query",), options="writeOptions")
        for name in ("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic")
    },
    **{
        _LOGICAL + name: Plain(WRITE, "table", ("query",))
        for name in ("InsertOnlyMerge", "ReplaceData", "WriteDelta")
    },
    **_all(WRITE, "tableName", "TruncateTableCommand", place=_COMMAND),
    # shape
    **_all(
        ALTER,
        "table",
        """AddColumns AddPartitions AlterColumn AlterColumns AlterTableClusterBy AlterTableCollation
        CommentOnTable DropColumns DropIndex DropPartitions DropConstraint AddConstraint
        RenameColumn RenamePartitions ReplaceColumns UnsetTableProperties""",
    ),
    _LOGICAL + "SetTableProperties": Plain(ALTER, "table", properties="properties"),
    **_all(
        ALTER,
        "child",
        """AddCheckConstraint AlterViewSchemaBinding RecoverPartitions RepairTable
        SetTableSerDeProperties SetViewProperties UnsetViewProperties""",
    ),
    **_all(ALTER, "table", "AlterTableAddColumnsCommand", place=_COMMAND),
    **_all(
        ALTER,
        "tableName",
        """AlterTableChangeColumnCommand AlterTableChangeColumnCommentsCommand AlterTableDropPartitionCommand
        AlterTableRenamePartitionCommand RepairTableCommand""",
        place=_COMMAND,
    ),
    _COMMAND + "AlterTableUnsetPropertiesCommand": Plain(ALTER, "tableName", view="isView"),
    _COMMAND + "AlterViewSchemaBindingCommand": Plain(ALTER, "name"),
    _COMMAND + "AlterViewAsCommand": Plain(ALTER, "name", ("query",)),
    _LOGICAL + "AlterViewAs": Plain(ALTER, "child", ("query",)),
    _LOGICAL + "SetTableLocation": Plain(ALTER, "table", location="location"),
    _COMMAND + "AlterTableSetLocationCommand": Plain(ALTER, "tableName", location="location"),
    # ends
    **_all(DROP, "child", "DropTable DropView"),
    _COMMAND + "DropTableCommand": Plain(DROP, "tableName", view="isView"),
    _LOGICAL + "DropFunction": Plain(DROP, "child"),
    # descriptions: what it takes to look at a table is what it takes to load it
    **_all(
        READ,
        "table",
        "ShowPartitions ShowTablePartition ShowTableProperties DescribeTablePartition CacheTable",
    ),
    **_all(READ, "child", "AnalyzeColumn AnalyzeTable RefreshTable ShowColumns ShowCreateTable"),
    **_all(READ, "relation", "DescribeColumn DescribeRelation"),
    **_all(
        READ, "tableIdent", "AnalyzeColumnCommand AnalyzePartitionCommand AnalyzeTableCommand", place=_COMMAND
    ),
    **_all(READ, "tableIdent", "RefreshTableCommand", place=_COMMAND),
    **_all(READ, "tableName", "ShowColumnsCommand ShowPartitionsCommand", place=_COMMAND),
    **_all(
        READ,
        "table",
        """DescribeColumnCommand DescribeTableCommand ShowCreateTableAsSerdeCommand ShowCreateTableCommand
        ShowTablePropertiesCommand""",
        place=_COMMAND,
    ),
    **_all(READ, "child", "DescribeRelationJsonCommand ShowPartitionsJsonCommand", place=_COMMAND),
    # schemas and catalogs
    _LOGICAL + "CreateNamespace": Plain(CREATE_SCHEMA, "name", properties="properties"),
    _LOGICAL + "DropNamespace": Plain(DROP, "namespace"),
    _LOGICAL + "CommentOnNamespace": Plain(ALTER, "child", comment="comment"),
    _LOGICAL + "SetNamespaceProperties": Plain(ALTER, "namespace", properties="properties"),
    _LOGICAL + "SetNamespaceLocation": Plain(ALTER, "namespace", location="location"),
    _COMMAND + "SetNamespaceCollationCommand": Plain(ALTER, "namespace"),
    _COMMAND + "UnsetNamespacePropertiesCommand": Plain(ALTER, "ident"),
    **_all(USE, "namespace", "DescribeNamespace ShowFunctions ShowTables ShowViews"),
    **_all(USE, "namespace", "ShowNamespaces"),
    **_all(USE, "child", "SetCatalogAndNamespace"),
    **_all(USE, "child", "ShowNamespacesCommand ShowTablesJsonCommand", place=_COMMAND),
    # functions
    _LOGICAL + "CreateUserDefinedFunction": Plain(CREATE_FUNCTION, "child"),
    _LOGICAL + "DescribeFunction": Plain(USE, "child"),
}

DATABASE: dict[str, str] = {
    _COMMAND + "DropDatabaseCommand": DROP,
    _COMMAND + "DescribeDatabaseCommand": USE,
    _COMMAND + "AlterDatabasePropertiesCommand": ALTER,
    _COMMAND + "ShowViewsCommand": USE,
}
"""Commands about a database of the session's own catalog, by its bare name."""

QUERIES: dict[str, tuple[str, ...]] = {
    _LOGICAL + "CacheTableAsSelect": ("plan",),
    _LOGICAL + "SetVariable": ("sourceQuery",),
}
"""Commands that do nothing but read what they are given."""

NOTHING = frozenset(
    {
        *(
            _LOGICAL + name
            for name in [
                "CreateVariable",
                "DropVariable",
                "NoopCommand",
                "RefreshFunction",
                "UncacheTable",
            ]
        ),
        # what these describe is analysed by itself, and checked then
        *(
            _COMMAND + name
            for name in [
                "ClearCacheCommand$",
                "DescribeQueryCommand",
                "DropTempViewCommand",
                "ListArchivesCommand",
                "ListFilesCommand",
                "ListJarsCommand",
                "RefreshFunctionCommand",
                "ResetCommand",
                "SetCatalogCommand",
                "SetCommand",
                "SetNamespaceCommand",
                "SetPathCommand",
                "ShowCatalogsCommand",
                "ShowCollationsCommand",
                "ShowCurrentNamespaceCommand",
                "StreamingExplainCommand",
            ]
        ),
    }
)
"""Commands that touch no data and no object."""
