"""What HTTP clients send by themselves: what their programs did not ask for.

Recorded on 2026-11-22 by a server that keeps what it reads; headers of browsers, OkHttp and Java 8 are those that their
sources and documentation name. `Host` and `Connection: keep-alive` are left out; the tests close their connections,
so `close` is added where a client sends `Connection`.
"""

from typing import Final

Headers = tuple[tuple[str, str], ...]

_UPGRADE: Headers = (
    ("Connection", "Upgrade, HTTP2-Settings, close"),
    ("HTTP2-Settings", "AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA"),
    ("Upgrade", "h2c"),
)

CLIENT_HEADERS: Final[dict[str, Headers]] = {
    "java-8-url-connection": (
        ("User-Agent", "Java/1.8.0_402"),
        ("Accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"),
    ),
    "java-17-url-connection": (
        ("User-Agent", "Java/17.0.15"),
        ("Accept", "text/html, image/gif, image/jpeg, */*; q=0.2"),
    ),
    "java-25-url-connection": (("User-Agent", "Java/25.0.3"), ("Accept", "*/*")),
    "java-17-http-client": (*_UPGRADE, ("Content-Length", "0"), ("User-Agent", "Java-http-client/17.0.15")),
    "java-25-http-client": (*_UPGRADE, ("User-Agent", "Java-http-client/25.0.3")),
    "apache-http-client-4": (
        ("User-Agent", "Apache-HttpClient/4.5.13 (Java/17.0.15)"),
        ("Accept-Encoding", "gzip,deflate"),
    ),
    "apache-http-client-5": (
        ("Accept-Encoding", "gzip, x-gzip, deflate"),
        ("User-Agent", "Apache-HttpClient/5.3.1 (Java/17.0.15)"),
    ),
    "okhttp": (("Accept-Encoding", "gzip"), ("User-Agent", "okhttp/4.12.0")),
    "go": (("User-Agent", "Go-http-client/1.1"), ("Accept-Encoding", "gzip")),
    "curl": (("User-Agent", "curl/7.88.1"), ("Accept", "*/*")),
    "curl-compressed": (
        ("User-Agent", "curl/7.88.1"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "deflate, gzip, br, zstd"),
    ),
    "wget": (("User-Agent", "Wget/1.21.3"), ("Accept", "*/*"), ("Accept-Encoding", "identity")),
    "python-urllib": (("Accept-Encoding", "identity"), ("User-Agent", "Python-urllib/3.11")),
    "python-requests": (
        ("User-Agent", "python-requests/2.34.2"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Accept", "*/*"),
    ),
    "python-httpx": (
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
        ("User-Agent", "python-httpx/0.28.1"),
    ),
    "python-aiohttp": (
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
        ("User-Agent", "Python/3.11 aiohttp/3.14.5"),
    ),
    "node-fetch": (
        ("accept", "*/*"),
        ("accept-language", "*"),
        ("sec-fetch-mode", "cors"),
        ("user-agent", "node"),
        ("accept-encoding", "gzip, deflate"),
    ),
    "node-http": (),
    "axios": (
        ("Accept", "application/json, text/plain, */*"),
        ("User-Agent", "axios/1.21.1"),
        ("Accept-Encoding", "gzip, compress, deflate, br"),
    ),
    "got": (("user-agent", "got (https://github.com/sindresorhus/got)"), ("accept-encoding", "gzip, deflate, br")),
    "jquery": (("Accept", "application/json, text/javascript, */*; q=0.01"), ("X-Requested-With", "XMLHttpRequest")),
    "firefox": (
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/png,image/svg+xml,*/*;q=0.8"),
        ("Accept-Language", "en-US,en;q=0.5"),
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
        ("Upgrade-Insecure-Requests", "1"),
        ("Sec-Fetch-Dest", "document"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Site", "none"),
        ("Sec-Fetch-User", "?1"),
        ("Priority", "u=0, i"),
    ),
    "chrome": (
        ("Cache-Control", "max-age=0"),
        ("Upgrade-Insecure-Requests", "1"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0"),
        (
            "Accept",
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
                "application/signed-exchange;v=b3;q=0.7"
            ),
        ),
        ("Sec-Fetch-Site", "none"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ),
    "safari": (
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("Accept-Language", "en-GB,en;q=0.9"),
        ("Accept-Encoding", "gzip, deflate"),
    ),
}
"""Headers by client, in the order in which they are sent."""
