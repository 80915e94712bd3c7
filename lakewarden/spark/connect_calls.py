"""What clients of a Connect server ask for past Spark's analyser is refused before Spark hears it.

Most calls become plans, which the guard reads.  A model that is saved deletes the folder that was there, a
pipeline makes and alters tables: no rule sees that.  So commands are let through by kind, and one that
is not known here is refused.  Spark takes classes of Java for this alone, which its own compiler makes.
"""

from __future__ import annotations

from typing import Any

from lakewarden.client.transport import NotConfigured
from lakewarden.spark import java_code
from lakewarden.spark.errors import CODE

_KNOWN = """
    REGISTER_FUNCTION WRITE_OPERATION CREATE_DATAFRAME_VIEW WRITE_OPERATION_V2 SQL_COMMAND
    WRITE_STREAM_OPERATION_START STREAMING_QUERY_COMMAND GET_RESOURCES_COMMAND STREAMING_QUERY_MANAGER_COMMAND
    REGISTER_TABLE_FUNCTION STREAMING_QUERY_LISTENER_BUS_COMMAND REGISTER_DATA_SOURCE
    CREATE_RESOURCE_PROFILE_COMMAND CHECKPOINT_COMMAND REMOVE_CACHED_REMOTE_RELATION_COMMAND
    MERGE_INTO_TABLE_COMMAND ML_COMMAND EXECUTE_EXTERNAL_COMMAND COMMANDTYPE_NOT_SET
"""
_KNOWN_OF_MODELS = """
    FIT FETCH DELETE READ EVALUATE CLEAN_CACHE GET_CACHE_INFO CREATE_SUMMARY GET_MODEL_SIZE COMMAND_NOT_SET
"""
_CODE = """
package lakewarden;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.connect.proto.Command;
import org.apache.spark.connect.proto.ExecutePlanRequest;
import org.apache.spark.connect.proto.Plan;
import org.sparkproject.connect.grpc.ForwardingServerCallListener;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;
import org.sparkproject.connect.grpc.Status;

public class Calls extends scala.runtime.AbstractFunction0 implements ServerInterceptor {
    static Set known, knownOfModels;
    static String refusal;

    public Calls begin(String known, String knownOfModels, String refusal) {
        Calls.known = words(known);
        Calls.knownOfModels = words(knownOfModels);
        Calls.refusal = refusal;
        return this;
    }

    private static Set words(String text) {
        return new HashSet(Arrays.asList(text.trim().split("\\\\s+")));
    }

    public Object apply() {
        return this;
    }

    public ServerCall.Listener interceptCall(ServerCall call, Metadata headers, ServerCallHandler next) {
        return new Judged(call, next.startCall(call, headers));
    }

    static String refused(Object message) {
        if (!(message instanceof ExecutePlanRequest)) return null;
        Plan plan = ((ExecutePlanRequest) message).getPlan();
        if (plan.hasCompressedOperation()) return "a compressed plan";
        if (!plan.hasCommand()) return null;
        Command command = plan.getCommand();
        String kind = command.getCommandTypeCase().name();
        if (!known.contains(kind)) return kind;
        String ofModel = command.getMlCommand().getCommandCase().name();
        return knownOfModels.contains(ofModel) ? null : kind + " " + ofModel;
    }
}

class Judged extends ForwardingServerCallListener.SimpleForwardingServerCallListener {
    private final ServerCall call;
    private boolean over;

    Judged(ServerCall call, ServerCall.Listener next) {
        super(next);
        this.call = call;
    }

    public void onMessage(Object message) {
        String what = Calls.refused(message);
        if (what == null) {
            super.onMessage(message);
        } else if (!over) {
            over = true;
            String text = Calls.refusal.replace("%s", what);
            call.close(Status.PERMISSION_DENIED.withDescription(text), new Metadata());
        }
    }

    public void onHalfClose() {
        if (!over) super.onHalfClose();
    }
}
"""
_REFUSAL = (
    f"{CODE}: access denied: %s cannot be checked before it runs; write with a DataFrame or SQL instead, "
    "and save models in a session without the guard"
)


def refuse_unknown_calls(jvm: Any) -> None:
    """Let a server that is not started yet refuse what clients ask for past its analyser.

    Raises NotConfigured where this Spark builds its server in another way, for then nothing would be refused.
    """
    try:
        registry = jvm.java.lang.Class.forName(
            "org.apache.spark.sql.connect.service.SparkConnectInterceptorRegistry$"
        )
        calls = java_code.instance_of(jvm, "lakewarden.Calls", _CODE)
        _put_first(jvm, registry, calls.begin(_KNOWN, _KNOWN_OF_MODELS, _REFUSAL))
    except Exception as error:  # py4j and Java say it in many ways
        raise NotConfigured(
            f"the calls of clients cannot be checked in this version of Spark: {error}"
        ) from error


def _put_first(jvm: Any, registry: Any, ours: Any) -> None:
    """Make ours the one next to the service: behind that of Spark's which unpacks what was sent packed."""
    module = registry.getField("MODULE$").get(None)
    none = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)
    method = registry.getDeclaredMethod("interceptorChain", none)
    method.setAccessible(True)
    chain = method.invoke(module, None)
    field = registry.getDeclaredField("interceptorChain")
    field.setAccessible(True)
    field.set(module, chain.prepended(ours))
