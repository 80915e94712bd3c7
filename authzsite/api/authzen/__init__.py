"""OpenID AuthZEN Authorization API 1.0: may this subject do this action on this resource?"""
