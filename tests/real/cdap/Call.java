import co.cask.cdap.client.config.ClientConfig;
import co.cask.cdap.client.config.ConnectionConfig;
import co.cask.cdap.proto.Id;
import co.cask.cdap.proto.id.EntityId;
import co.cask.cdap.proto.id.IdCompatible;
import co.cask.cdap.proto.security.Principal;
import co.cask.cdap.proto.security.Role;
import co.cask.cdap.security.authentication.client.AccessToken;
import co.cask.cdap.security.authentication.client.basic.BasicAuthenticationClient;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.ByteStreams;
import com.google.common.io.InputSupplier;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.URI;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/**
 * Calls the clients of whichever CDAP is in the class path: a line of JSON with a call, a line with what it returned
 * or raised.  An argument is JSON, or says which of CDAP's own names it is: {"id": "dataset:ns1.orders"}.
 */
public class Call {
  private static final String PACKAGE = "co.cask.cdap.client.";
  private static final Set<String> NAMED = ImmutableSet.of("id", "role", "principal", "authorizable");
  private static final Gson JSON = gson();

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    PrintStream answers = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err); // what the libraries print is no answer
    answers.println("{}");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject asked = new JsonParser().parse(line).getAsJsonObject();
      JsonObject answer = new JsonObject();
      try {
        answer.add("value", JSON.toJsonTree(answered(asked)));
      } catch (InvocationTargetException raised) {
        Throwable cause = raised.getCause();
        answer.addProperty("raises", cause.getClass().getSimpleName());
        answer.addProperty("message", cause.getMessage());
      } catch (ReflectiveOperationException | IllegalArgumentException | LinkageError unfit) {
        answer.addProperty("unfit", unfit.toString());
      }
      answers.println(JSON.toJson(answer));
    }
  }

  private static Object answered(JsonObject asked) throws Exception {
    Class<?> client = Class.forName(PACKAGE + asked.get("client").getAsString());
    if (!asked.has("method")) {
      return methods(client);
    }
    Object caller = client.getConstructor(ClientConfig.class).newInstance(config(asked));
    JsonArray sent = asked.getAsJsonArray("arguments");
    IllegalArgumentException last = null;
    for (Method method : client.getMethods()) {
      if (method.getName().equals(asked.get("method").getAsString())
          && method.getParameterTypes().length == sent.size()) {
        Object[] given;
        try {
          given = given(method, sent);
        } catch (IllegalArgumentException unfit) {
          last = unfit;
          continue;
        }
        return method.invoke(caller, given);
      }
    }
    throw new NoSuchMethodException(asked + (last == null ? "" : ": " + last));
  }

  /** What a client can be asked, without what it inherits from Java itself. */
  private static TreeSet<String> methods(Class<?> client) {
    TreeSet<String> names = new TreeSet<>();
    for (Method method : client.getMethods()) {
      boolean own = method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers());
      if (own) {
        names.add(method.getName());
      }
    }
    return names;
  }

  private static ClientConfig config(JsonObject asked) throws Exception {
    URI site = new URI(asked.get("url").getAsString());
    ConnectionConfig connection =
        new ConnectionConfig.Builder().setHostname(site.getHost()).setPort(site.getPort()).setSSLEnabled(false).build();
    ClientConfig.Builder builder = ClientConfig.builder().setConnectionConfig(connection);
    if (asked.has("token")) {
      builder.setAccessToken(new AccessToken(asked.get("token").getAsString(), 3600L, "Bearer"));
    } else if (asked.has("user")) {
      builder.setAccessToken(signedIn(site, asked));
    }
    return builder.build();
  }

  /** The token that CDAP's own client of authentication gets for a name and a password. */
  private static AccessToken signedIn(URI site, JsonObject asked) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("security.auth.client.username", asked.get("user").getAsString());
    properties.setProperty("security.auth.client.password", asked.get("password").getAsString());
    BasicAuthenticationClient authentication = new BasicAuthenticationClient();
    authentication.setConnectionInfo(site.getHost(), site.getPort(), false);
    authentication.configure(properties);
    try {
      return authentication.getAccessToken();
    } catch (Exception refused) {
      throw new InvocationTargetException(refused);
    }
  }

  private static Object[] given(Method method, JsonArray sent) throws Exception {
    Type[] types = method.getGenericParameterTypes();
    Object[] given = new Object[types.length];
    for (int place = 0; place < types.length; place++) {
      given[place] = argument(types[place], sent.get(place));
    }
    return given;
  }

  private static Object argument(Type type, JsonElement sent) throws Exception {
    Class<?> wanted = type instanceof ParameterizedType
        ? (Class<?>) ((ParameterizedType) type).getRawType() : type instanceof Class ? (Class<?>) type : Object.class;
    if (sent.isJsonNull()) {
      return null;
    }
    if (named(sent)) {
      Object found = named(sent.getAsJsonObject(), wanted);
      if (!wanted.isInstance(found)) {
        throw new IllegalArgumentException(found + " is no " + wanted);
      }
      return found;
    }
    if (EntityId.class.isAssignableFrom(wanted) || Id.class.isAssignableFrom(wanted)
        || Principal.class.isAssignableFrom(wanted)) {
      throw new IllegalArgumentException(sent + " is no " + wanted);
    }
    if (wanted == File.class) {
      return new File(sent.getAsString());
    }
    if (wanted == InputSupplier.class) {
      return ByteStreams.newInputStreamSupplier(sent.getAsString().getBytes("UTF-8"));
    }
    try {
      return JSON.fromJson(sent, type);
    } catch (RuntimeException unfit) {
      throw new IllegalArgumentException(sent + " is no " + wanted, unfit);
    }
  }

  private static boolean named(JsonElement sent) {
    return sent.isJsonObject()
        && sent.getAsJsonObject().entrySet().size() == 1
        && NAMED.contains(sent.getAsJsonObject().entrySet().iterator().next().getKey());
  }

  private static Object named(JsonObject sent, Class<?> wanted) throws Exception {
    if (sent.has("role")) {
      return new Role(sent.get("role").getAsString());
    }
    if (sent.has("principal")) {
      String[] parts = sent.get("principal").getAsString().split(":", 2);
      return new Principal(parts[1], Principal.PrincipalType.valueOf(parts[0].toUpperCase(Locale.ROOT)));
    }
    if (sent.has("authorizable")) {
      Class<?> pattern = Class.forName("co.cask.cdap.proto.security.Authorizable");
      return pattern.getMethod("fromString", String.class).invoke(null, sent.get("authorizable").getAsString());
    }
    EntityId id = EntityId.fromString(sent.get("id").getAsString());
    return Id.class.isAssignableFrom(wanted) ? ((IdCompatible) id).toId() : id;
  }

  /** Names as CDAP's texts, all else as it is. */
  private static Gson gson() {
    JsonSerializer<Object> text = (value, type, context) -> new JsonPrimitive(value.toString());
    JsonSerializer<Principal> name = (value, type, context) -> new JsonPrimitive(value.getName());
    GsonBuilder builder = new GsonBuilder().serializeNulls();
    builder.registerTypeHierarchyAdapter(EntityId.class, text).registerTypeHierarchyAdapter(Principal.class, name);
    try {
      builder.registerTypeAdapter(Class.forName("co.cask.cdap.proto.security.Authorizable"), text);
    } catch (ClassNotFoundException older) {
      // before 4.3 privileges are on entities alone
    }
    return builder.create();
  }
}
