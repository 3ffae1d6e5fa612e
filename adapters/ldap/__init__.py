"""Groups of users from a directory by LDAP, with python-ldap, the optional extra `ldap`."""

from adapters.ldap.directory import DirectorySettings, LDAPGroups
from adapters.ldap.library import load_library

__all__ = ["DirectorySettings", "LDAPGroups", "load_library"]
