"""What Trino's plug-in for Open Policy Agent asks: may this person do this operation on these objects?"""
