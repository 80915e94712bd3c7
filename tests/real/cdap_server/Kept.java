import co.cask.cdap.proto.element.EntityType;
import co.cask.cdap.proto.id.EntityId;
import co.cask.cdap.proto.security.Action;
import co.cask.cdap.proto.security.Authorizable;
import co.cask.cdap.proto.security.Principal;
import co.cask.cdap.proto.security.Privilege;
import co.cask.cdap.proto.security.Role;
import co.cask.cdap.security.spi.authorization.AbstractAuthorizer;
import co.cask.cdap.security.spi.authorization.AuthorizationContext;
import co.cask.cdap.security.spi.authorization.RoleAlreadyExistsException;
import co.cask.cdap.security.spi.authorization.RoleNotFoundException;
import co.cask.cdap.security.spi.authorization.UnauthorizedException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * CDAP's extension point for authorizers, kept in memory: what was granted over CDAP's interface is what counts.
 * It decides what a text matches; which entity is asked for which action, and what a list leaves out, CDAP does.
 */
public final class Kept extends AbstractAuthorizer {
  private final Map<Principal, Set<Privilege>> held = new HashMap<>();
  private final Map<Role, Set<Principal>> members = new HashMap<>();
  private String master = "";

  @Override
  public void initialize(AuthorizationContext context) {
    master = context.getExtensionProperties().getProperty("master");
  }

  @Override
  public synchronized void enforce(EntityId entity, Principal principal, Set<Action> actions) {
    Set<Action> missing = EnumSet.copyOf(actions);
    Authorizable asked = Authorizable.fromEntityId(entity);
    for (Privilege privilege : of(principal)) {
      if (privilege.getAuthorizable().getEntityType() == asked.getEntityType()
          && reaches(asked, privilege.getAuthorizable())) {
        missing.remove(privilege.getAction());
      }
    }
    if (!missing.isEmpty() && !master.equals(principal.getName())) {
      throw new UnauthorizedException(principal, missing, entity);
    }
  }

  /** Visible is whatever one has a privilege on, or on something in it. */
  @Override
  public synchronized Set<? extends EntityId> isVisible(Set<? extends EntityId> entities, Principal principal) {
    if (master.equals(principal.getName())) {
      return entities;
    }
    Set<EntityId> seen = new HashSet<>();
    for (EntityId entity : entities) {
      Authorizable asked = Authorizable.fromEntityId(entity);
      for (Privilege privilege : of(principal)) {
        if (reaches(asked, privilege.getAuthorizable())) {
          seen.add(entity);
        }
      }
    }
    return seen;
  }

  @Override
  public synchronized void grant(Authorizable on, Principal principal, Set<Action> actions) {
    Set<Privilege> privileges = held.get(principal);
    if (privileges == null) {
      held.put(principal, privileges = new HashSet<>());
    }
    for (Action action : actions) {
      privileges.add(new Privilege(on, action));
    }
  }

  @Override
  public synchronized void revoke(Authorizable on, Principal principal, Set<Action> actions) {
    for (Action action : actions) {
      if (held.containsKey(principal)) {
        held.get(principal).remove(new Privilege(on, action));
      }
    }
  }

  @Override
  public synchronized void revoke(Authorizable on) {
    for (Principal principal : held.keySet()) {
      revoke(on, principal, EnumSet.allOf(Action.class));
    }
  }

  @Override
  public synchronized Set<Privilege> listPrivileges(Principal principal) {
    return of(principal);
  }

  @Override
  public synchronized void createRole(Role role) throws RoleAlreadyExistsException {
    if (members.containsKey(role)) {
      throw new RoleAlreadyExistsException(role);
    }
    members.put(role, new HashSet<Principal>());
  }

  @Override
  public synchronized void dropRole(Role role) throws RoleNotFoundException {
    known(role);
    members.remove(role);
    held.remove(role);
  }

  @Override
  public synchronized void addRoleToPrincipal(Role role, Principal principal) throws RoleNotFoundException {
    known(role).add(principal);
  }

  @Override
  public synchronized void removeRoleFromPrincipal(Role role, Principal principal) throws RoleNotFoundException {
    known(role).remove(principal);
  }

  @Override
  public synchronized Set<Role> listRoles(Principal principal) {
    Set<Role> roles = new HashSet<>();
    for (Map.Entry<Role, Set<Principal>> each : members.entrySet()) {
      if (each.getValue().contains(principal)) {
        roles.add(each.getKey());
      }
    }
    return roles;
  }

  @Override
  public synchronized Set<Role> listAllRoles() {
    return new HashSet<>(members.keySet());
  }

  private Set<Principal> known(Role role) throws RoleNotFoundException {
    if (!members.containsKey(role)) {
      throw new RoleNotFoundException(role);
    }
    return members.get(role);
  }

  /** What somebody has, by their roles too. */
  private Set<Privilege> of(Principal principal) {
    Set<Privilege> all = new HashSet<>(or(held.get(principal)));
    for (Role role : listRoles(principal)) {
      all.addAll(or(held.get(role)));
    }
    return all;
  }

  private static Set<Privilege> or(Set<Privilege> privileges) {
    return privileges == null ? Collections.<Privilege>emptySet() : privileges;
  }

  /** Whether each part of the entity is matched by that part of what was granted. */
  private static boolean reaches(Authorizable entity, Authorizable granted) {
    for (Map.Entry<EntityType, String> part : entity.getEntityParts().entrySet()) {
      String pattern = granted.getEntityParts().get(part.getKey());
      if (pattern == null || !matches(pattern, part.getValue())) {
        return false;
      }
    }
    return true;
  }

  private static boolean matches(String pattern, String value) {
    StringBuilder expression = new StringBuilder();
    for (char each : pattern.toCharArray()) {
      expression.append(each == '*' ? ".*" : each == '?' ? "." : Pattern.quote(String.valueOf(each)));
    }
    return Pattern.compile(expression.toString(), Pattern.DOTALL).matcher(value).matches();
  }
}
