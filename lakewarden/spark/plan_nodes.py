"""The operators of Spark's plans that touch nothing themselves: each class and where its inputs are.

A class that stands neither here nor among the relations and commands is refused by its name.
"""

from __future__ import annotations

SEQUENCE = "children"
_CHILD, _BOTH = ("child",), ("left", "right")
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_EXECUTION = "org.apache.spark.sql.execution."

_UNARY = """
    Aggregate AppendColumns AppendColumnsWithObject ArrowEvalPython ArrowEvalPythonUDTF
    AttachDistributedSequence BatchEvalPython BatchEvalPythonUDTF BinBy CTERelationDef CollectMetrics
    DataFrameDropColumns Deduplicate DeduplicateWithinWatermark DeserializeToObject Distinct
    EventTimeWatermark Expand Filter FlatMapGroupsInArrow FlatMapGroupsInPandas
    FlatMapGroupsInPandasWithState FlatMapGroupsInR FlatMapGroupsInRWithArrow Generate GlobalLimit LimitAll
    LocalLimit MapElements MapGroups MapInArrow MapInPandas MapPartitions MapPartitionsInR
    MapPartitionsInRWithArrow Offset Pivot Project PythonMapInArrow RebalancePartitions Repartition
    RepartitionByExpression ResolvedHint ReturnAnswer SQLFunctionNode Sample SerializeFromObject Sort Subquery
    SubqueryAlias Tail TypedFilter Unpivot UpdateEventTimeWatermarkColumn Window WindowGroupLimit
    WithWindowDefinition
"""
_BINARY = """
    AsOfJoin CoGroup Except FlatMapCoGroupsInArrow FlatMapCoGroupsInPandas Intersect Join NearestByJoin Zip
"""
_MANY = """
    FlatMapGroupsWithState SequentialStreamingUnion TransformWithState TransformWithStateInPySpark Union
    UnionLoop WithCTE
"""
_NOTHING = """
    CTERelationRef CommandResult EmptyRelation LocalRelation OneRowRelation Range UnionLoopRef
"""

OPERATORS: dict[str, tuple[str, ...]] = {
    **{_LOGICAL + name: _CHILD for name in _UNARY.split()},
    **{_LOGICAL + name: _BOTH for name in _BINARY.split()},
    **{_LOGICAL + name: (SEQUENCE,) for name in _MANY.split()},
    **{_LOGICAL + name: () for name in _NOTHING.split()},
    # its right side is an expression, found among the subqueries
    _LOGICAL + "LateralJoin": ("left",),
    _LOGICAL + "Transpose": (),
    _ANALYSIS + "ResolvedInlineTable": (),
    _ANALYSIS + "SQLFunctionNode": _CHILD,
    "org.apache.spark.sql.catalyst.expressions.PipeOperator": _CHILD,
    _EXECUTION + "LogicalRDD": (),
    _EXECUTION + "ExternalRDD": (),
    # a batch of a stream that has nothing new
    _EXECUTION + "streaming.OffsetHolder": (),
    _EXECUTION + "streaming.runtime.OffsetHolder": (),
    _EXECUTION + "streaming.sources.MemoryPlan": (),
}
"""Full class name to the methods that answer its inputs; `children` answers a Seq of them."""
