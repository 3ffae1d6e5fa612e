"""DIGEST-MD5 computes what the mechanism of OpenJDK 17 computed, as either side, in every quality of protection."""

import pytest

from shim.protocol.hrpc import JavaClass, QualityOfProtection, SASLError
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret, read_response
from tests.protocol.captured import digest_sessions, directive

IDENTIFIER, PASSWORD, SESSIONS = digest_sessions()
by_session = pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.quality}-{session.cipher}")
by_protected = pytest.mark.parametrize(
    "session",
    [session for session in SESSIONS if session.from_client],
    ids=lambda session: f"{session.quality}-{session.cipher}",
)


def lookup(identifier):
    if identifier != IDENTIFIER:
        raise SASLError("unknown token", java_class=JavaClass.INVALID_TOKEN)
    return PASSWORD


def server(session):
    return DigestMD5Server(lookup, directive(session.challenge, "nonce"), [QualityOfProtection(session.quality)])


def client(session, password=PASSWORD):
    """A client that knows one cipher only, as the capture's did."""
    cnonce = directive(session.response, "cnonce")
    return DigestMD5Client(TokenSecret(IDENTIFIER, password), cnonce, [QualityOfProtection(session.quality)])


def challenge(session):
    """The captured challenge, with the chosen cipher as the only one: the strongest common one is taken."""
    if session.cipher is None:
        return session.challenge
    return session.challenge.replace(directive(session.challenge, "cipher").encode(), session.cipher.encode())


def authenticated(session):
    one, other = client(session), server(session)
    one.step(challenge(session))
    one.step(other.step(session.response))
    assert one.is_complete
    assert other.is_complete
    return one, other


@by_session
def test_a_server_takes_the_response_and_proves_itself(session):
    ours = server(session)

    assert ours.step(session.response) == session.proof
    assert ours.is_complete
    assert ours.quality.value == session.quality
    assert ours.identity == directive(session.response, "username")


@by_session
def test_a_server_challenges_in_the_same_words(session):
    assert server(session).step(b"") == session.challenge.replace(
        directive(session.challenge, "cipher").encode() or b"\x00", b"rc4,rc4-56,rc4-40"
    )


@by_session
def test_a_client_responds_in_the_same_words_and_takes_the_proof(session):
    ours = client(session)

    assert ours.step(challenge(session)) == session.response
    assert ours.step(session.proof) == b""
    assert ours.is_complete


@by_protected
def test_messages_are_protected_the_same_way_in_both_directions(session):
    one, other = authenticated(session)

    assert [one.wrap(clear) for clear, _ in session.from_client] == [sealed for _, sealed in session.from_client]
    assert [other.wrap(clear) for clear, _ in session.from_server] == [sealed for _, sealed in session.from_server]
    assert [other.unwrap(sealed) for _, sealed in session.from_client] == [clear for clear, _ in session.from_client]
    assert [one.unwrap(sealed) for _, sealed in session.from_server] == [clear for clear, _ in session.from_server]


@by_protected
@pytest.mark.parametrize("position", [0, -1, -5, -8], ids=["body", "sequence", "type", "mac"])
def test_a_changed_message_is_refused(session, position):
    _, other = authenticated(session)
    sealed = bytearray(session.from_client[0][1])
    sealed[position] ^= 1

    with pytest.raises(SASLError):
        other.unwrap(bytes(sealed))


@by_protected
def test_a_repeated_message_is_refused(session):
    one, other = authenticated(session)
    sealed = one.wrap(b"once")
    other.unwrap(sealed)

    with pytest.raises(SASLError):
        other.unwrap(sealed)


@by_session
def test_a_wrong_password_is_refused_by_the_server(session):
    wrong = client(session, b"another password")
    response = wrong.step(challenge(session))

    with pytest.raises(SASLError, match=r"digest response format violation. Mismatched response\."):
        server(session).step(response)


@by_session
def test_a_server_without_the_password_is_refused_by_the_client(session):
    ours = client(session)
    ours.step(challenge(session))

    with pytest.raises(SASLError, match="could not prove"):
        ours.step(b"rspauth=" + b"0" * 32)
    assert not ours.is_complete


def test_an_unknown_token_is_refused_by_the_class_that_makes_clients_give_up():
    session = SESSIONS[0]
    stranger = DigestMD5Client(TokenSecret(b"stranger", PASSWORD), "c" * 40)
    response = stranger.step(session.challenge)

    with pytest.raises(SASLError) as caught:
        server(session).step(response)
    assert caught.value.failure.java_class == JavaClass.INVALID_TOKEN


@by_session
def test_the_identifier_is_readable_before_anything_is_proven(session):
    assert read_response(session.response).identifier_untrusted == IDENTIFIER


@pytest.mark.parametrize(
    ("was", "becomes", "problem"),
    [
        ('username="CAECAwQFyP8ABw=="', "x=y", "Missing username"),
        ('realm="default"', 'realm="other"', "Nonexistent realm: other"),
        ("nonce=", "nonse=", "Missing nonce"),
        ('nonce="', 'nonce="0', "Mismatched nonce"),
        ("nc=00000001", "nc=00000002", "Nonce count"),
        ("cnonce=", "cnonse=", "Missing cnonce"),
        ("qop=auth", "qop=auth-conf", "Mismatched qop: auth-conf"),
        ("digest-uri=", "digest-url=", "Missing digest URI"),
        ('digest-uri="/default"', 'digest-uri="yarn/host"', "Mismatched URI"),
        ("response=", "responce=", "Missing response"),
        ("charset=utf-8", "nc=00000001", "more than once"),
        ('username="CAECAwQFyP8ABw=="', 'username="not base64!"', "no token identifier"),
        ("charset=utf-8", f"x={'y' * 4096}", "Length is"),
    ],
)
def test_a_response_that_breaks_a_rule_is_refused_with_the_rule(was, becomes, problem):
    session = SESSIONS[0]
    response = session.response.decode()
    assert was in response

    with pytest.raises(SASLError, match=problem):
        server(session).step(response.replace(was, becomes, 1).encode())


@pytest.mark.parametrize(
    "offer",
    [
        b'realm="default",qop="auth",algorithm=md5-sess',
        b'nonce="n",algorithm=md5',
        b'nonce="n",qop="auth-int",algorithm=md5-sess',
    ],
    ids=["no-nonce", "algorithm", "qop"],
)
def test_a_challenge_that_cannot_be_met_is_refused(offer):
    with pytest.raises(SASLError):
        client(SESSIONS[0]).step(offer)


# ---------------------------------------------------------------------- what is read, by its form


NAMED = b'username="dG9rZW4="'


def refused(response):
    """Why a response is refused; None if it is read."""
    try:
        read_response(response)
    except SASLError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (NAMED, None),
        (NAMED + b',realm="default"', None),
        (b" \t" + NAMED + b"\r\n , ,, \n realm = default ,", None),
        (NAMED + b'realm="default"', "It cannot be read from byte 19 on."),
        (NAMED + b' realm="default"', "It cannot be read from byte 20 on."),
        (NAMED + b",realm", "It cannot be read from byte 20 on."),
        (NAMED + b",realm=", "It cannot be read from byte 20 on."),
        (NAMED + b',realm="a', "It cannot be read from byte 20 on."),
        (NAMED + b"," + b"n" * 64 + b"=1", None),
        (NAMED + b"," + b"n" * 65 + b"=1", "It cannot be read from byte 20 on."),
        (b"realm", "Missing username."),
        (b"", "Missing username."),
        (b"realm=a", "Missing username."),
        (NAMED + b"," + NAMED, "Directive username appears more than once."),
        (NAMED + b",realm=a,REALM=b", "Directive realm appears more than once."),
        (NAMED + b',authzid="x"', "authzid is not taken."),
        (NAMED + b',realm="\xff"', "A value is not UTF-8."),
        (NAMED + b",nc=0000001", "Mismatched nc"),
        (NAMED + b",nc=0000000a", None),
        (NAMED + b",nc=0000000g", "Mismatched nc"),
        (NAMED + b",maxbuf=123456789", None),
        (NAMED + b",maxbuf=1234567890", "Mismatched maxbuf"),
        (NAMED + b",response=" + b"a" * 32, None),
        (NAMED + b",response=" + b"A" * 32, "Mismatched response"),
        (NAMED + b",qop=auth-int", None),
        (NAMED + b",qop=auth-other", "Mismatched qop"),
        (NAMED + b",charset=UTF-8", None),
        (NAMED + b",charset=utf8", "Mismatched charset"),
        (b'username="dG9rZW4"', "no token identifier in base64"),
        (b'username="dG9rZW5="', "no token identifier in base64"),  # the same bytes, written in another way
        (b'username="dG9r\\ZW4="', None),  # a quoted pair
    ],
)
def test_a_response_is_read_to_its_end_or_refused(response, why):
    assert (refused(response) is None) if why is None else (why in str(refused(response)))


@pytest.mark.parametrize(("length", "is_read"), [(4096, True), (4097, False)])
def test_a_response_has_a_length(length, is_read):
    response = NAMED + b',nonce="' + b"n" * (length - len(NAMED) - 9) + b'"'
    assert len(response) == length
    assert (refused(response) is None) is is_read


def test_what_is_read_is_written_anew_in_javas_order_and_quotes():
    response = b'cipher=rc4, nc=00000001 ,realm="a\\"b\\\\c",other=1,' + NAMED
    read = read_response(response)
    assert (read.identifier_untrusted, read.quality) == (b"token", QualityOfProtection.AUTH)
    assert read.anew == b'username="dG9rZW4=",realm="a\\"b\\\\c",nc=00000001,cipher="rc4"'


CHALLENGE = b'realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess'


@pytest.mark.parametrize(
    ("challenge_told", "is_taken"),
    [
        (CHALLENGE, True),
        (CHALLENGE.replace(b"md5-sess", b"md5"), False),
        (CHALLENGE.replace(b'nonce="n",', b""), False),
        (CHALLENGE.replace(b'"auth"', b'"auth-int,auth-conf"'), False),
        (CHALLENGE.replace(b'qop="auth",', b""), True),
        (CHALLENGE.replace(b'realm="default"', b'realm="first",realm="second"'), True),
        (CHALLENGE + b"," + b" " * (2047 - len(CHALLENGE)), True),
        (CHALLENGE + b"," + b" " * (2048 - len(CHALLENGE)), False),
    ],
)
def test_a_challenge_is_answered_or_refused(challenge_told, is_taken):
    ours = DigestMD5Client(TokenSecret(IDENTIFIER, PASSWORD), "c")
    if is_taken:
        response = ours.step(challenge_told)
        assert directive(response, "realm") == ("first" if b"first" in challenge_told else "default")
        assert directive(response, "nonce") == "n"
    else:
        with pytest.raises(SASLError):
            ours.step(challenge_told)
