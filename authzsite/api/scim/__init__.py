"""SCIM 2.0: the company's directory keeps people and groups here (RFC 7643, RFC 7644)"""
