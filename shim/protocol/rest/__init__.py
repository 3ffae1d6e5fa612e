"""The ResourceManager's web services as documents: negotiation, filters, merges, XML, errors, submission contexts.

Bytes and values in, bytes and values out. Nothing here knows a socket, a clock or where an answer comes from.
"""
