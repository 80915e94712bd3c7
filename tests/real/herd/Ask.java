import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.aspectj.lang.JoinPoint;
import org.aspectj.lang.reflect.MethodSignature;
import org.finra.herd.core.helper.ConfigurationHelper;
import org.finra.herd.core.helper.SpelExpressionHelper;
import org.finra.herd.core.helper.WildcardHelper;
import org.finra.herd.dao.NamespaceDao;
import org.finra.herd.dao.UserDao;
import org.finra.herd.dao.UserNamespaceAuthorizationDao;
import org.finra.herd.model.api.xml.NamespaceKey;
import org.finra.herd.model.dto.ApplicationUser;
import org.finra.herd.model.dto.SecurityUserWrapper;
import org.finra.herd.model.jpa.UserEntity;
import org.finra.herd.model.jpa.UserNamespaceAuthorizationEntity;
import org.finra.herd.service.advice.NamespaceSecurityAdvice;
import org.finra.herd.service.helper.NamespaceSecurityHelper;
import org.finra.herd.service.helper.UserNamespaceAuthorizationHelper;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.core.context.SecurityContextHolder;

/**
 * Asks the advice that stands before each method of Herd's services: a line of JSON with namespaces, entries,
 * administrators and questions; a line of answers. What would lie in tables is kept in lists.
 */
public class Ask {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static JsonNode world;

  public static void main(String[] arguments) throws Exception {
    UserNamespaceAuthorizationHelper users = users();
    NamespaceSecurityAdvice advice = advice();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      world = JSON.readTree(line);
      ArrayNode answers = JSON.createArrayNode();
      for (JsonNode question : world.get("questions")) {
        answers.add(allowed(users, advice, question));
      }
      System.out.println(JSON.writeValueAsString(answers));
    }
  }

  private static boolean allowed(
      UserNamespaceAuthorizationHelper users, NamespaceSecurityAdvice advice, JsonNode question) {
    String name = question.get("user").asText();
    ApplicationUser user = new ApplicationUser(Ask.class);
    user.setUserId(name);
    users.buildNamespaceAuthorizations(user);
    SecurityUserWrapper principal =
        new SecurityUserWrapper(name, "", true, true, true, true, Collections.emptyList(), user);
    SecurityContextHolder.getContext().setAuthentication(new TestingAuthenticationToken(principal, ""));
    try {
      advice.checkPermission(call(question));
      return true;
    } catch (AccessDeniedException refused) {
      return false;
    }
  }

  /** A call of a service's method, whose parameters are the namespaces that its rules speak of. */
  private static JoinPoint call(JsonNode question) {
    Method method = methods().get(question.get("method").asText());
    Object[] values = new Object[method.getParameterCount()];
    String[] names = new String[values.length];
    for (int at = 0; at < values.length; at++) {
      names[at] = "p" + at;
      values[at] = value(question.get("values").get(at));
    }
    MethodSignature signature = stub(MethodSignature.class, (called, given) ->
        called.equals("getMethod") ? method : called.equals("getParameterNames") ? names : null);
    return stub(JoinPoint.class, (called, given) ->
        called.equals("getSignature") ? signature : called.equals("getArgs") ? values : null);
  }

  private static Object value(JsonNode written) {
    if (!written.isArray()) {
      return written.asText();
    }
    List<String> several = new ArrayList<>();
    written.forEach(one -> several.add(one.asText()));
    return several;
  }

  private static Map<String, Method> methods() {
    Map<String, Method> found = new HashMap<>();
    for (Method method : Methods.class.getDeclaredMethods()) {
      found.put(method.getName(), method);
    }
    return found;
  }

  private static UserNamespaceAuthorizationHelper users() {
    StandardEnvironment environment = new StandardEnvironment();
    Map<String, Object> settings = Collections.singletonMap("user.namespace.authorization.enabled", "true");
    environment.getPropertySources().addFirst(new MapPropertySource("here", settings));
    ConfigurationHelper configuration = new ConfigurationHelper();
    put(configuration, "environment", environment);
    UserNamespaceAuthorizationHelper users = new UserNamespaceAuthorizationHelper();
    put(users, "configurationHelper", configuration);
    put(users, "wildcardHelper", new WildcardHelper());
    put(users, "namespaceDao", stub(NamespaceDao.class, (called, given) -> namespaces()));
    put(users, "userDao", stub(UserDao.class, (called, given) -> user((String) given[0])));
    put(users, "userNamespaceAuthorizationDao", stub(UserNamespaceAuthorizationDao.class, Ask::entries));
    return users;
  }

  private static NamespaceSecurityAdvice advice() {
    NamespaceSecurityAdvice advice = new NamespaceSecurityAdvice();
    SpelExpressionHelper expressions = new SpelExpressionHelper();
    put(expressions, "spelExpressionParser", new SpelExpressionParser());
    put(advice, "spelExpressionHelper", expressions);
    put(advice, "namespaceSecurityHelper", new NamespaceSecurityHelper());
    return advice;
  }

  private static List<NamespaceKey> namespaces() {
    List<NamespaceKey> keys = new ArrayList<>();
    for (JsonNode code : world.get("namespaces")) {
      NamespaceKey key = new NamespaceKey();
      key.setNamespaceCode(code.asText());
      keys.add(key);
    }
    return keys;
  }

  private static UserEntity user(String name) {
    for (JsonNode admin : world.get("admins")) {
      if (admin.asText().equalsIgnoreCase(name)) {
        UserEntity user = new UserEntity();
        user.setNamespaceAuthorizationAdmin(true);
        return user;
      }
    }
    return null;
  }

  /** As the queries compare: user ids in capitals, whole or by how they begin. */
  private static List<UserNamespaceAuthorizationEntity> entries(String called, Object[] given) {
    String wanted = ((String) given[0]).toUpperCase();
    boolean begins = called.endsWith("StartsWith");
    List<UserNamespaceAuthorizationEntity> found = new ArrayList<>();
    for (JsonNode entry : world.get("entries")) {
      String user = entry.get("user").asText().toUpperCase();
      if (begins ? user.startsWith(wanted) : user.equals(wanted)) {
        found.add(row(entry));
      }
    }
    return found;
  }

  private static UserNamespaceAuthorizationEntity row(JsonNode written) {
    UserNamespaceAuthorizationEntity entry = new UserNamespaceAuthorizationEntity();
    put(entry, "namespaceCode", written.get("namespace").asText());
    entry.setUserId(written.get("user").asText());
    String permissions = written.get("permissions").toString();
    entry.setReadPermission(permissions.contains("\"READ\""));
    entry.setWritePermission(permissions.contains("\"WRITE\""));
    entry.setExecutePermission(permissions.contains("\"EXECUTE\""));
    entry.setGrantPermission(permissions.contains("\"GRANT\""));
    entry.setWriteDescriptiveContentPermission(permissions.contains("\"WRITE_DESCRIPTIVE_CONTENT\""));
    entry.setWriteAttributePermission(permissions.contains("\"WRITE_ATTRIBUTE\""));
    return entry;
  }

  private interface Answer {
    Object to(String called, Object[] given);
  }

  private static <T> T stub(Class<T> kind, Answer answer) {
    return kind.cast(Proxy.newProxyInstance(
        Ask.class.getClassLoader(), new Class<?>[] {kind}, (self, method, given) -> answer.to(method.getName(), given)));
  }

  private static void put(Object into, String name, Object value) {
    try {
      Field field = into.getClass().getDeclaredField(name);
      field.setAccessible(true);
      field.set(into, value);
    } catch (ReflectiveOperationException missing) {
      throw new IllegalStateException(missing);
    }
  }
}
