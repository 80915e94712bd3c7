"""The contract suite of the kind `mysql` on real servers, and what a MariaDB is asked besides."""

from __future__ import annotations

import pytest

from lakewarden.backends.testing.contract import Contract
from tests.backends.test_mariadb import (  # noqa: F401 - what holds for both is said once
    COSTS,
    NAMES,
    READ,
    WRITE,
    on,
    test_a_name_that_may_be_two_accounts_is_not_taken_from,
    test_a_pattern_that_others_granted_is_shown_as_one_and_can_be_taken,
    test_a_role_of_ours_in_anothers_hands_is_foreign,
    test_a_role_that_is_only_called_like_ours_is_left_alone,
    test_a_role_that_others_gave_to_one_of_ours_is_foreign,
    test_an_open_session_loses_on_its_next_statement,
    test_an_underscore_in_a_databases_name_is_no_pattern,
    test_every_account_of_a_name_gets_the_same,
    test_names_do_not_break_out_of_statements,
    test_nothing_is_granted_on_a_database_that_is_not_there,
    test_power_over_everything_is_told_as_a_bypass,
    test_rights_that_a_dropped_table_left_are_extra_and_taken,
    test_stopping_between_two_statements_of_a_switch_goes_on,
    test_tables_whose_names_differ_in_case_alone_keep_each_its_number,
    test_the_check_says_what_the_account_lacks,
    test_two_workers_on_the_same_person_never_leave_two_sets,
    test_what_cannot_be_taken_is_an_error_and_the_rest_is_taken,
    test_what_each_account_of_a_name_was_given_by_others_is_told_apart,
    test_what_others_gave_on_columns_is_not_taken_with_what_they_gave_on_the_table,
    test_who_may_write_the_tables_of_rights_is_told,
    test_who_runs_a_routine_with_the_rights_of_its_definer_is_told,
)
from tests.real.mysql.site import MySite


class TestMySQL(Contract):
    """Fifty workers die at any statement, and what they left is made good."""

    READ, WRITE, COSTS = READ, WRITE, COSTS
    on = staticmethod(on)

    blinds = True
    refuses = True
    rights_follow = "names"
    odd_names = NAMES
    seeds = range(50)

    @pytest.fixture
    def site(self, site: MySite) -> MySite:
        return site
