"""Requests for access: asked, decided by those who may by law or duty, carried out, followed until proved.

One request has wants (an action on an object) and parts (one decision each): `policies.models.requests`.

    submission        Asking(wanted=(WantedAction(type, name, action), …), holder, reason, ticket, lasts,
                      until, starts, zone, key); holders(asker): for whom they may ask
                      foresee(asking, asker) -> Foresight: what it would come to; nothing is written
                      ask(asking, by=actor) -> AccessRequest
                      answer(number, text, by=actor); withdraw(number, by=actor, reason="")
    decisions         approve(number, by=actor, parts=(), give={}, lasts=None, until=None, role=None, note="")
                      refuse(number, reason, by=actor, parts=())
                      ask_back(number, question, by=actor, parts=())
                      `parts` are numbers; none: those put to the actor, or else all that they may decide;
                      `give`: privileges by part
    visibility        get(number, viewer) -> VisibleRequest: the request as they may see it; NotFound as for
                      no request; waiting_for(viewer), made_by(viewer), decided_by(viewer),
                      visible_to(viewer), on(node, viewer) -> QuerySet; page(rows)
    decision_context  consider(visible) -> Consideration: what a decider wants to know before deciding
    provisioning      standings(request) -> how far it has come in each backend
    substitutes       name(person, deputy, starts, ends, by=actor); call_off(number, by=actor); of(person)
    rules             rules_along(nodes) -> Rules; set_rule(node, by=actor, …)
    escalation        tick(now): lapse, escalate, begin, remind, follow

All of them raise Invalid, Refused, NotFound and Conflict with a text for the person who asked.
"""
