"""Files of HDFS, and folders of this machine that are read alike: users' own, which Heddle only looks into."""

from adapters.hdfs.folders import Folder, OpenFolder, folder_at
from adapters.hdfs.gateway import Entry, Gateway, WebAccess, followed

__all__ = ["Entry", "Folder", "Gateway", "OpenFolder", "WebAccess", "folder_at", "followed"]
