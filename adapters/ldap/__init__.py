"""Groups of users from a directory by LDAP, with python-ldap, the optional extra `ldap`."""

from adapters.ldap.directory import DirectorySettings, LDAPGroups, compared

__all__ = ["DirectorySettings", "LDAPGroups", "compared"]
