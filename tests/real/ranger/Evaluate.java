import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.ranger.authorization.hadoop.config.RangerPluginConfig;
import org.apache.ranger.plugin.model.RangerPolicy;
import org.apache.ranger.plugin.model.RangerRole;
import org.apache.ranger.plugin.model.RangerServiceDef;
import org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResult;
import org.apache.ranger.plugin.policyengine.RangerPluginContext;
import org.apache.ranger.plugin.policyengine.RangerPolicyEngineImpl;
import org.apache.ranger.plugin.policyengine.RangerPolicyEngineOptions;
import org.apache.ranger.plugin.util.RangerRoles;
import org.apache.ranger.plugin.util.ServicePolicies;

/**
 * Asks Ranger's own policy engine: a line of JSON with questions, and with policies and roles where they are others
 * than before; a line of answers.
 */
public class Evaluate {
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    RangerPolicyEngineImpl engine = null;
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode asked = JSON.readTree(line);
      if (asked.has("policies")) {
        engine = engine(asked);
      }
      ArrayNode answers = JSON.createArrayNode();
      for (JsonNode question : asked.get("questions")) {
        answers.add(allowed(engine, question));
      }
      System.out.println(JSON.writeValueAsString(answers));
    }
  }

  private static RangerPolicyEngineImpl engine(JsonNode asked) throws Exception {
    String type = asked.get("type").asText();
    ServicePolicies policies = new ServicePolicies();
    policies.setServiceName(asked.get("service").asText());
    policies.setServiceDef(definition(type));
    policies.setPolicyVersion(1L);
    policies.setPolicies(Arrays.asList(JSON.treeToValue(asked.get("policies"), RangerPolicy[].class)));
    RangerRole[] known = JSON.treeToValue(asked.get("roles"), RangerRole[].class);
    RangerRoles roles = new RangerRoles();
    roles.setServiceName(policies.getServiceName());
    roles.setRoleVersion(1L);
    roles.setRangerRoles(new HashSet<>(Arrays.asList(known)));
    RangerPolicyEngineOptions options = new RangerPolicyEngineOptions();
    RangerPluginConfig config =
        new RangerPluginConfig(type, policies.getServiceName(), "tests", null, null, options);
    return new RangerPolicyEngineImpl(policies, new RangerPluginContext(config), roles);
  }

  private static RangerServiceDef definition(String type) throws Exception {
    String name = "/service-defs/ranger-servicedef-" + type + ".json";
    try (InputStream file = RangerServiceDef.class.getResourceAsStream(name)) {
      RangerServiceDef found = JSON.readValue(file, RangerServiceDef.class);
      found.getOptions().put("enableDenyAndExceptionsInPolicies", "true");
      return found;
    }
  }

  private static boolean allowed(RangerPolicyEngineImpl engine, JsonNode question) {
    RangerAccessResourceImpl resource = new RangerAccessResourceImpl();
    for (Map.Entry<String, JsonNode> level : question.get("resource").properties()) {
      resource.setValue(level.getKey(), level.getValue().asText());
    }
    resource.setServiceDef(engine.getServiceDef());
    Set<String> groups = new HashSet<>();
    question.get("groups").forEach(group -> groups.add(group.asText()));
    RangerAccessRequestImpl request =
        new RangerAccessRequestImpl(
            resource, question.get("access").asText(), question.get("user").asText(), groups, null);
    RangerAccessResult result = engine.evaluatePolicies(request, RangerPolicy.POLICY_TYPE_ACCESS, null);
    return result != null && result.getIsAllowed();
  }
}
