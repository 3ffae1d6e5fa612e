"""Hostile input: small to send, dear to read if it is read carelessly. Each was a find, or could be."""

import gzip
import json

MIB = 1024 * 1024


def js(value: object) -> bytes:
    """JSON."""
    return json.dumps(value).encode()


BODIES: dict[str, bytes] = {
    "deep list": b"[" * 500_000,
    "deep obj": b'{"a":' * 150_000,
    "deep closed": b"[" * 60 + b"]" * 60,
    "deep63": b'{"a":' + b"[" * 62 + b"0" + b"]" * 62 + b"}",
    "many63": b'{"application-id":"application_1_1","a":[' + b",".join([b"[" * 60 + b"]" * 60] * 8000) + b"]}",
    "wide": b"{" + b",".join(b'"k%d":1' % i for i in range(80_000)) + b"}",
    "wide dup": b"{" + b",".join(b'"k":1' for i in range(150_000)) + b"}",
    "list": b"[" + b"0," * 500_000 + b"0]",
    "long str": b'{"queue":"' + b"a" * (MIB - 50) + b'"}',
    "escapes": b'{"queue":"' + b"\\u0041" * 170_000 + b'"}',
    "quotes": b'{"queue":"' + b'\\"' * 500_000 + b'"}',
    "number": b'{"resource":{"memory":' + b"9" * 900_000 + b"}}",
    "exp": b'{"priority":1e400000,"resource":{"memory":1e400000}}',
    "exp2": b'{"priority":10' + b"0" * 4200 + b"}",
    "neg": b'{"a":' + b"-" * 900_000 + b"}",
    "ws": b" " * 1_000_000 + b"{}",
    "ws2": b"{" + b" " * 1_000_000,
    "nulls": b"\0" * MIB,
    "ff": b"\xff" * MIB,
    "half": b"\xc3" * MIB,
    "tags": js({"application-id": "application_1_1", "application-tags": [f"t{i}" for i in range(50_000)]}),
    "tags2": js({"application-id": "application_1_1", "application-tags": {"tag": ["t"] * 50_000}}),
    "id": js({"application-id": "application_" + "1" * 900_000}),
    "id2": js({"application-id": "application_1_" + "1" * 900_000}),
    "id3": js({"application-id": "1_" * 400_000}),
    "queuedots": js({"application-id": "application_1_1", "queue": "root" + ".a" * 400_000}),
    "queue": js({"application-id": "application_1_1", "queue": "." * 900_000}),
    "name": js({"application-id": "application_1_1", "application-name": "*" * 900_000, "queue": "default"}),
    "user": js(
        {
            "application-id": "application_1_1",
            "am-container-spec": {"environment": {"entry": [{"key": str(i), "value": "v"} for i in range(25_000)]}},
        }
    ),
    "env": js(
        {
            "application-id": "application_1_1",
            "am-container-spec": {
                "local-resources": {
                    "entry": [{"key": str(i), "value": {"resource": "hdfs://a", "size": 1}} for i in range(14_000)]
                }
            },
        }
    ),
    "queuelist": js({"queue": ["a"] * 200_000}),
    "labels": js({"nodeLabelsInfo": {"nodeLabelInfo": [{"name": f"l{i}"} for i in range(40_000)]}}),
    "n2l": js({"nodeToLabels": [{"nodeId": f"n{i}:1", "labels": ["a"]} for i in range(20_000)]}),
    "reservation": b"reservation_" * 80_000,
    "reservation2": b'{"reservation-id":"reservation_' + b"1" * 900_000 + b'"}',
    "res3": b'{"reservation-id":"' + b"reservation_1" * 70_000 + b'"}',
    "policy": js({"text": "a" + ".a" * 100_000}),
    "policy2": js({"text": "[[" * 100_000}),
    "policy3": js({"text": "[[queue]]\nname='root.a'\n" * 8000}),
}
XML: dict[str, bytes] = {
    "xdeep": b"<a>" * 300_000,
    "xdeep2": b"<application-submission-context>" + b"<a>" * 60 + b"</a>" * 60 + b"</application-submission-context>",
    "xwide": b"<application-submission-context>" + b"<a/>" * 250_000 + b"</application-submission-context>",
    "xwide2": b"<application-submission-context>" + b"<queue>a</queue>" * 60_000 + b"</application-submission-context>",
    "xwide3": b"<application-submission-context><resource>"
    + b"<memory>1</memory>" * 50_000
    + b"</resource></application-submission-context>",
    "xattr": b"<application-submission-context " + b" ".join(b'a%d="1"' % i for i in range(90_000)) + b"/>",
    "xns": b"<application-submission-context " + b" ".join(b'xmlns:a%d="u"' % i for i in range(55_000)) + b"/>",
    "xns2": b"<application-submission-context "
    + b" ".join(b'xmlns:a%d="u"' % i for i in range(5_000))
    + b">"
    + b"<a1:b/>" * 100_000
    + b"</application-submission-context>",
    "xtext": b"<application-submission-context><queue>"
    + b"a" * 1_000_000
    + b"</queue></application-submission-context>",
    "xent": b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY a%d "&a;&a;&a;&a;&a;&a;&a;&a;">' % i for i in range(1000))
    + b"]><a>&a1;</a>",
    "xchar": b"<application-submission-context><queue>"
    + b"&#65;" * 200_000
    + b"</queue></application-submission-context>",
    "xamp": b"<application-submission-context><queue>"
    + b"&amp;" * 200_000
    + b"</queue></application-submission-context>",
    "xcom": b"<application-submission-context>" + b"<!-- a -->" * 100_000 + b"</application-submission-context>",
    "xpi": b"<application-submission-context>" + b"<?a b?>" * 140_000 + b"</application-submission-context>",
    "xcdata": b"<application-submission-context><queue>"
    + b"<![CDATA[a]]>" * 75_000
    + b"</queue></application-submission-context>",
    "xlt": b"<" * 1_000_000,
    "xtags": b"<application-submission-context><application-tags>"
    + b"<tag>a</tag>" * 80_000
    + b"</application-tags></application-submission-context>",
    "xname": b"<" + b"a" * 900_000 + b"/>",
    "xnames": b"".join(b"<n%d/>" % i for i in range(100_000)),
    "xnames2": b"<application-submission-context>"
    + b"".join(b"<n%d/>" % i for i in range(90_000))
    + b"</application-submission-context>",
    "xconf": b"<sched-conf>"
    + b"<global-updates><entry><key>a</key><value>b</value></entry></global-updates>" * 12_000
    + b"</sched-conf>",
}
QUERIES: dict[str, str] = {
    "many": "&".join(f"a{i}" for i in range(16_000)),
    "same": "&".join("a" for i in range(32_000)),
    "semi": ";".join("a" for i in range(32_000)),
    "pct": "x=" + "%41" * 20_000,
    "pctbad": "x=" + "%" * 60_000,
    "plus": "x=" + "+" * 60_000,
    "uni": "x=" + "%c3%a9" * 10_000,
    "pctname": "%41" * 20_000 + "=1",
    "999": "&".join("user.name=a" for i in range(999)),
    "user": "user.name=" + "a" * 60_000,
    "userat": "user.name=" + "@" * 60_000,
    "usersl": "user.name=" + "/" * 60_000,
    "doas": "user.name=a&doAs=" + "a" * 60_000,
    "cluster": "cluster=" + "e" * 60_000,
    "cluster east": "cluster=east&" + "x=" + "a" * 60_000,
}
VALUES: dict[str, str] = {
    "a": "a" * 60_000,
    ",": "," * 60_000,
    "a,": "a," * 30_000,
    "RUNNING,": "RUNNING," * 7000,
    "9": "9" * 60_000,
    "-9": "-" + "9" * 60_000,
    "0": "0" * 60_000,
    "*": "*" * 60_000,
    "*a": "*a" * 30_000,
    ".": "." * 60_000,
    "(a+)+": "(a+)+" * 10_000,
    "id": "application_1_" + "1" * 60_000,
    "[": "[" * 60_000,
    "{": "{" * 60_000,
    "sp": "%20" * 20_000,
    "uni": "%E2%84%AA" * 6000,
    ":": ":" * 60_000,
    "=": "=" * 60_000,
    "qry": "*:" + "*=*," * 15000,
    "qry2": "Hadoop:service=ResourceManager,name=" + "*a" * 25000,
    "?": "?" * 60_000,
    "qry3": "Hadoop:service=ResourceManager,name=" + "*a" * 25000 + "b",
}
SEGMENTS: dict[str, str] = {
    "a": "a" * 60_000,
    "9": "9" * 60_000,
    "app": "application_" + "9" * 60_000,
    "app2": "application_1_" + "9" * 60_000,
    "app3": "application_1_" + "0" * 60_000 + "1",
    "pct": "%41" * 20_000,
    "semi": ";" * 60_000,
    "semi2": ";a=b" * 20_000,
    ".": "." * 60_000,
    "cont": "container_" + "9_" * 30_000,
    "cont2": "container_e1_1_1_1_" + "1" * 60_000,
    "under": "_" * 60_000,
    "colon": ":" * 60_000,
    "n": "n:" + "9" * 60_000,
    "slash": "/" * 60_000,
    "attempt": "appattempt_1_1_" + "9" * 60_000,
    "b": "%",
    "uni": "%C3%A9" * 10_000,
}
HEADERS: dict[str, dict[str, str]] = {
    "accept list": {"accept": ",".join(f"a{i}/b" for i in range(8000))},
    "accept commas": {"accept": "," * 60_000},
    "accept q": {"accept": "text/html;q=0." + "9" * 60_000},
    "accept semi": {"accept": "a/b" + ";q=1" * 20_000},
    "accept ws": {"accept": "a/b" + " " * 60_000 + "x"},
    "accept ws2": {"accept": " " * 60_000},
    "accept star": {"accept": "*/*," * 15_000},
    "accept tok": {"accept": "a" * 60_000},
    "accept sl": {"accept": "/" * 60_000},
    "accept q=": {"accept": "a/b;" + "q=" * 30_000},
    "accept ;ws": {"accept": "a/b" + "; " * 30_000},
    "accept ;ws2": {"accept": "a/b;q" + " " * 60_000},
    "accept xml": {"accept": "application/xml;" + "a=b;" * 10_000},
    "accept +json": {"accept": ",".join(f"a/b{i}+json;x={i}" for i in range(3500))},
    "accept dot": {"accept": ", *" * 20_000},
    "accept q2": {"accept": ", *; q=.2" * 7_000},
    "ct": {"content-type": "a" * 60_000},
    "ct2": {"content-type": "application/json;" + "a=b;" * 15_000},
    "ct3": {"content-type": "application/json" + " " * 60_000},
    "cookie": {"cookie": "hadoop.auth=" + "a" * 60_000},
    "cookie;": {"cookie": ";" * 60_000},
    "cookie; ": {"cookie": "; " * 30_000},
    "cookie many": {"cookie": "hadoop.auth=;" * 4600},
    'cookie"': {"cookie": 'hadoop.auth="' * 4600},
    "cookie ws": {"cookie": ";" + " " * 60_000},
    "cookie ws2": {"cookie": "; ;" + " " * 20_000 + ";" + " " * 30000},
    "cookie &": {"cookie": 'hadoop.auth="' + "&" * 60_000 + '&s=x"'},
    "cookie &s": {"cookie": 'hadoop.auth="' + "&s=" * 20_000 + '"'},
    "host": {"host": "a" * 60_000},
    "host:": {"host": ":" * 60_000},
    "origin": {"origin": "http://" + "a" * 60_000},
    "origin2": {"origin": ":" * 60_000},
    "xrid": {"x-request-id": "a" * 60_000},
    "ae": {"accept-encoding": "gzip," * 12_000},
    "ce": {"content-encoding": "gzip"},
    "ims": {"if-modified-since": "a" * 60_000},
    "xff": {"x-forwarded-for": "1," * 30_000},
    "auth": {"authorization": "Negotiate " + "A" * 60_000},
    "auth2": {"authorization": "Basic " + "=" * 60_000},
    "dt": {"x-hadoop-delegation-token": "a" * 60_000},
    "fetch": {"sec-fetch-site": "a" * 60_000},
}

ZIPPED: dict[str, bytes] = {
    **{name: gzip.compress(BODIES[name]) for name in ("wide", "list", "long str", "many63")},
    "bomb": gzip.compress(b"a" * (64 * MIB)),
    "bomb of lists": gzip.compress(b"[" * (64 * MIB)),
    "members": gzip.compress(b"") * 50_000,
    "blanks": gzip.compress(b" " * (MIB - 2) + b"{}"),
}

FOREIGN_HEADERS: tuple[tuple[str, str], ...] = tuple(
    (name, value)
    for name, values in {
        "Access-Control-Allow-Credentials": ("true",),
        "Access-Control-Allow-Origin": ("*", "http://evil.example"),
        "Accept-CH": ("Sec-CH-UA",),
        "Alt-Svc": ('h2="evil.example:443"',),
        "Authentication-Info": ("x",),
        "Clear-Site-Data": ('"*"',),
        "Connection": ("close, X-Content-Type-Options",),
        "Content-Encoding": ("gzip", "br"),
        "Content-Language": ("en",),
        "Content-Length": ("0", "-1"),
        "Content-Location": ("http://evil.example/",),
        "Content-Range": ("bytes 0-1/2",),
        "Content-Security-Policy": ("default-src *",),
        "Content-Security-Policy-Report-Only": ("default-src 'none'; report-uri http://evil.example",),
        "Cross-Origin-Opener-Policy": ("unsafe-none",),
        "Cross-Origin-Resource-Policy": ("cross-origin",),
        "Digest": ("x",),
        "Document-Policy": ("x",),
        "ETag": ('"x"',),
        "Heddle-As-Of": ("1970",),
        "Heddle-Left-Out": ("9",),
        "Heddle-Missing": ("west",),
        "Link": ("<http://evil.example/x.css>; rel=stylesheet", "<http://evil.example>; rel=preload"),
        "NEL": ('{"report_to":"x","max_age":9}',),
        "Origin-Agent-Cluster": ("?0",),
        "Permissions-Policy": ("camera=*",),
        "Proxy-Authenticate": ("Basic",),
        "Public-Key-Pins": ("x",),
        "Refresh": ("0; url=http://evil.example",),
        "Report-To": ("{}",),
        "Reporting-Endpoints": ('x="http://evil.example"',),
        "Retry-After": ("86400",),
        "Server": ("evil",),
        "Service-Worker-Allowed": ("/",),
        "Set-Cookie": ("hadoop.auth=theirs; Path=/ws", "heddle.session=x", "HADOOP.AUTH=x", "a=b; Domain=example"),
        "Set-Cookie2": ("hadoop.auth=theirs",),
        "Set-Login": ("logged-in",),
        "SourceMap": ("http://evil.example/x.map",),
        "Speculation-Rules": ('"/x.json"',),
        "Strict-Transport-Security": ("max-age=9; includeSubDomains",),
        "Supports-Loading-Mode": ("credentialed-prerender",),
        "Surrogate-Control": ("max-age=9",),
        "Timing-Allow-Origin": ("*",),
        "Trailer": ("Set-Cookie",),
        "Transfer-Encoding": ("chunked",),
        "Upgrade": ("h2c",),
        "Use-As-Dictionary": ('match="/*"',),
        "WWW-Authenticate": ("Basic realm=x", "Negotiate"),
        "X-Accel-Buffering": ("no",),
        "X-Accel-Expires": ("9",),
        "X-Accel-Redirect": ("/etc/passwd",),
        "X-DNS-Prefetch-Control": ("on",),
        "X-Forwarded-User": ("queen",),
        "X-LIGHTTPD-send-file": ("/etc/passwd",),
        "X-Permitted-Cross-Domain-Policies": ("all",),
        "X-Request-Id": ("r-1",),
        "X-Robots-Tag": ("x",),
        "X-Sendfile": ("/etc/passwd",),
        "X-SourceMap": ("http://evil.example/x.map",),
        "X-UA-Compatible": ("IE=7",),
        "X-Whatever": ("x",),
    }.items()
    for value in values
)
"""Headers that a hostile cluster or ApplicationMaster answers with, none of which a client may get."""

_TEXT, _JSON_TYPE, _XML_TYPE = (
    "text/plain;charset=utf-8",
    "application/json;charset=utf-8",
    "application/xml; charset=utf-8",
)
FOREIGN_TYPES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("application/json",), "application/json"),
    (("application/json;charset=utf-8",), _JSON_TYPE),
    (("Application/JSON ; charset=utf-7",), _JSON_TYPE),
    (("application/vnd.yarn+json",), _JSON_TYPE),
    (("application/xml; charset=utf-8",), _XML_TYPE),
    (("application/xml; charset=utf-7",), _XML_TYPE),
    (("text/xml",), _XML_TYPE),
    (("text/plain",), _TEXT),
    (("text/html",), _TEXT),
    (("text/html;charset=utf-8",), _TEXT),
    ((" TEXT/HTML\t",), _TEXT),
    (("image/svg+xml",), _TEXT),
    (("application/xhtml+xml",), _TEXT),
    (("application/rss+xml",), _TEXT),
    (("application/xslt+xml",), _TEXT),
    (("application/mathml+xml",), _TEXT),
    (("multipart/x-mixed-replace; boundary=x",), _TEXT),
    (("multipart/related",), _TEXT),
    (("message/rfc822",), _TEXT),
    (("text/javascript",), _TEXT),
    (("application/javascript",), _TEXT),
    (("application/x-javascript",), _TEXT),
    (("text/css",), _TEXT),
    (("text/event-stream",), _TEXT),
    (("application/pdf",), _TEXT),
    (("application/x-shockwave-flash",), _TEXT),
    (("application/octet-stream",), _TEXT),
    (("application/json, text/html",), _TEXT),
    (("application/json,text/html",), _TEXT),
    (("application/json", "text/html"), _TEXT),
    (("text/html", "application/json"), _TEXT),
    (("*/*",), _TEXT),
    (("",), _TEXT),
    ((), _TEXT),
)
"""Types that a hostile cluster says a document has, one for each header, and the one that a client is told."""

FOREIGN_XML: tuple[bytes, ...] = (
    b'<?xml version="1.0"?><?xml-stylesheet href="data:text/xsl,x" type="text/xsl"?><app/>',
    b'<?xml-stylesheet href="/x.css"?><app/>',
    b"<!DOCTYPE app><app/>",
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    b"<app><![CDATA[<script>]]></app>",
    b"<app><!-- x --></app>",
    '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a><a/>'.encode("utf-16"),
    "<!DOCTYPE a><a/>".encode("utf-16-le"),
    "<!DOCTYPE a><a/>".encode("utf-32"),
    b'<?xml version="1.0" encoding="UTF-7"?>+ADw-script+AD4-',
    b'<?xml version="1.1"?><a/>',
    b"<app>\xff</app>",
    b"<app/><?php x ?>",
)
"""Documents that a reader of XML would do more with than read."""
